//! Answers that did not count at the agent, because its own prompt was answered: replayed.

use crate::{
    daemon::{APPROVER, Daemon},
    process::{run, start},
};
use serde_json::{Value, json};

const HOOK: [&str; 3] = ["hook", "claude-code", "-v"];

fn event(name: &str, command: &str) -> String {
    json!({"session_id": "s1", "cwd": "/home/ana/shop", "hook_event_name": name,
        "permission_mode": "default", "tool_name": "Bash", "tool_input": {"command": command}})
    .to_string()
}

/// The ask of a hook whose prompt is answered like this.
async fn answered(daemon: &Daemon, command: &str, answer: &str) -> String {
    let mut hook = start(daemon, &HOOK).input(&event("PermissionRequest", command)).await;
    let id = hook.waits_for().await;
    assert_eq!(run(daemon, &[answer, &id]).await.code, Some(0));
    assert_eq!(hook.ends().await.code, Some(0));
    id
}

/// Claude Code says that the command ran.
async fn ran(daemon: &Daemon, command: &str) {
    let hook = start(daemon, &HOOK).input(&event("PostToolUse", command)).await;
    assert_eq!(hook.ends().await.short(), (Some(0), ""));
}

/// The end of its card's story, and when it was overtaken.
async fn end(daemon: &Daemon, id: &str) -> (String, Value) {
    let (_, ask) = daemon.get(&format!("/v1/asks/{id}?card=true"), APPROVER).await;
    assert_eq!(ask["state"], "answered", "the answer stays: {ask}");
    let text = ask["card"]["blocks"][0]["text"].as_str().unwrap().to_owned();
    (text, ask["answer"]["overtaken"].clone())
}

#[tokio::test]
async fn a_denied_call_that_ran_says_so_on_its_card_and_in_the_log_once() {
    let daemon = Daemon::start("").await;
    let id = answered(&daemon, "make deploy", "deny").await;
    assert_eq!(end(&daemon, &id).await.1, Value::Null);
    ran(&daemon, "make other").await;
    assert_eq!(end(&daemon, &id).await.1, Value::Null, "another call ran");
    ran(&daemon, "make deploy").await;
    let (card, at) = end(&daemon, &id).await;
    assert!(card.starts_with("denied by "), "{card}");
    assert!(card.ends_with(" · too late, says the agent: it was answered there"), "{card}");
    assert!(at.is_string(), "{at}");
    ran(&daemon, "make deploy").await;
    let log = run(&daemon, &["log", "--json", "--kind", "overtaken"]).await;
    assert_eq!(log.stdout.lines().count(), 1, "{log:?}");
}

#[tokio::test]
async fn an_approved_call_that_ran_was_overtaken_by_nobody() {
    let daemon = Daemon::start("").await;
    let id = answered(&daemon, "make deploy", "approve").await;
    ran(&daemon, "make deploy").await;
    assert_eq!(end(&daemon, &id).await.1, Value::Null);
}

#[tokio::test]
async fn only_whoever_asked_may_say_that_an_answer_came_too_late() {
    let daemon = Daemon::start("").await;
    let added = run(&daemon, &["token", "add", "other", "--json"]).await;
    let token: Value = serde_json::from_str(&added.stdout).unwrap();
    let token = token["token"].as_str().unwrap();
    let id = answered(&daemon, "make deploy", "deny").await;
    let path = format!("/v1/asks/{id}/cancel");
    let body = json!({"reason": "answered_elsewhere"});
    let (status, _) = daemon.post(&path, token, &body).await;
    assert!(status == 403 || status == 404, "{status}");
    assert_eq!(end(&daemon, &id).await.1, Value::Null);
    // Nor does any other reason change an answer.
    let (status, _) = daemon.post(&path, APPROVER, &json!({})).await;
    assert_eq!((status, end(&daemon, &id).await.1), (200, Value::Null));
}
