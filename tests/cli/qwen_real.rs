//! The real Qwen Code in a terminal, where it asks, and its auto mode. Set `COUNTERSIGN_TEST_QWEN` to
//! its script for node.

use crate::{
    agents_real::{Real, asked},
    agents_table::{kill_agent, kill_hook},
    chat_model::ChatModel,
    daemon::{APPROVER, Daemon, LONG},
    process::run,
    terminal::Terminal,
};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Qwen in this mode with a model that makes its call so many times, and the classifier's verdict.
async fn started(
    daemon: &Daemon,
    mode: &str,
    tries: usize,
    verdict: Option<Value>,
) -> Option<(ChatModel, PathBuf, Terminal)> {
    let (tool, input) = Real::Qwen.call();
    let model = ChatModel::judged(tool, input, tries, verdict).await;
    let (model, work, terminal) =
        Real::Qwen.in_terminal_with(daemon, model, &["--approval-mode", mode]).await?;
    Some((model, work.join("made-by-agent.txt"), terminal))
}

fn blocks() -> Option<Value> {
    Some(json!({"shouldBlock": true, "thinking": "scripted", "reason": "sends data out"}))
}

async fn no_asks(daemon: &Daemon) {
    let (_, asks) = daemon.get("/v1/asks", APPROVER).await;
    assert_eq!(asks["asks"], json!([]));
}

#[tokio::test]
async fn a_prompt_of_qwen_is_answered_here() {
    for (answer, runs) in [
        (vec!["approve"], true),
        (vec!["deny", "--reason", "make no files"], false),
        (vec!["deny", "--stop", "--reason", "make no files"], false),
    ] {
        let daemon = Daemon::start("").await;
        let Some((mut model, made, _terminal)) = started(&daemon, "default", 1, None).await else {
            return;
        };
        let id = asked(&daemon, Real::Qwen).await;
        let words: Vec<&str> = [&answer[..1], &[id.as_str()], &answer[1..]].concat();
        assert_eq!(run(&daemon, &words).await.code, Some(0));
        let told = model.is_told().await;
        assert_eq!((made.exists(), told.contains("make no files")), (runs, !runs), "{told}");
    }
}

#[tokio::test]
async fn without_a_daemon_or_an_answer_qwens_own_dialog_comes() {
    for is_away in [true, false] {
        let mut daemon = Daemon::start("[policy]\ntimeout = \"5s\"\n").await;
        if is_away {
            assert!(daemon.stop().await);
        }
        let Some((model, made, mut terminal)) = started(&daemon, "default", 1, None).await else {
            return;
        };
        terminal.until("Yes, allow once").await;
        assert_eq!((made.exists(), model.told()), (false, None));
    }
}

#[tokio::test]
async fn a_card_of_qwen_ends_before_qwen_stops_waiting_and_its_dialog_decides() {
    let daemon = Daemon::start("").await;
    let Some((mut model, made, mut terminal)) = started(&daemon, "default", 1, None).await else {
        return;
    };
    let id = asked(&daemon, Real::Qwen).await;
    terminal.patience = LONG * 10;
    terminal.until("Yes, allow once").await;
    assert_eq!(daemon.closed(&id).await["state"], "expired");
    terminal.types("\r");
    model.is_told().await;
    assert!(made.exists());
}

#[tokio::test]
async fn what_qwens_classifier_blocks_is_a_card_once_it_is_tried_again() {
    for (answer, runs) in [("approve", true), ("deny", false)] {
        let daemon = Daemon::start("").await;
        let Some((mut model, made, _terminal)) = started(&daemon, "auto", 2, blocks()).await else {
            return;
        };
        let blocked = model.is_told().await;
        assert!(blocked.contains("retry the same tool call"), "{blocked}");
        assert!(!made.exists());
        let id = asked(&daemon, Real::Qwen).await;
        assert_eq!(run(&daemon, &[answer, &id]).await.code, Some(0));
        model.is_told_next().await;
        assert_eq!(made.exists(), runs, "{answer}");
    }
}

#[tokio::test]
async fn what_qwens_classifier_lets_pass_does_not_come_here_and_what_it_cannot_check_does() {
    let daemon = Daemon::start("").await;
    let passes = Some(json!({"shouldBlock": false}));
    let Some((mut model, made, terminal)) = started(&daemon, "auto", 1, passes).await else {
        return;
    };
    model.is_told().await;
    assert!(made.exists());
    no_asks(&daemon).await;
    drop(terminal);
    let daemon = Daemon::start("").await;
    let (mut model, made, _terminal) = started(&daemon, "auto", 1, None).await.unwrap();
    let id = asked(&daemon, Real::Qwen).await;
    assert!(!made.exists());
    assert_eq!(run(&daemon, &["approve", &id]).await.code, Some(0));
    model.is_told().await;
    assert!(made.exists());
}

#[tokio::test]
async fn escape_at_qwens_terminal_takes_its_card_back() {
    let daemon = Daemon::start("").await;
    let Some((_model, made, mut terminal)) = started(&daemon, "default", 1, None).await else {
        return;
    };
    let id = asked(&daemon, Real::Qwen).await;
    terminal.types("\u{1b}");
    let closed = daemon.closed(&id).await;
    assert_eq!(closed["reason"], "cancelled: it was answered elsewhere");
    assert!(!made.exists());
}

#[tokio::test]
async fn a_prompt_of_qwen_outlives_a_killed_daemon_and_qwens_death_closes_its_card() {
    let mut daemon = Daemon::start("").await;
    let Some((mut model, made, terminal)) = started(&daemon, "default", 1, None).await else {
        return;
    };
    let id = asked(&daemon, Real::Qwen).await;
    daemon.kill().await;
    daemon.run().await;
    assert_eq!(run(&daemon, &["approve", &id]).await.code, Some(0));
    model.is_told().await;
    assert!(made.exists());
    drop(terminal);
    let daemon = Daemon::start("").await;
    let (_model, made, _terminal) = started(&daemon, "default", 1, None).await.unwrap();
    let id = asked(&daemon, Real::Qwen).await;
    kill_agent(&daemon, "hook qwen");
    daemon.ask_reaches(&id, "cancelled").await;
    assert!(!made.exists());
}

#[tokio::test]
async fn row_18_a_call_whose_gate_is_killed_does_not_run_at_a_real_qwen() {
    let daemon = Daemon::start("").await;
    let Some(mut started) = Real::Qwen.start(&daemon).await else { return };
    asked(&daemon, Real::Qwen).await;
    kill_hook(&daemon, "hook qwen");
    let told = started.model.is_told().await;
    assert!(told.contains("so it is blocked"), "{told}");
    assert!(!started.work.join("made-by-agent.txt").exists());
}
