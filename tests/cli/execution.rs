//! `ask --token`, `verify` and `run`: execution bound to the answer.

use crate::{
    daemon::{AGENT, APPROVER, Daemon, shell},
    process::{Ended, Process, run, start},
};
use serde_json::{Value, json};

const APPROVE: &str = "approve";

/// A token for `make deploy` in the daemon's folder, as a script gets it.
async fn token(daemon: &Daemon) -> (String, String) {
    let mut asking = start(daemon, &["ask", "--token", "--", "make", "deploy"]);
    let id = asking.waits_for().await;
    assert_eq!(daemon.answer(&id, &json!({ "decision": APPROVE })).await.0, 200);
    let ended = asking.ends().await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    (id, ended.stdout.trim().to_owned())
}

async fn verify(daemon: &Daemon, token: &str, more: &[&str]) -> Ended {
    run(daemon, &[&["verify", token], more].concat()).await
}

fn refused(ended: &Ended, wanted: &str) {
    assert_eq!(ended.code, Some(6), "{ended:?}");
    assert!(ended.stderr.contains(wanted), "{wanted}: {ended:?}");
}

#[tokio::test]
async fn a_token_lets_exactly_the_approved_command_run_and_once() {
    let daemon = Daemon::start("").await;
    let (id, token) = token(&daemon).await;
    let words = ["--", "make", "deploy"];
    refused(&verify(&daemon, &token, &["--", "make", "deploy", "now"]).await, "another call");
    let elsewhere = {
        let mut command = daemon.command(&[&["verify", &token], &words[..]].concat());
        command.current_dir("/");
        Process::start(command).ends().await
    };
    refused(&elsewhere, "another folder");
    let mut changed = token.clone();
    let last = changed.pop().unwrap();
    changed.push(if last == '0' { '1' } else { '0' });
    refused(&verify(&daemon, &changed, &words).await, "not signed");
    refused(&verify(&daemon, "cst1.x", &words).await, "not a valid execution token");
    let good = verify(&daemon, &token, &words).await;
    assert_eq!(good.code, Some(0), "{good:?}");
    refused(&verify(&daemon, &token, &words).await, "used before");
    let shown = run(&daemon, &["history", &id]).await;
    assert!(shown.stdout.contains("→ started "), "{shown:?}");
}

#[tokio::test]
async fn a_token_is_checked_offline_with_the_public_key_and_a_folder_of_used_ones() {
    let mut daemon = Daemon::start("").await;
    let (_, token) = token(&daemon).await;
    let key = run(&daemon, &["log", "key"]).await.stdout.trim().to_owned();
    assert!(daemon.stop().await);
    let words = ["--", "make", "deploy"];
    // FAIL-CLOSED: nobody knows whether it was used.
    let nobody = verify(&daemon, &token, &words).await;
    assert_eq!(nobody.code, Some(1), "{nobody:?}");
    let spent = daemon.dir.path().join("spent").display().to_string();
    let offline =
        |key: &str| vec!["--key".to_owned(), key.to_owned(), "--spent".into(), spent.clone()];
    let check = async |key: &str| {
        let offline = offline(key);
        let more: Vec<&str> = offline.iter().map(String::as_str).chain(words).collect();
        verify(&daemon, &token, &more).await
    };
    refused(&check(&"0".repeat(64)).await, "not signed");
    // A folder that is made anew would let a used token run again.
    let missing = check(&key).await;
    assert_eq!(missing.code, Some(1), "{missing:?}");
    assert!(missing.stderr.contains(&format!("mkdir -m 700 {spent}")), "{missing:?}");
    assert!(!daemon.dir.path().join("spent").exists());
    std::fs::create_dir(daemon.dir.path().join("spent")).unwrap();
    let at_once = futures::future::join_all((0..5).map(|_| check(&key))).await;
    let allowed = at_once.iter().filter(|ended| ended.code == Some(0)).count();
    assert_eq!(allowed, 1, "{at_once:?}");
    refused(&check(&key).await, "used before");
}

#[tokio::test]
async fn what_was_taken_back_before_the_start_does_not_start() {
    let daemon = Daemon::start("").await;
    let words = ["--", "make", "deploy"];
    // Everything is paused.
    let (_, held) = token(&daemon).await;
    assert_eq!(run(&daemon, &["pause"]).await.code, Some(0));
    refused(&verify(&daemon, &held, &words).await, "everything is paused");
    assert_eq!(run(&daemon, &["resume"]).await.code, Some(0));
    assert_eq!(verify(&daemon, &held, &words).await.code, Some(0), "it was not used up");
    // The approval is undone.
    let mut asking = start(&daemon, &["ask", "--token", "--", "make", "deploy"]);
    let id = asking.waits_for().await;
    let session = json!({"decision": APPROVE, "scope": "always"});
    assert_eq!(daemon.answer(&id, &session).await.0, 200);
    let undone = asking.ends().await.stdout;
    assert_eq!(run(&daemon, &["undo", &id]).await.code, Some(0));
    refused(&verify(&daemon, undone.trim(), &words).await, "was undone");
    assert_eq!(daemon.get(&format!("/v1/asks/{id}/token"), APPROVER).await.0, 409);
    // The agent's token is revoked.
    let new = json!({"name": "bot"});
    let made = daemon.post("/v1/tokens", APPROVER, &new).await.1["token"].clone();
    let made = made.as_str().unwrap();
    let ask = daemon.post("/v1/calls", made, &shell("make deploy")).await.1["ask"].clone();
    let id = ask.as_str().unwrap();
    assert_eq!(daemon.answer(id, &json!({ "decision": APPROVE })).await.0, 200);
    let bots = daemon.get(&format!("/v1/asks/{id}/token"), made).await.1["token"].clone();
    assert_eq!(run(&daemon, &["token", "revoke", "bot"]).await.code, Some(0));
    let start = json!({ "token": bots });
    let (status, reply) = daemon.post("/v1/executions", AGENT, &start).await;
    let why = "the agent that asked for this may not any more: its token was revoked";
    assert_eq!((status, &reply["error"]), (403, &json!(why)));
}

#[tokio::test]
async fn other_words_are_another_call_however_they_are_joined_and_a_second_daemon_signs_its_own() {
    let daemon = Daemon::start("").await;
    let mut asking = start(&daemon, &["ask", "--token", "--", "make", "a b", "--", "ü"]);
    let id = asking.waits_for().await;
    assert_eq!(daemon.answer(&id, &json!({ "decision": APPROVE })).await.0, 200);
    let token = asking.ends().await.stdout.trim().to_owned();
    let others: [&[&str]; 8] = [
        &["make", "a", "b", "--", "ü"],
        &["make", "a b", "--ü"],
        &["make", "a b", "ü"],
        &["make", "a b", "--", "u\u{308}"],
        &["make", "a b", "--", "ü", ""],
        &["make", "a  b", "--", "ü"],
        &["make", "a\u{a0}b", "--", "ü"],
        &["make a b -- ü"],
    ];
    for other in others {
        refused(&verify(&daemon, &token, &[&["--"], other].concat()).await, "another call");
    }
    let other = Daemon::start("").await;
    let words = ["--", "make", "a b", "--", "ü"];
    let elsewhere = {
        let mut command = other.command(&[&["verify", &token], &words[..]].concat());
        command.current_dir(std::env::current_dir().unwrap());
        Process::start(command).ends().await
    };
    assert_eq!(elsewhere.code, Some(6), "{elsewhere:?}");
    let key = run(&other, &["log", "key"]).await.stdout.trim().to_owned();
    let spent = other.dir.path().join("spent").display().to_string();
    let offline = ["--key", &key, "--spent", &spent];
    refused(&verify(&daemon, &token, &[&offline, &words[..]].concat()).await, "not signed");
    assert_eq!(verify(&daemon, &token, &words).await.code, Some(0));
}

#[tokio::test]
async fn run_reports_when_it_started_and_its_exit_code_to_the_card_and_the_log() {
    let daemon = Daemon::start("").await;
    let mut running = start(&daemon, &["run", "--", "sh", "-c", "env | grep -c APPROVER; exit 7"]);
    let id = running.waits_for().await;
    assert_eq!(daemon.answer(&id, &json!({ "decision": APPROVE })).await.0, 200);
    let ended = running.ends().await;
    assert_eq!(ended.code, Some(7), "{ended:?}");
    let shown = run(&daemon, &["history", &id]).await;
    assert!(shown.stdout.contains("→ started ") && shown.stdout.contains(" → exit 7"), "{shown:?}");
    let log = run(&daemon, &["log", "--json", "--kind", "finished"]).await;
    let event: Value = serde_json::from_str(&log.stdout).unwrap();
    assert_eq!((&event["ask"]["id"], &event["data"]), (&json!(id), &json!({"exit": 7})));
}

#[tokio::test]
async fn nobody_gets_a_token_for_what_was_not_approved_or_is_anothers() {
    let daemon = Daemon::start("").await;
    let open = daemon.ask(&shell("make deploy")).await;
    let of = |id: &str| format!("/v1/asks/{id}/token");
    assert_eq!(daemon.get(&of(&open), AGENT).await.0, 409, "it is open");
    assert_eq!(daemon.answer(&open, &json!({"decision": "deny"})).await.0, 200);
    assert_eq!(daemon.get(&of(&open), AGENT).await.0, 409, "it is denied");
    let (id, token) = token(&daemon).await;
    // It came over the socket; the agents' token on TCP is another handle.
    assert_eq!(daemon.get(&of(&id), AGENT).await.0, 404);
    assert_eq!(daemon.get(&of(&id), APPROVER).await.0, 200);
    // An end without a start is no report.
    let end = json!({"token": token, "exit": 0});
    assert_eq!(daemon.post("/v1/executions", AGENT, &end).await.0, 403);
    let starts = (0..8).map(|_| async {
        daemon.post("/v1/executions", AGENT, &json!({ "token": token })).await.0
    });
    let mut codes = futures::future::join_all(starts).await;
    codes.sort_unstable();
    assert_eq!(codes, [200, 409, 409, 409, 409, 409, 409, 409]);
}

/// Answers the one ask as soon as it is open, within the second in which its caller only submits.
async fn approved_at_once(daemon: &Daemon) -> String {
    let asks = daemon.until("/v1/asks?state=open", |page| page["asks"] != json!([])).await;
    let id = asks["asks"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(daemon.answer(&id, &json!({ "decision": APPROVE })).await.0, 200);
    id
}

#[tokio::test]
async fn an_ask_that_is_answered_in_its_first_second_has_a_token_and_reports_as_any_other() {
    let daemon = Daemon::start("").await;
    let asking = start(&daemon, &["ask", "--token", "--", "make", "deploy"]);
    approved_at_once(&daemon).await;
    let ended = asking.ends().await;
    assert!(ended.stdout.starts_with("cst1"), "{ended:?}");
    let good = verify(&daemon, ended.stdout.trim(), &["--", "make", "deploy"]).await;
    assert_eq!(good.code, Some(0), "{good:?}");
    let mut command = daemon.command(&["run", "--", "touch", "it-ran"]);
    command.current_dir(daemon.dir.path());
    let running = Process::start(command);
    let id = approved_at_once(&daemon).await;
    assert_eq!(running.ends().await.code, Some(0));
    let shown = run(&daemon, &["history", &id]).await;
    assert!(shown.stdout.contains("→ exit 0"), "{shown:?}");
}
