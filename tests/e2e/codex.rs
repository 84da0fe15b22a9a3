//! Codex: the daemon as one more client of the app-server that its terminals share.

use crate::{
    codex_server::{FakeCodex, THREAD, exchange},
    daemon::Daemon,
};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

const CONFIG: &str = "[agents]\ncodex = \"codex\"\n";

/// A daemon that watches, and the app-server that it found.
async fn connected() -> (Daemon, FakeCodex) {
    let daemon = Daemon::start(CONFIG).await;
    let mut codex = FakeCodex::listen(&daemon.dir.path().join("codex"));
    codex.greet(&[]).await;
    (daemon, codex)
}

/// The one open ask, once it is there.
async fn the_ask(daemon: &Daemon) -> Value {
    let one = |page: &Value| page["asks"].as_array().is_some_and(|asks| asks.len() == 1);
    daemon.until("/v1/asks?state=open", one).await["asks"][0].clone()
}

async fn answer(daemon: &Daemon, answer: &Value) -> Value {
    let ask = the_ask(daemon).await;
    let (status, body) = daemon.answer(ask["id"].as_str().unwrap(), answer).await;
    assert_eq!(status, 200, "{body}");
    ask
}

#[tokio::test]
async fn a_command_of_the_transcripts_is_answered_in_every_way_that_codex_takes() {
    let (daemon, mut codex) = connected().await;
    for (name, said) in [
        ("01_command_accept", json!({"decision": "approve"})),
        ("03_command_decline", json!({"decision": "deny"})),
        ("04_command_cancel", json!({"decision": "deny", "stop": true})),
    ] {
        let (mut request, reply) = exchange(name);
        // What was denied once is denied again in the same session.
        let command = format!("git push origin {name}");
        request["params"]["command"] = json!(format!("/bin/bash -lc '{command}'"));
        codex.ask(&request).await;
        let ask = answer(&daemon, &said).await;
        assert_eq!(ask["call"]["args"], json!({"command": command}), "{name}");
        assert_eq!(ask["call"]["reason"], "Push the release branch?");
        assert_eq!(ask["call"]["session"], THREAD);
        assert_eq!(codex.receive().await, reply, "{name}");
        codex.resolve(&request["id"]).await;
    }
}

#[tokio::test]
async fn codex_stores_nothing_of_an_always_so_a_grant_that_is_revoked_is_gone() {
    let (daemon, mut codex) = connected().await;
    let (mut request, _) = exchange("02_command_accept_always");
    let accept = json!({"id": 7, "result": {"decision": "accept"}});
    request["params"]["command"] = json!("/bin/bash -lc 'cargo build --release'");
    request["params"]["proposedExecpolicyAmendment"] = json!(["cargo", "build"]);
    codex.ask(&request).await;
    let ask = answer(&daemon, &json!({"decision": "approve", "scope": "always"})).await;
    assert_eq!(ask["always"], json!(["shell: cargo build *"]));
    assert_eq!(codex.receive().await, accept, "Codex would store the same words");
    codex.resolve(&json!(7)).await;
    // The rule of ours answers the next one at once.
    let mut again = |id: &str| {
        request["params"]["itemId"] = json!(id);
        request["params"]["command"] = json!("/bin/bash -lc 'cargo build --tests'");
        request.clone()
    };
    codex.ask(&again("call_2")).await;
    assert_eq!(codex.receive().await, accept);
    codex.resolve(&json!(7)).await;
    let mut undo = daemon.command(&["undo", ask["id"].as_str().unwrap()]);
    assert!(undo.output().await.unwrap().status.success());
    codex.ask(&again("call_3")).await;
    assert_eq!(the_ask(&daemon).await["state"], "open");
}

#[tokio::test]
async fn the_words_of_a_denial_reach_the_model() {
    let (daemon, mut codex) = connected().await;
    let (request, reply) = exchange("03_command_decline");
    codex.ask(&request).await;
    answer(&daemon, &json!({"decision": "deny", "reason": "Open a pull request."})).await;
    assert_eq!(codex.receive().await, reply);
    let told = codex.expect("turn/steer").await;
    assert_eq!(told["params"]["expectedTurnId"], request["params"]["turnId"]);
    let words = told["params"]["input"][0]["text"].as_str().unwrap();
    assert!(words.contains("Open a pull request."), "{words}");
}

#[tokio::test]
async fn a_change_of_files_is_asked_with_its_diff() {
    let (daemon, mut codex) = connected().await;
    let (request, reply) = exchange("06_file_change");
    codex.ask(&request).await;
    // The request does not say what would change: the thread does.
    let asked = codex.expect("thread/resume").await;
    assert_eq!(asked["params"].get("excludeTurns"), None);
    let item = crate::codex_server::golden("06_file_change")[0].1["params"]["item"].clone();
    codex.resumed(&asked, std::slice::from_ref(&item)).await;
    codex.send(&request).await;
    let ask = answer(&daemon, &json!({"decision": "approve"})).await;
    assert_eq!(ask["call"]["args"], json!({"changes": item["changes"]}));
    assert_eq!(ask["effects"], json!(["writes /home/ana/shop/hello.txt"]));
    let id = ask["id"].as_str().unwrap();
    let card = daemon.get(&format!("/v1/asks/{id}?card=true"), crate::daemon::APPROVER).await.1;
    assert_eq!(card["card"]["title"], "✏️ hello.txt +1 −0");
    assert_eq!(codex.receive().await, reply);
}

#[tokio::test]
async fn questions_are_answered_by_their_ids() {
    let (daemon, mut codex) = connected().await;
    let (request, reply) = exchange("07_request_user_input");
    codex.ask(&request).await;
    let question = "Which database should the demo use?";
    let said = json!({"decision": "approve", "answers": {question: "Postgres"}});
    let ask = answer(&daemon, &said).await;
    assert_eq!(ask["call"]["questions"][0]["question"], question);
    assert_eq!(codex.receive().await, reply);
}

#[tokio::test]
async fn what_the_terminal_answers_first_is_closed_here_and_takes_no_press() {
    let (daemon, mut codex) = connected().await;
    let (request, _) = exchange("09_daemon_second_client_terminal_wins");
    codex.ask(&request).await;
    let ask = the_ask(&daemon).await;
    let id = ask["id"].as_str().unwrap();
    codex.resolve(&request["id"]).await;
    let closed = daemon.ask_reaches(id, "cancelled").await;
    let why = closed["reason"].as_str().unwrap();
    assert!(why.contains("elsewhere") || why.contains("terminal"), "{why}");
    let (_, late) = daemon.answer(id, &json!({"decision": "approve"})).await;
    assert_eq!(late["applied"], false, "{late}");
    // Nothing of it is sent: the next frame is about the next request.
    codex.status(&["waitingOnApproval"]).await;
    codex.expect("thread/resume").await;
}

#[tokio::test]
async fn an_ask_survives_the_death_of_the_daemon_and_of_the_connection() {
    let (mut daemon, mut codex) = connected().await;
    let (request, reply) = exchange("01_command_accept");
    codex.ask(&request).await;
    let id = the_ask(&daemon).await["id"].clone();
    daemon.kill().await;
    daemon.run().await;
    // The new daemon finds the thread that waits.
    codex.greet(&[THREAD]).await;
    let looked = codex.expect("thread/read").await;
    codex.resumed(&looked, &[]).await;
    let asked = codex.expect("thread/resume").await;
    codex.resumed(&asked, &[]).await;
    codex.send(&request).await;
    assert_eq!(the_ask(&daemon).await["id"], id, "the same request is the same ask");
    // Codex's daemon comes back after a crash of its own, with the same request.
    let home = daemon.dir.path().join("codex");
    codex.kill();
    let mut codex = FakeCodex::listen(&home);
    codex.greet(&[]).await;
    codex.ask(&request).await;
    answer(&daemon, &json!({"decision": "approve"})).await;
    assert_eq!(codex.receive().await, reply);
}

#[tokio::test]
async fn an_answer_that_came_while_codex_was_away_is_given_when_it_asks_again() {
    let (daemon, mut codex) = connected().await;
    let (request, reply) = exchange("01_command_accept");
    codex.ask(&request).await;
    the_ask(&daemon).await;
    let home = daemon.dir.path().join("codex");
    codex.kill();
    answer(&daemon, &json!({"decision": "approve"})).await;
    let mut codex = FakeCodex::listen(&home);
    codex.greet(&[]).await;
    codex.ask(&request).await;
    assert_eq!(codex.receive().await, reply);
}

#[tokio::test]
async fn the_asks_of_a_codex_that_is_gone_are_closed() {
    let (daemon, mut codex) = connected().await;
    codex.ask(&exchange("01_command_accept").0).await;
    let id = the_ask(&daemon).await["id"].as_str().unwrap().to_owned();
    codex.kill();
    daemon.ask_reaches(&id, "cancelled").await;
}

#[tokio::test]
async fn hostile_frames_are_no_request_and_get_no_reply() {
    let (daemon, mut codex) = connected().await;
    for text in
        ["", "null", "[]", "{", "{\"id\":1}", "{\"method\":5}", "{\"method\":\"x\",\"id\":2}"]
    {
        codex.send_raw(Message::Text(text.into())).await;
    }
    codex.send_raw(Message::Binary(vec![0, 159].into())).await;
    codex.send_raw(Message::Text("[".repeat(100_000).into())).await;
    let (request, reply) = exchange("01_command_accept");
    let with = |method: &str, name: &str, value: Value| {
        let mut frame = request.clone();
        frame["method"] = json!(method);
        frame["params"][name] = value;
        frame
    };
    let command = "item/commandExecution/requestApproval";
    for frame in [
        with("item/permissions/requestApproval", "permissions", json!({})),
        with("mcpServer/elicitation/request", "mode", json!("form")),
        with(command, "kind", json!("writeStdin")),
        with(command, "command", json!(["rm"])),
        with(command, "threadId", json!(5)),
        with(command, "turnId", Value::Null),
        json!({"method": "thread/status/changed", "params": {"threadId": THREAD, "status": 5}}),
        json!({"method": "serverRequest/resolved", "params": {"threadId": "other", "requestId": 7}}),
        json!({"id": "countersign:thread", "result": {"thread": 5}}),
        json!({"id": "countersign:loaded", "error": {"code": -32600, "message": "draining"}}),
    ] {
        codex.send(&frame).await;
    }
    codex.ask(&request).await;
    answer(&daemon, &json!({"decision": "approve"})).await;
    assert_eq!(codex.receive().await, reply, "the first reply is that to the real request");
    assert_eq!(daemon.all_in("answered").await.len(), 1);
}

#[tokio::test]
async fn a_reload_takes_the_key_and_its_removal() {
    let daemon = Daemon::start("").await;
    let mut codex = FakeCodex::listen(&daemon.dir.path().join("codex"));
    daemon.write_config(CONFIG);
    assert!(daemon.command(&["reload"]).output().await.unwrap().status.success());
    codex.greet(&[]).await;
    daemon.write_config("");
    assert!(daemon.command(&["reload"]).output().await.unwrap().status.success());
    codex.ended().await;
}
