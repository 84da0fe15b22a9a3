//! Cells of the table in docs/connect.md, tried on the real agents as in `agents_real`.

use crate::{
    agents_real::{ALL, Real, Run, asked},
    daemon::{Daemon, LONG},
    process::run,
};
use serde_json::{Value, json};
use std::{fs, path::PathBuf, time::Duration};
use tokio::time::{sleep, timeout};

fn made(started: &Run) -> PathBuf {
    started.work.join("made-by-agent.txt")
}

#[tokio::test]
async fn always_at_a_real_agent_is_a_rule_here_that_answers_its_next_run() {
    for agent in ALL {
        let daemon = Daemon::start("").await;
        let Some(mut first) = agent.start(&daemon).await else { continue };
        let id = asked(&daemon, agent).await;
        assert_eq!(run(&daemon, &["approve", &id, "--scope", "always"]).await.code, Some(0));
        first.model.is_told().await;
        fs::remove_file(made(&first)).unwrap();
        drop(first);
        let mut again = agent.start(&daemon).await.unwrap();
        again.model.is_told().await;
        assert!(made(&again).exists(), "{}", agent.name());
        assert_eq!(daemon.open().await, Vec::<Value>::new(), "{}", agent.name());
    }
}

#[tokio::test]
async fn without_a_daemon_or_an_answer_a_real_agent_runs_nothing_by_itself() {
    for (agent, is_away) in ALL.into_iter().flat_map(|agent| [(agent, true), (agent, false)]) {
        let mut daemon = Daemon::start("[policy]\ntimeout = \"5s\"\n").await;
        if is_away {
            assert!(daemon.stop().await);
        }
        let Some(mut started) = agent.start(&daemon).await else { continue };
        if !is_away {
            let id = asked(&daemon, agent).await;
            daemon.ask_reaches(&id, "expired").await;
        }
        match agent {
            // Its dialog waits.
            Real::Opencode => {
                let dialog = started.opencode_pending(&daemon, |open| open != &json!([])).await;
                assert_eq!(dialog[0]["permission"], "bash", "{dialog}");
            }
            // Its turn ends, and its model is told nothing.
            Real::Cline => started.ends().await,
            // Nobody sees its prompt.
            Real::Copilot => {
                let told = started.model.is_told().await;
                assert!(told.contains("denied"), "{told}");
            }
            Real::Gemini | Real::Qwen | Real::Pi | Real::OhMyPi => {
                let told = started.model.is_told().await;
                assert!(told.contains("so it is blocked: "), "{}: {told}", agent.name());
            }
        }
        assert!(!made(&started).exists(), "{}, away: {is_away}", agent.name());
    }
}

#[tokio::test]
async fn a_denial_that_stops_ends_the_turn_of_a_real_agent_or_only_denies() {
    for agent in ALL {
        let daemon = Daemon::start("").await;
        let Some(mut started) = agent.start(&daemon).await else { continue };
        let id = asked(&daemon, agent).await;
        let denied = run(&daemon, &["deny", &id, "--stop", "--reason", "no files"]).await;
        assert_eq!(denied.code, Some(0), "{denied:?}");
        match agent {
            Real::Opencode => {
                started.opencode_pending(&daemon, |open| open == &json!([])).await;
                started.opencode_is_idle(&daemon).await;
                assert_eq!(started.model.told(), None);
            }
            Real::Copilot | Real::Cline => {
                started.ends().await;
                assert_eq!(started.model.told(), None, "{}", agent.name());
            }
            Real::Gemini | Real::Qwen | Real::Pi | Real::OhMyPi => {
                let told = started.model.is_told().await;
                assert!(told.contains("no files"), "{}: {told}", agent.name());
            }
        }
        assert!(!made(&started).exists(), "{}", agent.name());
    }
}

#[tokio::test]
async fn a_question_of_a_real_opencode_is_answered_by_a_person() {
    let daemon = Daemon::start("").await;
    let options = json!([{"label": "SQLite", "description": "One file"},
        {"label": "Postgres", "description": "A server"}]);
    let question = json!({"question": "Which database?", "header": "Database",
        "options": options});
    let call = ("question", json!({"questions": [question]}));
    let Some(mut started) = Real::Opencode.calling(&daemon, call).await else { return };
    let page = daemon.until("/v1/asks?state=open", |page| page["asks"] != json!([])).await;
    let id = page["asks"][0]["id"].as_str().unwrap();
    assert_eq!(run(&daemon, &["answer", id, "Postgres"]).await.code, Some(0));
    let told = started.model.is_told().await;
    assert!(told.contains("Postgres"), "{told}");
}

#[tokio::test]
async fn a_question_of_a_real_cline_stays_with_its_terminal() {
    let daemon = Daemon::start("").await;
    let call =
        ("ask_question", json!({"question": "Which database?", "options": ["SQLite", "Postgres"]}));
    let Some(mut started) = Real::Cline.calling(&daemon, call).await else { return };
    started.model.is_told().await;
    let (_, asks) = daemon.get("/v1/asks", crate::daemon::APPROVER).await;
    assert_eq!(asks["asks"], json!([]), "nobody here is asked");
}

#[tokio::test]
async fn a_question_of_a_real_agent_stays_in_its_terminal() {
    let options = json!([{"label": "SQLite", "description": "One file"},
        {"label": "Postgres", "description": "A server"}]);
    let question = json!({"question": "Which database?", "header": "Database", "type": "choice",
        "id": "db", "options": options});
    for (agent, tool, input) in [
        (
            Real::Copilot,
            "ask_user",
            json!({"message": "Which database?", "requestedSchema": {"type": "object",
                "required": ["db"], "properties": {
                    "db": {"type": "string", "enum": ["SQLite", "Postgres"]}}}}),
        ),
        (Real::Gemini, "ask_user", json!({"questions": [question.clone()]})),
        (Real::Qwen, "ask_user_question", json!({"questions": [question.clone()]})),
        (
            Real::Cline,
            "ask_question",
            json!({"question": "Which database?", "options": ["SQLite", "Postgres"]}),
        ),
    ] {
        let daemon = Daemon::start("").await;
        let Some((mut model, _work, mut terminal)) =
            agent.in_terminal(&daemon, (tool, input)).await
        else {
            continue;
        };
        terminal.shows("Postgres").await;
        terminal.types("\r");
        let told = model.is_told().await;
        assert!(told.contains("SQLite"), "{}: {told}", agent.name());
        let (_, asks) = daemon.get("/v1/asks", crate::daemon::APPROVER).await;
        assert_eq!(asks["asks"], json!([]), "{}: nobody here is asked", agent.name());
    }
}

#[tokio::test]
async fn a_terminal_of_a_real_agent_waits_without_a_prompt_of_its_own() {
    for (agent, shows) in [
        (Real::Copilot, "Working"),
        (Real::Gemini, "made-by-agent.txt"),
        (Real::Pi, "made-by-agent.txt"),
        // An advertisement may cover the call.
        (Real::Cline, "do it"),
    ] {
        let daemon = Daemon::start("").await;
        let Some((mut model, work, mut terminal)) = agent.in_terminal(&daemon, agent.call()).await
        else {
            continue;
        };
        terminal.shows(shows).await;
        let id = asked(&daemon, agent).await;
        let screen = terminal.shows(shows).await;
        assert!(!screen.contains("(y/n)") && !screen.contains("Allow"), "{screen}");
        assert!(!work.join("made-by-agent.txt").exists(), "{}", agent.name());
        assert_eq!(run(&daemon, &["approve", &id]).await.code, Some(0));
        model.is_told().await;
        assert!(work.join("made-by-agent.txt").exists(), "{}", agent.name());
    }
}

#[tokio::test]
async fn row_17_a_call_that_nobody_answers_for_as_long_as_a_real_cline_waits_does_not_run() {
    let daemon = Daemon::start("").await;
    let Some(mut started) = Real::Cline.start(&daemon).await else { return };
    let id = asked(&daemon, Real::Cline).await;
    // It waits for 120 s and runs the call then; people have five minutes by the policy.
    let ended = timeout(Duration::from_secs(200), started.child.wait()).await;
    assert!(ended.is_ok(), "its turn goes on");
    assert_eq!(daemon.read(&id).await["state"], "expired");
    assert!(!made(&started).exists());
}

#[tokio::test]
async fn row_18_a_call_whose_hook_is_killed_does_not_run_at_a_real_gemini() {
    let daemon = Daemon::start("").await;
    let Some(mut started) = Real::Gemini.start(&daemon).await else { return };
    asked(&daemon, Real::Gemini).await;
    kill_hook(&daemon, "hook gemini");
    let told = started.model.is_told().await;
    assert!(told.contains("so it is blocked"), "{told}");
    assert!(!made(&started).exists());
}

/// Kills the hook of this daemon with these words.
pub fn kill_hook(daemon: &Daemon, hook: &str) {
    kill(hook_of(daemon, hook));
}

/// Kills the process that started that hook: its agent, however many launchers stand before it.
pub fn kill_agent(daemon: &Daemon, hook: &str) {
    let status = fs::read_to_string(format!("/proc/{}/status", hook_of(daemon, hook))).unwrap();
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap();
    kill(parent.trim().parse().unwrap());
}

fn hook_of(daemon: &Daemon, hook: &str) -> u32 {
    let config = daemon.config().display().to_string();
    let is_it = |words: &str| words.contains(hook) && words.contains(&config);
    // A shell that starts it has the same words, and a lower id.
    processes(is_it).into_iter().max().expect("it has no hook")
}

fn kill(process: u32) {
    let kill = std::process::Command::new("kill").args(["-KILL", &process.to_string()]).status();
    assert!(kill.unwrap().success());
}

/// The ids of the processes with such words.
fn processes(wanted: impl Fn(&str) -> bool) -> Vec<u32> {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let ids = all.filter_map(|process| {
        let words = fs::read(process.path().join("cmdline")).ok()?;
        let words = String::from_utf8_lossy(&words).replace('\0', " ");
        wanted(&words).then(|| process.file_name().to_str()?.parse().ok())?
    });
    ids.collect()
}

/// The server that Cline leaves running; it ends with the test.
struct ClineServer(u32);

impl ClineServer {
    fn find(folder: &str) -> Self {
        let is_it = |words: &str| words.contains("--cline-hub-daemon") && words.contains(folder);
        Self(processes(is_it).pop().expect("Cline has no server"))
    }
}

impl Drop for ClineServer {
    fn drop(&mut self) {
        let _ = std::process::Command::new("kill").arg(self.0.to_string()).status();
    }
}

#[tokio::test]
async fn a_turn_that_the_server_of_a_real_cline_runs_keeps_its_card_without_its_terminal() {
    let daemon = Daemon::start("").await;
    // The first run starts the server; the second gives its turn to it.
    let Some(mut first) = Real::Cline.serving(&daemon).await else { return };
    let id = asked(&daemon, Real::Cline).await;
    let _server = ClineServer::find(first.work.to_str().unwrap());
    assert_eq!(run(&daemon, &["approve", &id]).await.code, Some(0));
    first.model.is_told().await;
    first.ends().await;
    fs::remove_file(made(&first)).unwrap();
    let mut second = Real::Cline.serving(&daemon).await.unwrap();
    let id = asked(&daemon, Real::Cline).await;
    second.kill().await;
    // Longer than the hook takes to see that its agent is gone.
    sleep(Duration::from_secs(5)).await;
    assert_eq!(daemon.read(&id).await["state"], "open", "the card stays");
    assert_eq!(run(&daemon, &["deny", &id]).await.code, Some(0));
    assert!(!made(&second).exists());
}

impl Run {
    /// Waits for its end.
    async fn ends(&mut self) {
        timeout(LONG * 2, self.child.wait()).await.expect("it goes on").unwrap();
    }

    async fn kill(&mut self) {
        self.child.kill().await.unwrap();
    }

    /// What opencode's own dialogs ask, once it is as wanted.
    async fn opencode_pending(&self, daemon: &Daemon, wanted: impl Fn(&Value) -> bool) -> Value {
        self.opencode(daemon, "permission", wanted).await
    }

    /// Waits until no session of opencode works.
    async fn opencode_is_idle(&self, daemon: &Daemon) {
        self.opencode(daemon, "session/status", |busy| busy == &json!({})).await;
    }

    async fn opencode(
        &self,
        daemon: &Daemon,
        path: &str,
        wanted: impl Fn(&Value) -> bool,
    ) -> Value {
        let url = format!("{}/{path}", self.url.as_deref().unwrap());
        let reading = async {
            loop {
                let read: Value = daemon.http.get(&url).send().await.unwrap().json().await.unwrap();
                if wanted(&read) {
                    return read;
                }
                sleep(Duration::from_millis(100)).await;
            }
        };
        timeout(LONG * 6, reading).await.unwrap_or_else(|_| panic!("{path} stays as it is"))
    }
}
