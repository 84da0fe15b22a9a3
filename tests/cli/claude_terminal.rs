//! The real Claude Code in a terminal: its dialog and our card, in every order of answers. Set
//! `COUNTERSIGN_TEST_CLAUDE` to its binary.

use crate::{
    claude_real::{AUTO_MODEL, MANUAL_MODEL, bash, connect, out_of_reach},
    daemon::{APPROVER, Daemon, LONG},
    model::Model,
    process::run,
    terminal::Terminal,
};
use serde_json::{Value, json};
use std::{fs, path::PathBuf, time::Duration};
use tokio::process::Command;

/// The line of its dialog.
pub const DIALOG: &str = "Do you want to proceed?";

const IN_AUTO_MODE: [&str; 4] = ["--model", AUTO_MODEL, "--permission-mode", "auto"];

/// Claude Code with its dialog on the screen, and the ask beside it.
pub struct Claude {
    pub terminal: Terminal,
    model: Model,
    work: PathBuf,
    pub ask: String,
}

impl Claude {
    /// Starts it on one prompt; `None`, and a word about it, where it is not here.
    async fn asking(daemon: &Daemon) -> Option<Self> {
        let mut claude = Self::calling(daemon, "Bash", bash(), DIALOG).await?;
        claude.is_asked(daemon).await;
        Some(claude)
    }

    /// The same for this call, until this is on the screen.
    async fn calling(
        daemon: &Daemon,
        tool: &'static str,
        input: Value,
        dialog: &str,
    ) -> Option<Self> {
        let model = Model::calling(tool, input).await;
        let mut claude = Self::in_manual_mode(daemon, model).await?;
        claude.terminal.shows(dialog).await;
        Some(claude)
    }

    pub async fn in_manual_mode(daemon: &Daemon, model: Model) -> Option<Self> {
        Self::start(daemon, model, &["--model", MANUAL_MODEL], &[], false).await
    }

    /// Starts it in auto mode, connected with these options.
    pub async fn in_auto_mode(daemon: &Daemon, model: Model, connect: &[&str]) -> Option<Self> {
        Self::start(daemon, model, &IN_AUTO_MODE, connect, false).await
    }

    /// The same, where a flag of its vendor has the classifier judge what a hook allows.
    pub async fn under_flag(daemon: &Daemon, model: Model, connect: &[&str]) -> Option<Self> {
        Self::start(daemon, model, &IN_AUTO_MODE, connect, true).await
    }

    /// Starts it on one prompt, past its first questions.
    async fn start(
        daemon: &Daemon,
        model: Model,
        options: &[&str],
        connecting: &[&str],
        flag: bool,
    ) -> Option<Self> {
        let Some(program) = std::env::var_os("COUNTERSIGN_TEST_CLAUDE") else {
            eprintln!("SKIPPED: set COUNTERSIGN_TEST_CLAUDE to the binary of Claude Code");
            return None;
        };
        let home = daemon.dir.path();
        connect(daemon, connecting).await;
        let work = home.join("work");
        fs::create_dir_all(&work).unwrap();
        let _ = fs::remove_file(work.join("made-by-agent.txt"));
        // Past its first-start questions, such as the theme.
        let trusted =
            json!({"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true});
        let known = json!({"hasCompletedOnboarding": true, "theme": "dark",
            "customApiKeyResponses": {"approved": ["sk-ant-none"], "rejected": []},
            "projects": {work.to_str().unwrap(): trusted},
            "cachedFeatureFlags": {"tengu_virtual_knuth": flag}});
        fs::write(home.join(".claude.json"), known.to_string()).unwrap();
        let mut claude = Command::new(program);
        claude
            .args(options)
            .arg("do it")
            .current_dir(&work)
            .env_clear()
            .env("IS_SANDBOX", "1")
            .env("TERM", "xterm-256color")
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", home)
            .env("ANTHROPIC_BASE_URL", &model.url)
            .env("ANTHROPIC_API_KEY", "sk-ant-none")
            .env("DISABLE_AUTOUPDATER", "1")
            .kill_on_drop(true);
        if flag {
            out_of_reach(&mut claude);
        } else {
            claude
                .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
                .env("DISABLE_TELEMETRY", "1");
        }
        let mut terminal = Terminal::of(claude, 120);
        terminal.patience = LONG * 6;
        Some(Self { terminal, model, work, ask: String::new() })
    }

    /// Waits for the ask that its call became.
    pub async fn is_asked(&mut self, daemon: &Daemon) {
        let asks = daemon.until("/v1/asks?state=open", |page| page["asks"] != json!([])).await;
        self.ask = asks["asks"][0]["id"].as_str().unwrap().to_owned();
    }

    pub fn ran(&self) -> bool {
        self.work.join("made-by-agent.txt").exists()
    }

    /// The end of the card's story.
    async fn card(&self, daemon: &Daemon) -> String {
        let path = format!("/v1/asks/{}?card=true", self.ask);
        let (_, ask) = daemon.get(&path, APPROVER).await;
        ask["card"]["blocks"][0]["text"].as_str().unwrap_or_default().to_owned()
    }
}

#[tokio::test]
async fn a_person_answers_first_and_the_dialog_of_a_real_claude_closes() {
    let daemon = Daemon::start("").await;
    for (answer, ran, words) in [("approve", true, "Allowed by"), ("deny", false, "Denied by")] {
        let Some(mut claude) = Claude::asking(&daemon).await else { return };
        run(&daemon, &[answer, &claude.ask]).await;
        claude.terminal.shows("All done.").await;
        let screen = claude.terminal.shows(words).await;
        assert!(!screen.contains(DIALOG), "{screen}");
        assert_eq!(claude.ran(), ran, "{answer}");
        // The terminal is too late.
        claude.terminal.types("\r");
        let ask = daemon.read(&claude.ask).await;
        assert_eq!(ask["answer"]["overtaken"], Value::Null, "{ask}");
    }
}

#[tokio::test]
async fn a_question_of_a_real_claude_is_answered_by_a_person_and_its_dialog_closes() {
    let daemon = Daemon::start("").await;
    let options = json!([{"label": "SQLite", "description": "One file"},
        {"label": "Postgres", "description": "A server"}]);
    let question = json!({"question": "Which database?", "header": "Database",
        "multiSelect": false, "options": options});
    let input = json!({"questions": [question]});
    let calling = Claude::calling(&daemon, "AskUserQuestion", input, "Which database?");
    let Some(mut claude) = calling.await else { return };
    claude.is_asked(&daemon).await;
    let answered = run(&daemon, &["answer", &claude.ask, "Postgres"]).await;
    assert_eq!(answered.code, Some(0), "{answered:?}");
    claude.terminal.shows("All done.").await;
    let told = claude.model.results();
    assert!(json!(told).to_string().contains("Postgres"), "{told:?}");
}

#[tokio::test]
async fn without_a_daemon_or_an_answer_the_dialog_of_a_real_claude_decides() {
    for is_away in [true, false] {
        let mut daemon = Daemon::start("[policy]\ntimeout = \"2s\"\n").await;
        if is_away {
            assert!(daemon.stop().await);
        }
        let calling = Claude::calling(&daemon, "Bash", bash(), DIALOG);
        let Some(mut claude) = calling.await else { return };
        if !is_away {
            daemon.until("/v1/asks?state=expired", |page| page["asks"] != json!([])).await;
        }
        claude.terminal.types("\r");
        claude.terminal.shows("All done.").await;
        assert!(claude.ran(), "away: {is_away}");
    }
}

#[tokio::test]
async fn the_dialog_of_a_real_claude_is_answered_first_and_the_card_closes_and_says_so() {
    let daemon = Daemon::start("").await;
    // Return approves, Escape denies.
    for (key, ran) in [("\r", true), ("\u{1b}", false)] {
        let Some(mut claude) = Claude::asking(&daemon).await else { return };
        claude.terminal.types(key);
        let closed = daemon.ask_reaches(&claude.ask, "cancelled").await;
        assert_eq!(closed["reason"], "cancelled: it was answered elsewhere");
        assert!(claude.card(&daemon).await.ends_with(": it was answered elsewhere"));
        let (_, late) = daemon.answer(&claude.ask, &json!({"decision": "deny"})).await;
        assert_eq!(late["applied"], false, "{late}");
        assert_eq!(claude.ran(), ran, "{key:?}");
    }
}

#[tokio::test]
async fn of_a_denial_and_a_key_at_once_one_counts_at_a_real_claude_and_the_card_says_which() {
    let daemon = Daemon::start("").await;
    let mut outcomes = Vec::new();
    for round in 0..10 {
        let Some(mut claude) = Claude::asking(&daemon).await else { return };
        // From the key 60 ms before the answer to 30 ms after it.
        let key = Duration::from_millis(round * 10);
        let deny = json!({"decision": "deny"});
        let press = async {
            tokio::time::sleep(Duration::from_millis(60)).await;
            daemon.answer(&claude.ask, &deny).await
        };
        let terminal = &mut claude.terminal;
        let ((_, pressed), ()) = tokio::join!(press, async {
            tokio::time::sleep(key).await;
            terminal.types("\r");
        });
        claude.terminal.shows("All done.").await;
        let path = format!("/v1/asks/{}", claude.ask);
        let ran = claude.ran();
        // What a hook reports comes a moment after the call has run.
        let ask = daemon
            .until(&path, |ask| {
                let denied = ask["state"] == "answered" && ask["answer"]["overtaken"].is_null();
                denied != ran
            })
            .await;
        let card = claude.card(&daemon).await;
        assert_eq!(pressed["applied"] == true, ask["state"] == "answered", "{ask}");
        match (ran, pressed["applied"] == true) {
            (true, true) => assert!(card.ends_with("says the agent: it was answered there")),
            (true, false) => assert!(card.ends_with(": it was answered elsewhere"), "{card}"),
            (false, _) => assert!(card.starts_with("denied by "), "{card}"),
        }
        outcomes.push((ran, pressed["applied"] == true));
    }
    eprintln!("ran, and the denial was applied: {outcomes:?}");
}
