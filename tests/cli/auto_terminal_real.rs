//! Auto mode of the real Claude Code at a terminal: which yes counts under a flag of its vendor, the
//! gate of dialogs, and background subagents. In every row what ran is compared with the history. Set
//! `COUNTERSIGN_TEST_CLAUDE` to its binary, 2.1.330 or newer.

use crate::{
    appeal_real::{BLOCKED, asked, flagged, not_flagged},
    claude_real::bash,
    claude_terminal::{Claude, DIALOG},
    daemon::{Daemon, LONG},
    model::Model,
    process::run,
};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::{sleep, timeout};

async fn judged(verdict: Value) -> Model {
    Model::judged("Bash", bash(), verdict, 1).await
}

async fn of_subagent(verdict: Value) -> Model {
    Model::judged_subagent("Bash", bash(), verdict).await
}

/// Waits until the call has run.
async fn runs(claude: &mut Claude) {
    while !claude.ran() {
        claude.terminal.next().await;
    }
}

/// Checks that the history says of the call's ask what became of it: approved and run, or approved
/// and overruled. Nobody was asked twice.
async fn history_says(daemon: &Daemon, claude: &Claude, ran: bool, asks: usize) {
    let path = format!("/v1/asks/{}", claude.ask);
    let ask = daemon.until(&path, |ask| ask["answer"]["overruled"].is_null() == ran).await;
    assert_eq!((&ask["verdict"], claude.ran()), (&json!("allow"), ran), "{ask}");
    assert_eq!(asked(daemon).await.len(), asks, "{ask}");
}

#[tokio::test]
async fn claude_under_the_vendors_flag_at_a_terminal_overrules_a_gate_and_neither_a_dialog_nor_an_appeal()
 {
    for (verdict, connect, ran) in [
        (flagged(), &["--gate"][..], false),
        (not_flagged(), &["--gate"], true),
        (flagged(), &["--gate=dialog"], true),
        (flagged(), &["--gate=ask"], true),
        (flagged(), &["--appeals"], true),
        (flagged(), &[], true),
    ] {
        let daemon = Daemon::start("").await;
        let calling = Claude::under_flag(&daemon, judged(verdict).await, connect);
        let Some(mut claude) = calling.await else { return };
        claude.is_asked(&daemon).await;
        run(&daemon, &["approve", "--yes", &claude.ask]).await;
        if ran {
            runs(&mut claude).await;
        } else {
            claude.terminal.shows("All done.").await;
        }
        history_says(&daemon, &claude, ran, 1).await;
    }
}

#[tokio::test]
async fn claude_gate_of_dialogs_is_answered_here_or_at_the_terminal() {
    for (answer, verdict) in [("approve", "allow"), ("deny", "deny"), ("\r", "deny")] {
        let daemon = Daemon::start("").await;
        let calling = Claude::in_auto_mode(&daemon, judged(flagged()).await, &["--gate=dialog"]);
        let Some(mut claude) = calling.await else { return };
        claude.is_asked(&daemon).await;
        claude.terminal.shows(DIALOG).await;
        match answer {
            "\r" => claude.terminal.types(answer),
            _ => _ = run(&daemon, &[answer, &claude.ask]).await,
        }
        claude.terminal.shows("All done.").await;
        let ask = daemon.closed(&claude.ask).await;
        assert_eq!((claude.ran(), &ask["verdict"]), (answer != "deny", &json!(verdict)), "{ask}");
        let elsewhere = ask["reason"] == "cancelled: it was answered elsewhere";
        assert_eq!(elsewhere, answer == "\r", "{ask}");
    }
}

#[tokio::test]
async fn claude_gate_of_rules_leaves_the_rest_to_the_classifier_at_a_terminal() {
    let daemon = Daemon::start("").await;
    let calling = Claude::in_auto_mode(&daemon, judged(not_flagged()).await, &["--gate=ask"]);
    let Some(mut claude) = calling.await else { return };
    claude.terminal.shows("All done.").await;
    assert!(claude.ran());
    assert_eq!(asked(&daemon).await, Vec::<Value>::new());
}

/// What a background subagent makes at a terminal, until it has run: all that is asked is approved.
#[tokio::test]
async fn claude_subagents_calls_run_with_a_yes_at_a_terminal_whichever_way_they_come() {
    for (connect, verdict, asks) in [
        (&["--gate"][..], flagged(), 2),
        (&["--gate=dialog"], flagged(), 2),
        (&["--gate=ask"], flagged(), 1),
        (&["--appeals"], flagged(), 1),
        (&[], flagged(), 1),
        (&[], json!({"type": "unavailable", "reason": "error"}), 1),
    ] {
        let daemon = Daemon::start("").await;
        let calling = Claude::in_auto_mode(&daemon, of_subagent(verdict).await, connect);
        let Some(mut claude) = calling.await else { return };
        for left in (0..asks).rev() {
            claude.is_asked(&daemon).await;
            let ask = daemon.read(&claude.ask).await;
            let of_subagent = ask["call"]["meta"]["agent_id"].is_string();
            assert_eq!(of_subagent, left == 0, "{connect:?}: {ask}");
            run(&daemon, &["approve", "--yes", &claude.ask]).await;
            daemon.closed(&claude.ask).await;
        }
        runs(&mut claude).await;
        history_says(&daemon, &claude, true, asks).await;
    }
}

#[tokio::test]
async fn claude_terminal_stays_usable_while_a_subagents_blocked_call_waits_and_a_no_leaves_it_blocked()
 {
    let daemon = Daemon::start("").await;
    let calling = Claude::in_auto_mode(&daemon, of_subagent(flagged()).await, &[]);
    let Some(mut claude) = calling.await else { return };
    claude.is_asked(&daemon).await;
    assert_eq!(daemon.read(&claude.ask).await["why"], BLOCKED);
    claude.terminal.shows("All done.").await;
    claude.terminal.types("still here");
    let screen = claude.terminal.shows("still here").await;
    assert!(!screen.contains(DIALOG), "{screen}");
    run(&daemon, &["deny", &claude.ask]).await;
    claude.terminal.shows("finished").await;
    assert!(!claude.ran());
    assert_eq!(asked(&daemon).await.len(), 1);
}

#[tokio::test]
async fn claude_subagents_dialog_comes_when_its_card_is_over_and_decides() {
    let daemon = Daemon::start("").await;
    let model = of_subagent(not_flagged()).await;
    let Some(mut claude) = Claude::in_manual_mode(&daemon, model).await else { return };
    claude.is_asked(&daemon).await;
    let screen = claude.terminal.shows("background agent").await;
    assert!(!screen.contains(DIALOG), "{screen}");
    claude.terminal.patience = LONG * 10;
    claude.terminal.shows(DIALOG).await;
    assert_eq!(daemon.closed(&claude.ask).await["state"], "expired");
    // A key that comes while the dialog is drawn is lost.
    let answered = async {
        while !claude.ran() {
            claude.terminal.types("\r");
            sleep(Duration::from_millis(200)).await;
        }
    };
    timeout(LONG, answered).await.unwrap();
}
