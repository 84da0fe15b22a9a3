//! `countersign watch` on a terminal of its own.

use crate::{
    daemon::{Daemon, shell},
    terminal::Terminal,
};
use serde_json::json;

/// Chooses nothing and scrolls nothing, but is answered by a redraw.
const LOOK: &str = "b";

/// Presses a key until it counts: what has just appeared takes none.
async fn press(watch: &mut Terminal, key: &str, shown: &str) -> String {
    watch.types(key);
    loop {
        let screen = watch.shows("").await;
        if screen.contains(shown) {
            return screen;
        }
        if screen.contains("has just appeared") {
            watch.types(LOOK);
            watch.types(key);
        }
        watch.next().await;
    }
}

#[tokio::test]
async fn what_waits_is_answered_with_one_key_and_the_terminal_is_given_back() {
    let daemon = Daemon::start("").await;
    let mut watch = Terminal::start(&daemon, &["watch"], 120);
    watch.shows("nothing waits").await;
    let id = daemon.ask(&shell("cargo test --workspace\u{1b}[2J")).await;
    let screen = watch.shows("1 request waits").await;
    assert!(screen.contains("cargo test --workspace"), "{screen}");
    assert!(screen.contains("\\u{1b}[2J"), "hidden characters are shown: {screen}");
    press(&mut watch, "a", "nothing waits").await;
    let closed = daemon.closed(&id).await;
    assert_eq!(closed["verdict"], "allow", "{closed}");
    watch.types("q");
    assert_eq!(watch.ends().await, Some(0));
    watch.until("\u{1b}[?1049l").await;
}

#[tokio::test]
async fn a_critical_request_takes_y_and_a_denial_its_reason() {
    let daemon = Daemon::start("").await;
    let critical = daemon.ask(&shell("sudo rm -rf --no-preserve-root /")).await;
    let mut watch = Terminal::start(&daemon, &["watch"], 120);
    watch.shows("CRITICAL").await;
    press(&mut watch, "a", "Press y to approve this critical call once: sudo rm").await;
    press(&mut watch, "n", "Not approved.").await;
    assert_eq!(daemon.read(&critical).await["state"], "open");
    press(&mut watch, "r", "Deny, because:").await;
    watch.types("not on a Friday\r");
    let closed = daemon.closed(&critical).await;
    assert_eq!(closed["verdict"], "deny", "{closed}");
    assert_eq!(closed["answer"]["reason"], "not on a Friday", "{closed}");
    watch.types("\u{3}");
    assert_eq!(watch.ends().await, Some(0));
}

#[tokio::test]
async fn a_question_is_answered_by_its_number_on_a_narrow_terminal() {
    let daemon = Daemon::start("").await;
    let id = daemon
        .ask(&json!({"agent": "tester", "session": "one", "tool": "ask_user", "args": {},
            "questions": [{"question": "Which store?",
                "options": [{"label": "SQLite"}, {"label": "Postgres"}]}]}))
        .await;
    let mut watch = Terminal::start(&daemon, &["watch"], 60);
    watch.shows("Which store?").await;
    press(&mut watch, "2", "nothing waits").await;
    let closed = daemon.closed(&id).await;
    assert_eq!(closed["answer"]["answers"]["Which store?"], "Postgres", "{closed}");
}

#[tokio::test]
async fn a_long_request_is_approved_only_after_its_end_was_in_sight() {
    let daemon = Daemon::start("").await;
    let script = format!("{}rm -rf ~/thesis", "make some\n".repeat(60));
    let id = daemon.ask(&shell(&script)).await;
    let mut watch = Terminal::start(&daemon, &["watch"], 80);
    watch.shows(" more below (space)").await;
    press(&mut watch, "a", "Read to the end first").await;
    assert_eq!(daemon.read(&id).await["state"], "open");
    while watch.shows("").await.contains(" more below (space)") {
        watch.types(" ");
        watch.next().await;
    }
    press(&mut watch, "a", "nothing waits").await;
    assert_eq!(daemon.closed(&id).await["verdict"], "allow");
}

#[tokio::test]
async fn a_daemon_that_goes_away_is_said_and_comes_back_by_itself() {
    let mut daemon = Daemon::start("").await;
    let mut watch = Terminal::start(&daemon, &["watch"], 120);
    watch.shows("nothing waits").await;
    daemon.kill().await;
    watch.shows("not connected").await;
    daemon.run().await;
    daemon.ask(&shell("cargo build")).await;
    watch.shows("1 request waits").await;
}

#[tokio::test]
async fn without_a_terminal_it_says_what_to_use_instead() {
    let daemon = Daemon::start("").await;
    let output = daemon.command(&["watch"]).output().await.unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("watch needs a terminal"), "{said}");
}
