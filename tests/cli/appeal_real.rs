//! The appeal with the real Claude Code in auto mode: its classifier blocks, a person is asked, and
//! exactly the retry runs. The classifier's verdicts are scripted. Set `COUNTERSIGN_TEST_CLAUDE` to
//! its binary, 2.1.283 or newer.

use crate::{
    claude_real::{Claude, Route, bash},
    claude_terminal::Claude as Terminal,
    daemon::{APPROVER, Daemon},
    model::Model,
    process::run,
};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

fn flagged() -> Value {
    json!({"type": "evaluated", "outcome": "flagged", "explanation": "[Data Exfiltration] scripted"})
}

/// A model whose call its classifier blocks so many times by itself.
async fn blocked(tries: usize) -> Model {
    Model::judged("Bash", bash(), flagged(), tries).await
}

async fn card(daemon: &Daemon, id: &str) -> Value {
    daemon.get(&format!("/v1/asks/{id}?card=true"), APPROVER).await.1["card"].clone()
}

/// How often something was asked, in whatever state it is now.
async fn asked(daemon: &Daemon) -> usize {
    let mut asked = 0;
    for state in ["open", "answered", "expired", "cancelled"] {
        asked += daemon.all_in(state).await.len();
    }
    asked
}

#[tokio::test]
async fn claude_appeal_a_yes_lets_the_retry_run_and_a_no_leaves_it_blocked() {
    for (answer, runs) in [("approve", true), ("deny", false)] {
        let daemon = Daemon::start("").await;
        let Some(claude) = Claude::run(&daemon, blocked(1).await, &Route::Auto(&[])).await else {
            return;
        };
        let began = Instant::now();
        let id = claude.asks(&daemon).await;
        let to_card = began.elapsed();
        let why = "Claude Code's auto mode blocked this: [Data Exfiltration] scripted.";
        assert_eq!(daemon.read(&id).await["why"], why);
        let answered = Instant::now();
        run(&daemon, &[answer, &id]).await;
        let (ran, told) = claude.ends().await;
        assert_eq!(ran, runs, "{told}");
        assert_eq!(asked(&daemon).await, 1, "one card");
        eprintln!("{answer}: start to card {to_card:?}, answer to end {:?}", answered.elapsed());
        let _ = card(&daemon, &id).await;
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
    for (answer, runs) in [("approve", true), ("deny", false)] {
        let daemon = Daemon::start("").await;
        let calling = Terminal::in_auto_mode(&daemon, blocked(1).await, &[]);
        let Some(mut claude) = calling.await else { return };
        claude.is_asked(&daemon).await;
        claude.terminal.shows("All done.").await;
        let answered = Instant::now();
        run(&daemon, &[answer, &claude.ask]).await;
        if runs {
            while !claude.ran() {
                claude.terminal.next().await;
            }
            eprintln!("yes to run, in a terminal: {:?}", answered.elapsed());
            daemon.until("/v1/asks", |page| page["asks"] == json!([])).await;
        } else {
            tokio::time::sleep(Duration::from_secs(3)).await;
            assert!(!claude.ran());
        }
        assert_eq!(asked(&daemon).await, 1, "one card");
    }
}

#[tokio::test]
async fn claude_appeal_of_three_blocks_in_a_row_the_third_is_one_card_that_lets_it_run() {
    let daemon = Daemon::start("[policy]\ntimeout = \"3s\"").await;
    let Some(claude) = Claude::run(&daemon, blocked(3).await, &Route::Auto(&[])).await else {
        return;
    };
    let (ran, told) = claude.ends().await;
    assert!(!ran, "{told}");
    let all = daemon.all_in("expired").await;
    let whys: Vec<&Value> = all.iter().map(|ask| &ask["why"]).collect();
    eprintln!("{whys:#?} {told}");
    assert_eq!(asked(&daemon).await, 3, "a card for each");
}
