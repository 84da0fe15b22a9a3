//! `history`, `log` and `status`: what is kept, and how the daemon is.

use crate::{
    daemon::{APPROVER, Daemon, shell},
    process::{Ended, run, start},
};
use serde_json::{Value, json};

/// Asks and answers; the ask's id.
async fn closed(daemon: &Daemon, command: &str, answer: Value) -> String {
    let id = daemon.ask(&shell(command)).await;
    assert_eq!(daemon.answer(&id, &answer).await.0, 200);
    id
}

/// The columns of each line, without the time, which is of this moment.
fn columns(ended: &Ended) -> Vec<Vec<&str>> {
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let columns = |line: &'_ str| -> Vec<&str> {
        let start = ended.stdout.find(line).unwrap();
        let line = &ended.stdout[start..start + line.len()];
        line.split("  ").enumerate().filter(|(at, _)| *at != 1).map(|(_, text)| text).collect()
    };
    ended.stdout.lines().map(columns).collect()
}

#[tokio::test]
async fn history_lists_what_was_decided_and_every_filter_narrows_it() {
    let daemon = Daemon::start("").await;
    let no = json!({"decision": "deny", "reason": "Not on a Friday"});
    let denied = closed(&daemon, "git push origin main", no).await;
    let always = json!({"decision": "approve", "scope": "always"});
    let allowed = closed(&daemon, "cargo test", always).await;
    let by = "the approver's token";
    let one = [&*allowed, "always", by, "tester · shop", "cargo test"];
    let two = [&*denied, "deny", by, "tester · shop", "git push origin main"];
    let all = run(&daemon, &["history"]).await;
    assert_eq!(columns(&all), [one, two]);
    let time = all.stdout.lines().next().unwrap().split("  ").nth(1).unwrap();
    assert_eq!(time.len(), "2026-11-22 18:00:00".len(), "{time}");
    assert!(!all.stdout.contains(['\t', '\u{1b}']), "{all:?}");
    for (args, wanted) in [
        (["--verdict", "deny"], vec![two]),
        (["--agent", "tester"], vec![one, two]),
        (["--session", "one"], vec![one, two]),
        (["--folder", "/home/ana"], vec![one, two]),
        (["--folder", "shop"], vec![one, two]),
        (["--tool", "SHELL_EXEC"], vec![one, two]),
        (["--person", "approver"], vec![one, two]),
        (["--rule", "cargo"], vec![one]),
        (["--text", "friday"], vec![two]),
        (["--since", "2h"], vec![one, two]),
        (["--limit", "1"], vec![one]),
    ] {
        let found = run(&daemon, &[&["history"], &args[..]].concat()).await;
        assert_eq!(columns(&found), wanted, "{args:?}");
    }
    for args in [["--until", "2h"], ["--agent", "nobody"], ["--since", "2100-01-01"]] {
        let none = run(&daemon, &[&["history"], &args[..]].concat()).await;
        assert_eq!(none.short(), (Some(0), "Nothing was found.\n"), "{args:?}");
    }
    let json = run(&daemon, &["history", "--json", "--verdict", "allow"]).await;
    let told: Value = serde_json::from_str(&json.stdout).unwrap();
    let (_, page) = daemon.get("/v1/history?verdict=allow", APPROVER).await;
    assert_eq!(told, json!({ "asks": page["asks"] }));
    for args in [["--verdict", "maybe"], ["--since", "yesterday"], ["--limit", "0"]] {
        assert_eq!(run(&daemon, &[&["history"], &args[..]].concat()).await.code, Some(2));
    }
}

#[tokio::test]
async fn history_pages_on_until_it_has_as_many_as_it_shows() {
    let daemon = Daemon::start("").await;
    for n in 0..205 {
        closed(&daemon, &format!("git push origin {n}"), json!({"decision": "approve"})).await;
    }
    let shown = run(&daemon, &["history", "--limit", "203"]).await;
    let last = shown.stdout.lines().last().unwrap();
    assert_eq!(shown.stdout.lines().count(), 203);
    assert!(last.ends_with("git push origin 2"), "{last}");
}

#[tokio::test]
async fn history_of_one_ask_shows_its_card_who_answered_and_where_it_was_shown() {
    let daemon = Daemon::start("").await;
    let id = daemon.ask(&shell("cargo test")).await;
    let path = format!("/v1/history/{id}");
    let shown = |record: &Value| record["deliveries"][0]["shown"] == true;
    daemon.until(&path, shown).await;
    daemon.answer(&id, &json!({"decision": "approve", "scope": "always"})).await;
    // Its card is due again with the answer.
    daemon.until(&path, shown).await;
    let shown = run(&daemon, &["history", &id[..3]]).await;
    assert_eq!(shown.code, Some(0), "{shown:?}");
    for part in [
        &format!("{id}  ✅ cargo test\n"),
        "session    one of tester\n",
        " (just now) by the approver's token\n",
        "through    api\n",
        "result     approved by the approver's token\n",
        "stored     shell: cargo test\n",
        "shown      inbox\n",
    ] {
        assert!(shown.stdout.contains(part), "{part}: {}", shown.stdout);
    }
    let json = run(&daemon, &["history", &id, "--json"]).await;
    let told: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(told, daemon.get(&format!("/v1/history/{id}"), APPROVER).await.1);
    let none = run(&daemon, &["history", "zzzz"]).await;
    assert_eq!((none.code, none.stderr.contains("there is no ask")), (Some(1), true), "{none:?}");
}

#[tokio::test]
async fn log_shows_the_latest_events_and_only_those_that_are_looked_for() {
    let daemon = Daemon::start("").await;
    let id = closed(&daemon, "git push", json!({"decision": "deny"})).await;
    let all = run(&daemon, &["log"]).await;
    let lines: Vec<&str> = all.stdout.lines().collect();
    assert_eq!((all.code, lines.len()), (Some(0), 2), "{all:?}");
    assert!(lines[0].ends_with(&format!("  asked      {id}  tester  git push")), "{all:?}");
    let answered = format!("  answered   {id}  tester  denied by the approver's token: git push");
    assert!(lines[1].ends_with(&answered), "{all:?}");
    for (args, count) in [
        (vec!["--limit", "1"], 1),
        (vec!["--kind", "asked"], 1),
        (vec!["--kind", "asked", "--kind", "answered"], 2),
        (vec!["--agent", "tester"], 2),
        (vec!["--session", "two"], 0),
        (vec!["--ask", &id[..3]], 2),
    ] {
        let shown = run(&daemon, &[&["log"], &args[..]].concat()).await;
        assert_eq!((shown.code, shown.stdout.lines().count()), (Some(0), count), "{args:?}");
    }
    let json = run(&daemon, &["log", "--json", "--kind", "answered"]).await;
    let event: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!((&event["kind"], &event["ask"]["id"]), (&json!("answered"), &json!(id)));
    assert!(event["at"].as_str().unwrap().ends_with('Z'), "{event}");
}

#[tokio::test]
async fn log_follows_what_happens_also_over_a_restart_and_shows_nothing_twice() {
    let mut daemon = Daemon::start("").await;
    let first = daemon.ask(&shell("git push")).await;
    let mut log = start(&daemon, &["log", "--follow", "--json"]);
    let seen = |line: String| -> Value { serde_json::from_str(&line).unwrap() };
    let event = seen(log.line().await);
    assert_eq!((&event["kind"], &event["ask"]["id"]), (&json!("asked"), &json!(first)));
    daemon.answer(&first, &json!({"decision": "deny"})).await;
    assert_eq!(seen(log.line().await)["kind"], "answered");
    daemon.stop().await;
    daemon.run().await;
    let second = daemon.ask(&shell("git pull --rebase origin main")).await;
    let event = seen(log.line().await);
    assert_eq!((&event["kind"], &event["ask"]["id"]), (&json!("asked"), &json!(second)));
    log.signal("INT");
}

#[tokio::test]
async fn status_is_six_lines_where_all_is_well_and_fails_where_something_is_not() {
    let mut daemon = Daemon::start("").await;
    daemon.until("/readyz", |ready| ready["adapters"]["inbox"]["state"] == "up").await;
    let good = run(&daemon, &["status"]).await;
    let lines: Vec<&str> = good.stdout.lines().collect();
    assert_eq!((good.code, lines.len()), (Some(0), 6), "{good:?}");
    assert!(lines[0].ends_with(&format!(", version {}", env!("CARGO_PKG_VERSION"))), "{good:?}");
    let rest = [
        "waiting   nothing",
        "agents    none connected",
        "chats     inbox up",
        "store     SQLite, up",
        "problems  none",
    ];
    assert_eq!(lines[1..], rest);
    let ask = daemon.ask(&shell("git push")).await;
    let waits = run(&daemon, &["status"]).await;
    assert!(waits.stdout.contains("waiting   1 ask, the oldest from "), "{waits:?}");
    daemon.answer(&ask, &json!({"decision": "deny"})).await;
    let json = run(&daemon, &["status", "--json"]).await;
    let told: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!((&told["ok"], &told["waiting"]["asks"]), (&json!(true), &json!(0)));

    // A rules file that is broken after the start leaves the last good one in force.
    let rules = daemon.config().with_file_name("permissions.jsonc");
    std::fs::write(rules, "{ this is no rule").unwrap();
    daemon.call(&shell("git push")).await;
    let bad = run(&daemon, &["status"]).await;
    assert!(bad.code == Some(1) && bad.stdout.contains("\nproblem   rules: "), "{bad:?}");
    daemon.stop().await;
    let none = run(&daemon, &["status"]).await;
    assert!(none.code == Some(1) && none.stderr.contains("no countersign daemon at"), "{none:?}");
}

fn question() -> Value {
    json!({"agent": "tester", "session": "one", "tool": "ask_user", "description": "Which store?",
        "options": [{"label": "SQLite"}, {"label": "PostgreSQL"}]})
}

#[tokio::test]
async fn a_mode_that_asks_nobody_and_a_rule_that_is_void_are_told_in_status_doctor_and_on_cards() {
    let rules = r#"{"*": "ask", "shel_exec": {"git push *": "deny"}}"#;
    let config = "[policy]\nmode = \"yolo\"\nrules = \"mine.jsonc\"\n";
    let daemon = Daemon::start_with(config, &[("mine.jsonc", rules)]).await;
    let status = run(&daemon, &["status"]).await;
    let doctor = run(&daemon, &["doctor"]).await;
    // A question asks in every mode.
    let ask = daemon.ask(&question()).await;
    let card = run(&daemon, &["pending", "--full"]).await;
    for shown in [&status.stdout, &doctor.stdout, &card.stdout] {
        for words in
            ["mode = \"yolo\" is in force", "no tool is called \"shel_exec\"; did you mean"]
        {
            assert!(shown.contains(words), "{words}: {shown}");
        }
    }
    assert!(card.stdout.contains(&ask), "{card:?}");
}

#[tokio::test]
async fn doctor_says_what_keeps_the_daemon_from_starting() {
    for (config, rules, says) in [
        (
            "[policy]\nmode = \"yol\"\n",
            "{}",
            "[policy] `mode`: there is no mode \"yol\"; the modes are default and yolo (profile standard)",
        ),
        ("[policy]\nrules = \"none.jsonc\"\n", "{}", "none.jsonc, which does not exist"),
        ("", "{ \"*\": \"alow\" }", "\"alow\" is not a valid action"),
    ] {
        let daemon = Daemon::prepared("work", config, &[("permissions.jsonc", rules)]);
        let doctor = run(&daemon, &["doctor"]).await;
        let line = doctor.stdout.lines().find(|line| line.starts_with("fail rules"));
        assert!(line.is_some_and(|line| line.contains(says)), "{says}: {doctor:?}");
    }
}
