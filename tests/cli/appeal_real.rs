//! Auto mode with the real Claude Code: its classifier blocks, a person is asked, and exactly the
//! retry runs; and what of the other calls comes here. The classifier's verdicts are scripted. Set
//! `COUNTERSIGN_TEST_CLAUDE` to its binary, 2.1.283 or newer.

use crate::{
    claude_real::{Claude, Route, bash},
    claude_terminal::Claude as Terminal,
    daemon::{APPROVER, Daemon},
    model::Model,
    process::{Process, run},
};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio::time::sleep;

pub const BLOCKED: &str = "Claude Code's auto mode blocked this: [Data Exfiltration] scripted.";

pub fn flagged() -> Value {
    json!({"type": "evaluated", "outcome": "flagged", "explanation": "[Data Exfiltration] scripted"})
}

pub fn not_flagged() -> Value {
    json!({"type": "evaluated", "outcome": "not_flagged"})
}

/// A model whose call its classifier blocks so many times by itself.
async fn blocked(tries: usize) -> Model {
    Model::judged("Bash", bash(), flagged(), tries).await
}

/// Every ask, in whatever state it is now.
pub async fn asked(daemon: &Daemon) -> Vec<Value> {
    let mut asked = Vec::new();
    for state in ["open", "answered", "expired", "cancelled"] {
        asked.extend(daemon.all_in(state).await);
    }
    asked
}

#[tokio::test]
async fn claude_appeal_a_yes_lets_the_retry_run_and_a_no_leaves_it_blocked() {
    for (answer, runs) in [("approve", true), ("deny", false)] {
        let daemon = Daemon::start("").await;
        let route = Route::Auto(&[]);
        let Some(claude) = Claude::run(&daemon, blocked(1).await, &route).await else { return };
        let id = claude.asks(&daemon).await;
        assert_eq!(daemon.read(&id).await["why"], BLOCKED);
        let answered = Instant::now();
        run(&daemon, &[answer, &id]).await;
        let (ran, told) = claude.ends().await;
        assert_eq!(ran, runs, "{told}");
        eprintln!("{answer}: {:?} from the answer to the end", answered.elapsed());
        assert_eq!(asked(&daemon).await.len(), 1, "one card");
    }
}

#[tokio::test]
async fn claude_appeal_of_a_background_subagent_is_a_card_and_only_a_yes_runs_it() {
    for (answer, runs) in [("approve", true), ("deny", false)] {
        let daemon = Daemon::start("").await;
        let model = Model::judged_subagent("Bash", bash(), flagged()).await;
        let Some(claude) = Claude::run(&daemon, model, &Route::Auto(&[])).await else { return };
        let id = claude.asks(&daemon).await;
        let ask = daemon.read(&id).await;
        assert_eq!(
            (&ask["why"], ask["call"]["meta"]["agent_id"].is_string()),
            (&json!(BLOCKED), true)
        );
        run(&daemon, &[answer, &id]).await;
        let (ran, told) = claude.ends().await;
        assert_eq!(ran, runs, "{told}");
        assert_eq!(asked(&daemon).await.len(), 1, "one card");
    }
}

#[tokio::test]
async fn claude_appeal_nobody_there_leaves_it_blocked() {
    let mut daemon = Daemon::start("[policy]\ntimeout = \"3s\"").await;
    let route = Route::Auto(&[]);
    let Some(claude) = Claude::run(&daemon, blocked(1).await, &route).await else { return };
    let id = claude.asks(&daemon).await;
    let (ran, told) = claude.ends().await;
    assert!(!ran && told.contains("auto mode classifier"), "{told}");
    assert_eq!(daemon.read(&id).await["state"], "expired");
    assert!(daemon.stop().await);
    let claude = Claude::run(&daemon, blocked(1).await, &route).await.unwrap();
    let (ran, told) = claude.ends().await;
    assert!(!ran && told.contains("auto mode classifier"), "{told}");
}

#[tokio::test]
async fn claude_appeal_in_a_terminal_the_turn_goes_on_and_a_yes_wakes_it() {
    let daemon = Daemon::start("").await;
    let calling = Terminal::in_auto_mode(&daemon, blocked(1).await, &[]);
    let Some(mut claude) = calling.await else { return };
    claude.is_asked(&daemon).await;
    claude.terminal.shows("All done.").await;
    let answered = Instant::now();
    run(&daemon, &["approve", &claude.ask]).await;
    while !claude.ran() {
        claude.terminal.next().await;
    }
    eprintln!("{:?} from the yes to the run", answered.elapsed());
    assert_eq!(asked(&daemon).await.len(), 1, "one card");
}

#[tokio::test]
async fn claude_appeal_of_three_blocks_in_a_row_each_has_one_card() {
    let daemon = Daemon::start("[policy]\ntimeout = \"3s\"").await;
    let route = Route::Auto(&[]);
    let Some(claude) = Claude::run(&daemon, blocked(3).await, &route).await else { return };
    let (ran, told) = claude.ends().await;
    assert!(!ran, "{told}");
    let asked = asked(&daemon).await;
    let appeals = asked.iter().filter(|ask| ask["why"] == BLOCKED).count();
    // The third comes as a prompt, and not again when nobody has answered that.
    assert_eq!((appeals, asked.len()), (2, 3), "{asked:#?}");
}

#[tokio::test]
async fn claude_appeal_of_a_call_without_a_verdict_says_so_and_its_yes_runs_it() {
    let daemon = Daemon::start("").await;
    let none = json!({"type": "unavailable", "reason": "error"});
    let model = Model::judged("Bash", bash(), none, 1).await;
    let Some(claude) = Claude::run(&daemon, model, &Route::Auto(&[])).await else { return };
    let id = claude.asks(&daemon).await;
    let why = "Claude Code's auto mode could not check this, so it is blocked.";
    assert_eq!(daemon.read(&id).await["why"], why);
    run(&daemon, &["approve", &id]).await;
    let (ran, told) = claude.ends().await;
    assert!(ran, "{told}");
}

#[tokio::test]
async fn claude_gate_in_auto_mode_decides_all_or_what_rules_ask_or_leaves_all_but_blocks() {
    let rules = r#"{"*": "ask", "shell_exec": {"git push *": "ask"}}"#;
    let asks: &[(&[&str], [bool; 2])] = &[
        (&["--gate"], [true, true]),
        (&["--gate=ask"], [false, true]),
        (&["--appeals"], [false; 2]),
    ];
    let config = "[policy]\nrules = \"permissions.jsonc\"\n";
    for (options, wanted) in asks {
        for (command, asks) in ["touch made-by-agent.txt", "touch made-by-agent.txt; git push x y"]
            .into_iter()
            .zip(wanted)
        {
            let daemon = Daemon::start_with(config, &[("permissions.jsonc", rules)]).await;
            let input = json!({"command": command, "description": "Make a file"});
            let model = Model::judged("Bash", input, not_flagged(), 1).await;
            let Some(claude) = Claude::run(&daemon, model, &Route::Auto(options)).await else {
                return;
            };
            if *asks {
                let id = claude.asks(&daemon).await;
                run(&daemon, &["approve", "--yes", &id]).await;
            }
            let (ran, told) = claude.ends().await;
            assert!(ran, "{options:?} {command}: {told}");
            let asked = asked(&daemon).await.len();
            assert_eq!(asked, usize::from(*asks), "{options:?} {command}");
        }
    }
}

#[tokio::test]
async fn claude_gate_an_approval_that_auto_mode_overrules_says_that_it_did_not_run() {
    let daemon = Daemon::start("").await;
    let hook = daemon.dir.path().join("work/.git/hooks/pre-commit");
    let input = json!({"file_path": hook, "content": "true"});
    let model = Model::judged("Write", input, flagged(), 1).await;
    let Some(claude) = Claude::run(&daemon, model, &Route::Auto(&["--gate"])).await else { return };
    let id = claude.asks(&daemon).await;
    run(&daemon, &["approve", "--yes", &id]).await;
    claude.ends().await;
    assert!(!hook.exists(), "a protected path stays blocked");
    let (_, ask) = daemon.get(&format!("/v1/asks/{id}?card=true"), APPROVER).await;
    let overruled = &ask["answer"]["overruled"];
    assert_eq!(ask["verdict"], "allow", "the approval stays");
    assert_eq!(overruled["by"], "Claude Code's auto mode", "{ask}");
    assert_eq!(overruled["reason"], "[Data Exfiltration] scripted");
    let end = ask["card"]["blocks"][0]["text"].as_str().unwrap();
    let said = "but Claude Code's auto mode blocked it: [Data Exfiltration] scripted";
    assert!(end.starts_with("approved by ") && end.ends_with(said), "{end}");
    assert_eq!(asked(&daemon).await.len(), 1, "nobody is asked again");
}

#[tokio::test]
async fn claude_gate_under_the_vendors_flag_tells_approved_from_ran() {
    for (verdict, option, runs) in [
        (flagged(), &["--gate"], false),
        (not_flagged(), &["--gate"], true),
        (flagged(), &["--gate=dialog"], true),
    ] {
        let daemon = Daemon::start("").await;
        let model = Model::judged("Bash", bash(), verdict, 1).await;
        let Some(claude) = Claude::run(&daemon, model, &Route::Flag(option)).await else { return };
        let id = claude.asks(&daemon).await;
        run(&daemon, &["approve", "--yes", &id]).await;
        let (ran, told) = claude.ends().await;
        assert_eq!(ran, runs, "{option:?}: {told}");
        let (_, ask) = daemon.get(&format!("/v1/asks/{id}"), APPROVER).await;
        assert_eq!(ask["verdict"], "allow", "{option:?}");
        assert_eq!(ask["answer"]["overruled"].is_null(), runs, "{option:?}: {ask}");
        assert_eq!(asked(&daemon).await.len(), 1, "{option:?}: nobody is asked again");
    }
}

#[tokio::test]
async fn claude_gate_of_dialogs_lets_a_yes_count_on_a_protected_path_and_a_no_hold() {
    for (answer, runs) in [("approve", true), ("deny", false)] {
        let daemon = Daemon::start("").await;
        let hook = daemon.dir.path().join("work/.git/hooks/pre-commit");
        let input = json!({"file_path": hook, "content": "true"});
        let model = Model::judged("Write", input, flagged(), 1).await;
        let route = Route::Auto(&["--gate=dialog"]);
        let Some(claude) = Claude::run(&daemon, model, &route).await else { return };
        let id = claude.asks(&daemon).await;
        let words: &[&str] = if runs { &[answer, "--yes", &id] } else { &[answer, &id] };
        run(&daemon, words).await;
        claude.ends().await;
        assert_eq!(hook.exists(), runs, "{answer}");
        assert_eq!(asked(&daemon).await.len(), 1, "{answer}: one card");
    }
}

/// What our hook says before exactly this call, which Claude made already.
async fn before(daemon: &Daemon, ask: &Value) -> String {
    let call = &ask["call"];
    let event = json!({"session_id": call["session"], "cwd": call["cwd"],
        "permission_mode": call["agent_mode"], "hook_event_name": "PreToolUse",
        "tool_name": call["tool"], "tool_input": call["args"], "tool_use_id": "toolu_9"});
    let mut hook = daemon.command(&["hook", "claude-code", "--ahead"]);
    hook.env("CLAUDE_CODE_SESSION_ATTENDED", "0");
    Process::start(hook).input(&event.to_string()).await.ends().await.stdout
}

/// The steps of an appeal at whose end the daemon is killed.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Step {
    Asked,
    Granted,
    Ran,
}

#[tokio::test]
async fn claude_appeal_runs_at_most_once_whenever_the_daemon_is_killed() {
    for step in [Step::Asked, Step::Granted, Step::Ran] {
        let mut daemon = Daemon::start("").await;
        let route = Route::Auto(&[]);
        let Some(claude) = Claude::run(&daemon, blocked(1).await, &route).await else { return };
        let id = claude.asks(&daemon).await;
        if step == Step::Asked {
            daemon.kill().await;
            daemon.run().await;
        }
        run(&daemon, &["approve", &id]).await;
        if step == Step::Granted {
            daemon.kill().await;
            daemon.run().await;
        }
        let (ran, told) = claude.ends().await;
        if step == Step::Ran {
            daemon.kill().await;
            daemon.run().await;
        }
        assert!(ran, "{step:?}: {told}");
        let ask = daemon.read(&id).await;
        assert_eq!(before(&daemon, &ask).await, "", "{step:?}: it is spent");
        assert_eq!(asked(&daemon).await.len(), 1, "{step:?}: one card");
    }
}

/// The daemon is away for as long as the retry may take: what a person released runs then, or
/// waits for the next try.
#[tokio::test]
async fn claude_appeal_whose_daemon_is_away_when_the_retry_comes_runs_at_most_once() {
    let mut daemon = Daemon::start("").await;
    let route = Route::Auto(&[]);
    let Some(claude) = Claude::run(&daemon, blocked(1).await, &route).await else { return };
    let id = claude.asks(&daemon).await;
    run(&daemon, &["approve", &id]).await;
    daemon.kill().await;
    let ((ran, told), ()) = tokio::join!(claude.ends(), async {
        sleep(Duration::from_secs(3)).await;
        daemon.run().await;
    });
    let ask = daemon.read(&id).await;
    let released = before(&daemon, &ask).await;
    // Neither where the yes was spent and its reply was lost with the daemon.
    assert!(!(ran && released.contains("allow")), "{told} {released}");
    assert_eq!(before(&daemon, &ask).await, "", "once");
}
