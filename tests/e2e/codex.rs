//! Codex: the daemon as one more client of the app-server that its terminals share.

use crate::{
    codex_server::{FakeCodex, THREAD, TURN, exchange},
    daemon::{APPROVER, Daemon},
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

#[tokio::test]
async fn readyz_names_codex_only_while_its_server_is_watched() {
    let daemon = Daemon::start(CONFIG).await;
    let is_watched = |ready: &Value| ready["watches"] == json!(["codex"]);
    assert!(!is_watched(&daemon.get("/readyz", APPROVER).await.1), "there is no server");
    let mut codex = FakeCodex::listen(&daemon.dir.path().join("codex"));
    codex.greet(&[]).await;
    daemon.until("/readyz", is_watched).await;
    codex.kill();
    daemon.until("/readyz", |ready| !is_watched(ready)).await;
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

// Codex's own reviewer.

/// What its reviewer has denied.
fn blocked(command: &str) -> Value {
    json!({"type": "command", "source": "unifiedExec", "cwd": "/home/ana/shop",
        "command": format!("/bin/bash -lc '{command}'")})
}

/// A request for a person to run a command.
fn request(id: u64, command: &str) -> Value {
    let params = json!({"kind": "command", "threadId": THREAD, "turnId": TURN,
        "itemId": format!("call_{id}"), "startedAtMs": id, "environmentId": "local",
        "reason": "Copy it?", "command": format!("/bin/bash -lc '{command}'"),
        "cwd": "/home/ana/shop"});
    json!({"method": "item/commandExecution/requestApproval", "id": id, "params": params})
}

fn accept(id: u64) -> Value {
    json!({"id": id, "result": {"decision": "accept"}})
}

const COPY: &str = "scp shop.db ana@example.org:";

/// A daemon that watches a turn under Codex's own reviewer, which has denied a copy.
async fn reviewed() -> (Daemon, FakeCodex) {
    let (daemon, mut codex) = connected().await;
    codex.reviews().await;
    codex.reviewed("r1", "denied", &blocked(COPY)).await;
    (daemon, codex)
}

/// Its model is told that it was approved.
async fn told(codex: &mut FakeCodex) {
    let asked = codex.expect("thread/approveGuardianDeniedAction").await;
    let action = json!({"type": "command", "source": "unified_exec", "cwd": "/home/ana/shop",
        "command": format!("/bin/bash -lc '{COPY}'")});
    let event = json!({"id": "r1", "target_item_id": "call_0", "turn_id": TURN,
        "started_at_ms": 5, "completed_at_ms": 6, "status": "denied", "risk_level": "high",
        "user_authorization": "low", "rationale": "It sends data out.",
        "decision_source": "agent", "action": action});
    assert_eq!(asked["params"], json!({"threadId": THREAD, "event": event}));
    codex.send(&json!({"id": asked["id"], "result": {}})).await;
}

/// Somebody answered a request.
async fn resolved(codex: &mut FakeCodex, id: u64) {
    let params = json!({"threadId": THREAD, "requestId": id});
    codex.send(&json!({"method": "serverRequest/resolved", "params": params})).await;
}

#[tokio::test]
async fn a_yes_overrules_codex_s_reviewer_for_exactly_that_command_once() {
    let (daemon, mut codex) = reviewed().await;
    let ask = answer(&daemon, &json!({"decision": "approve"})).await;
    assert_eq!(ask["why"], "Codex's reviewer blocked this: It sends data out.", "{ask}");
    assert_eq!(ask["call"]["args"], json!({"command": COPY}));
    codex.reviewer_becomes("user").await;
    told(&mut codex).await;
    // One byte more is an ask like every other.
    codex.send(&request(1, &format!("{COPY} "))).await;
    let other = the_ask(&daemon).await;
    assert_eq!(other["call"]["appeal"], Value::Null, "{other}");
    codex.send(&request(2, COPY)).await;
    assert_eq!(codex.receive().await, accept(2));
    resolved(&mut codex, 2).await;
    codex.reviewer_becomes("auto_review").await;
    let id = ask["id"].as_str().unwrap();
    let ran = daemon.read(id).await;
    assert_eq!(ran["answer"]["decision"], "approve", "{ran}");
    resolved(&mut codex, 1).await;
    daemon.ask_reaches(other["id"].as_str().unwrap(), "cancelled").await;
    codex.send(&request(3, COPY)).await;
    assert_eq!(the_ask(&daemon).await["state"], "open", "it is spent");
}

#[tokio::test]
async fn a_no_and_nobody_leave_what_codex_s_reviewer_denied() {
    let (daemon, mut codex) = reviewed().await;
    answer(&daemon, &json!({"decision": "deny"})).await;
    // What it could not check, and what a card cannot show whole.
    let more = json!({"type": "applyPatch", "cwd": "/home/ana/shop", "files": ["/home/ana/x"]});
    codex.reviewed("r2", "denied", &more).await;
    codex.reviewed("r3", "aborted", &blocked("make a")).await;
    codex.reviewed("r4", "approved", &blocked("make b")).await;
    codex.reviewed("r5", "timedOut", &blocked("make c")).await;
    let ask = the_ask(&daemon).await;
    assert_eq!(ask["call"]["args"], json!({"command": "make c"}));
    // The turn goes on without a change of its reviewer.
    codex.idle().await;
}

#[tokio::test]
async fn where_codex_refuses_the_card_says_so_and_nothing_is_granted() {
    for step in 0..2 {
        let (daemon, mut codex) = reviewed().await;
        let ask = answer(&daemon, &json!({"decision": "approve"})).await;
        let error = json!({"code": -32600, "message": "unknown method"});
        if step == 0 {
            let asked = codex.expect_reviewer("user").await;
            codex.send(&json!({"id": asked["id"], "error": error})).await;
        } else {
            codex.reviewer_becomes("user").await;
            let asked = codex.expect("thread/approveGuardianDeniedAction").await;
            codex.send(&json!({"id": asked["id"], "error": error})).await;
        }
        codex.reviewer_becomes("auto_review").await;
        let path = format!("/v1/asks/{}", ask["id"].as_str().unwrap());
        let overruled = |ask: &Value| !ask["answer"]["overruled"].is_null();
        let now = daemon.until(&path, overruled).await;
        let why = "the approval could not be carried out: unknown method";
        assert_eq!(now["answer"]["overruled"]["reason"], why, "{now}");
        assert_eq!(now["answer"]["decision"], "approve", "{now}");
        codex.send(&request(2, COPY)).await;
        assert_eq!(the_ask(&daemon).await["state"], "open", "nothing is granted");
    }
}

#[tokio::test]
async fn a_yes_after_the_turn_is_over_waits_for_the_next_try() {
    let (daemon, mut codex) = reviewed().await;
    answer(&daemon, &json!({"decision": "approve"})).await;
    let asked = codex.expect_reviewer("user").await;
    codex.send(&json!({"id": asked["id"], "result": {"status": "targetUnavailable"}})).await;
    codex.idle().await;
    codex.reviews().await;
    codex.reviewed("r9", "denied", &blocked(COPY)).await;
    codex.reviewer_becomes("user").await;
    let asked = codex.expect("thread/approveGuardianDeniedAction").await;
    assert_eq!(asked["params"]["event"]["id"], "r9");
    assert_eq!(daemon.open().await, Vec::<Value>::new(), "nobody is asked again");
}

#[tokio::test]
async fn the_reviewer_is_set_back_when_the_daemon_stops_and_its_change_ends_with_the_turn() {
    let (mut daemon, mut codex) = reviewed().await;
    answer(&daemon, &json!({"decision": "approve"})).await;
    codex.reviewer_becomes("user").await;
    told(&mut codex).await;
    assert!(daemon.stop().await);
    codex.expect_reviewer("auto_review").await;

    let (daemon, mut codex) = reviewed().await;
    answer(&daemon, &json!({"decision": "approve"})).await;
    codex.reviewer_becomes("user").await;
    told(&mut codex).await;
    // The turn ends without a retry: its settings end with it, and nothing is left to do.
    codex.idle().await;
    codex.reviews().await;
    assert!(!daemon.dir.path().join("state/codex-reviews.json").exists());
}

/// A daemon that is killed after so many steps of an override: nothing that nobody saw is let
/// through, what was approved runs at most once, and the reviewer is set back.
#[tokio::test]
async fn killed_between_the_steps_of_an_override_codex_s_reviewer_is_set_back() {
    for steps in 0..4 {
        let (mut daemon, mut codex) = reviewed().await;
        let ask = answer(&daemon, &json!({"decision": "approve"})).await;
        codex.expect_reviewer("user").await;
        if steps > 0 {
            let id = "countersign:review/person/r1";
            codex.send(&json!({"id": id, "result": {"status": "applied"}})).await;
            codex.expect("thread/approveGuardianDeniedAction").await;
        }
        if steps > 1 {
            let id = "countersign:review/tell/r1";
            codex.send(&json!({"id": id, "result": {}})).await;
        }
        if steps > 2 {
            codex.send(&request(2, COPY)).await;
            assert_eq!(codex.receive().await, accept(2));
        }
        daemon.kill().await;
        daemon.run().await;
        codex.accept().await;
        codex.reviewer_becomes("auto_review").await;
        codex.list_loaded(&[THREAD]).await;
        // The reviewer may be set at once, or after the thread was looked at.
        let mut frames = Vec::new();
        while frames.len() < 2 {
            let frame = codex.receive().await;
            if frame["method"] == "thread/read" {
                codex.resumed_reviewed(&frame).await;
            } else {
                frames.push(frame);
            }
        }
        let rank = |frame: &Value| frame["method"] != "thread/resume";
        frames.sort_by_key(rank);
        assert_eq!(frames[0]["method"], "thread/resume", "{frames:?}");
        codex.resumed_reviewed(&frames[0]).await;
        let asked = &frames[1];
        if steps > 2 {
            // It ran: there is nothing left to release.
            assert_eq!(asked["params"]["approvalsReviewer"], "auto_review", "{asked}");
            codex.send(&json!({"id": asked["id"], "result": {"status": "applied"}})).await;
            codex.send(&request(3, COPY)).await;
            assert_eq!(the_ask(&daemon).await["state"], "open", "once");
            continue;
        }
        assert_eq!(asked["params"]["approvalsReviewer"], "user", "{asked}");
        codex.send(&json!({"id": asked["id"], "result": {"status": "applied"}})).await;
        told(&mut codex).await;
        codex.send(&request(2, COPY)).await;
        assert_eq!(codex.receive().await, accept(2));
        resolved(&mut codex, 2).await;
        codex.reviewer_becomes("auto_review").await;
        assert_eq!(daemon.read(ask["id"].as_str().unwrap()).await["state"], "answered");
        codex.send(&request(3, COPY)).await;
        assert_eq!(the_ask(&daemon).await["state"], "open", "once");
    }
}
