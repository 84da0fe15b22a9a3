//! `countersign acp` between an editor and an agent. The agent is `cat`: what the editor writes
//! comes back as the agent's, so a test plays both.

use crate::{
    daemon::Daemon,
    process::{Process, run, start},
};
use serde_json::{Value, json};
use std::path::Path;

fn golden(name: &str) -> Value {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/acp").join(name);
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

/// The request of a transcript, and the reply.
fn frames(name: &str) -> (Value, Value) {
    let transcript = golden(name);
    (transcript["frames"][0]["data"].clone(), transcript["frames"][1]["data"].clone())
}

/// A request for a command that nobody has ruled on.
fn permission(id: u64, command: &str) -> Value {
    let (mut request, _) = frames("01_allow_once.json");
    request["id"] = json!(id);
    request["params"]["toolCall"]["title"] = json!(command);
    request["params"]["toolCall"]["rawInput"] = json!({ "command": command });
    request
}

async fn tell(process: &mut Process, message: &Value) {
    process.tell(&message.to_string()).await;
}

async fn next(process: &mut Process) -> Value {
    serde_json::from_str(&process.line().await).unwrap()
}

/// The id of the one ask that is open, once it is.
async fn asked(daemon: &Daemon) -> Value {
    let open = |body: &Value| body["asks"].as_array().is_some_and(|asks| asks.len() == 1);
    daemon.until("/v1/asks?state=open", open).await["asks"][0].clone()
}

async fn id_of_ask(daemon: &Daemon) -> String {
    asked(daemon).await["id"].as_str().unwrap().to_owned()
}

/// The reply without the reason, which the protocol has no field for.
fn plain(mut reply: Value) -> Value {
    reply["result"].as_object_mut().unwrap().remove("_meta");
    reply
}

#[tokio::test]
async fn a_permission_of_each_transcript_is_answered_by_a_person_with_the_agents_own_option() {
    let daemon = Daemon::start("").await;
    let mut agent = start(&daemon, &["acp", "--", "cat"]);
    for (file, press) in [
        ("01_allow_once.json", vec!["approve"]),
        ("03_reject_once.json", vec!["deny"]),
        ("04_cancelled.json", vec!["deny", "--stop"]),
    ] {
        let (mut request, reply) = frames(file);
        // Another command each time: one that was just denied is not asked about again.
        request["params"]["toolCall"]["rawInput"]["command"] = json!(format!("make {file}"));
        tell(&mut agent, &request).await;
        let ask = id_of_ask(&daemon).await;
        let pressed: Vec<&str> = press.iter().copied().chain([&*ask]).collect();
        run(&daemon, &pressed).await;
        assert_eq!(plain(next(&mut agent).await), reply, "{file}");
    }
    // "Deny and stop" ended the turn as the editor would have.
    let cancel = json!({"jsonrpc": "2.0", "method": "session/cancel",
        "params": {"sessionId": "sess_Example"}});
    assert_eq!(next(&mut agent).await, cancel);
}

#[tokio::test]
async fn always_is_our_rule_and_never_the_agents_own() {
    let daemon = Daemon::start("").await;
    let mut agent = start(&daemon, &["acp", "--", "cat"]);
    let (request, reply) = frames("01_allow_once.json");
    tell(&mut agent, &request).await;
    let ask = id_of_ask(&daemon).await;
    run(&daemon, &["approve", &ask, "--scope", "always"]).await;
    assert_eq!(plain(next(&mut agent).await), reply, "`allow_once`, though `always` was offered");
    tell(&mut agent, &request).await;
    assert_eq!(plain(next(&mut agent).await), reply, "the rule decides, without a person");
    assert_eq!(daemon.open().await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_form_is_filled_in_by_a_person_and_declined_without_one() {
    let daemon = Daemon::start("").await;
    let mut agent = start(&daemon, &["acp", "--", "cat"]);
    let (request, reply) = frames("05_elicitation_form.json");
    tell(&mut agent, &request).await;
    let answers = json!({ "Which database should the demo use?": "Postgres",
        "Which checks should run?": ["Lint", "Docs"] });
    let answer = json!({ "decision": "answer", "answers": answers });
    let ask = id_of_ask(&daemon).await;
    assert_eq!(daemon.answer(&ask, &answer).await.0, 200);
    assert_eq!(plain(next(&mut agent).await), reply);
    tell(&mut agent, &request).await;
    run(&daemon, &["deny", &id_of_ask(&daemon).await]).await;
    assert_eq!(plain(next(&mut agent).await)["result"], json!({ "action": "decline" }));
}

#[tokio::test]
async fn every_other_line_passes_byte_for_byte_and_a_batch_loses_only_what_is_asked_here() {
    let daemon = Daemon::start("").await;
    let mut agent = start(&daemon, &["acp", "--", "cat"]);
    for line in [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"x":1.0,"x2":1e3},"zz":"é\u00e9"}"#,
        r#"  {"method" : "session/update", "params":{"update":{"sessionUpdate":"plan"}}}  "#,
        r#"[{"jsonrpc":"2.0","id":2,"result":{}},{"jsonrpc":"2.0","method":"a/b"}]"#,
        "no json at all \u{1b}[31m",
        r#"{"jsonrpc":"2.0","id":3,"method":"elicitation/create","params":{"mode":"url"}}"#,
        r#"{"jsonrpc":"2.0","method":"session/request_permission","params":{}}"#,
    ] {
        agent.tell(line).await;
        assert_eq!(agent.line().await, format!("{line}\n"));
    }
    let other = json!({ "jsonrpc": "2.0", "method": "session/update", "params": {} });
    tell(&mut agent, &json!([permission(4, "make all"), other])).await;
    assert_eq!(next(&mut agent).await, json!([other]));
    run(&daemon, &["approve", &id_of_ask(&daemon).await]).await;
    assert_eq!(next(&mut agent).await["id"], 4);
}

#[tokio::test]
async fn the_call_has_the_agents_name_its_folder_and_what_it_told_before() {
    let daemon = Daemon::start("").await;
    let mut agent = start(&daemon, &["acp", "--", "cat"]);
    for message in [
        json!({"jsonrpc": "2.0", "id": 1, "result": {"agentInfo": {"name": "gemini-cli"}}}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "session/new", "params": {"cwd": "/home/ana"}}),
        json!({"jsonrpc": "2.0", "id": 2, "result": {"sessionId": "s1"}}),
        json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s1",
            "update": {"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "Edit a.txt",
            "kind": "edit", "content": [{"type": "diff", "path": "/home/ana/a.txt",
            "oldText": "one\n", "newText": "two\n"}]}}}),
    ] {
        tell(&mut agent, &message).await;
        assert_eq!(next(&mut agent).await, message);
    }
    let mut request = permission(3, "x");
    request["params"]["sessionId"] = json!("s1");
    request["params"]["toolCall"] = json!({"toolCallId": "c1", "status": "pending"});
    tell(&mut agent, &request).await;
    let call = asked(&daemon).await["call"].clone();
    let changes = json!({ "changes": [{ "path": "/home/ana/a.txt", "old_text": "one\n",
        "new_text": "two\n" }] });
    assert_eq!(
        json!([call["agent"], call["session"], call["cwd"], call["tool"], call["args"]]),
        json!(["gemini-cli", "s1", "/home/ana", "edit_file", changes])
    );
    assert_eq!(call["description"], "Edit a.txt");
}

#[tokio::test]
async fn a_daemon_that_is_away_denies_and_one_that_comes_back_goes_on_with_the_same_ask() {
    let mut daemon = Daemon::start("").await;
    let mut agent = start(&daemon, &["acp", "--", "cat"]);
    let (request, reply) = frames("01_allow_once.json");
    tell(&mut agent, &request).await;
    let ask = id_of_ask(&daemon).await;
    daemon.kill().await;
    daemon.run().await;
    run(&daemon, &["approve", &ask]).await;
    assert_eq!(plain(next(&mut agent).await), reply);
    assert_eq!(daemon.open().await, Vec::<Value>::new());
    daemon.stop().await;
    tell(&mut agent, &request).await;
    let (_, denied) = frames("03_reject_once.json");
    let said = next(&mut agent).await;
    let why = said["result"]["_meta"]["countersign"]["reason"].as_str().unwrap().to_owned();
    assert_eq!(plain(said), denied);
    assert!(why.starts_with("no countersign daemon"), "{why}");
}

#[tokio::test]
async fn in_a_race_the_first_answer_counts_and_the_other_side_closes() {
    let daemon = Daemon::start("").await;
    let mut agent = start(&daemon, &["acp", "--race", "--", "cat"]);
    let there = permission(1, "make there");
    tell(&mut agent, &there).await;
    assert_eq!(next(&mut agent).await, there, "the editor prompts too");
    let ask = id_of_ask(&daemon).await;
    let reply = json!({"jsonrpc": "2.0", "id": 1,
        "result": {"outcome": {"outcome": "selected", "optionId": "once"}}});
    tell(&mut agent, &reply).await;
    assert_eq!(next(&mut agent).await, reply, "the agent has the editor's answer");
    daemon.ask_reaches(&ask, "cancelled").await;
    let here = permission(2, "make here");
    tell(&mut agent, &here).await;
    assert_eq!(next(&mut agent).await, here);
    run(&daemon, &["approve", &id_of_ask(&daemon).await]).await;
    let (first, second) = (next(&mut agent).await, next(&mut agent).await);
    let (reply, cancel) = if first["id"] == 2 { (first, second) } else { (second, first) };
    assert_eq!(reply["result"]["outcome"]["optionId"], "once");
    let wanted = json!({"jsonrpc": "2.0", "method": "$/cancel_request",
        "params": {"requestId": 2}});
    assert_eq!(cancel, wanted, "the editor closes its prompt");
    let late = json!({"jsonrpc": "2.0", "id": 2,
        "result": {"outcome": {"outcome": "selected", "optionId": "reject"}}});
    tell(&mut agent, &late).await;
    let after = json!({"jsonrpc": "2.0", "method": "after"});
    tell(&mut agent, &after).await;
    assert_eq!(next(&mut agent).await, after, "the editor's late answer is dropped");
}

#[tokio::test]
async fn in_a_race_the_editor_decides_alone_while_no_daemon_runs() {
    let mut daemon = Daemon::start("").await;
    daemon.stop().await;
    let mut agent = start(&daemon, &["acp", "--race", "--", "cat"]);
    let request = permission(1, "make all");
    tell(&mut agent, &request).await;
    assert_eq!(next(&mut agent).await, request);
}

#[tokio::test]
async fn options_that_allow_more_are_chosen_only_by_their_own_names() {
    let daemon = Daemon::start("").await;
    let mut agent = start(&daemon, &["acp", "--", "cat"]);
    let mut request = permission(1, "make all");
    request["params"]["options"] = json!([
        {"optionId": "s", "name": "Allow for session", "kind": "allow_always"},
        {"optionId": "a", "name": "Always", "kind": "allow_always"},
        {"optionId": "n", "name": "No", "kind": "reject_once"},
    ]);
    tell(&mut agent, &request).await;
    let first = id_of_ask(&daemon).await;
    run(&daemon, &["approve", &first]).await;
    let other = |body: &Value| body["asks"][0]["id"].as_str().is_some_and(|id| id != first);
    let ask = daemon.until("/v1/asks?state=open", other).await["asks"][0].clone();
    let question = "The call is approved. Which of the agent's own options is it?";
    assert_eq!(ask["call"]["questions"][0]["question"], question);
    run(&daemon, &["answer", ask["id"].as_str().unwrap(), "Allow for session"]).await;
    assert_eq!(next(&mut agent).await["result"]["outcome"]["optionId"], "s");
}

#[tokio::test]
async fn what_a_rule_denies_reaches_nobody_and_options_that_cannot_be_read_allow_nothing() {
    let rules = r#"{"shell_exec": {"git push *": "deny", "cargo test": "allow"}}"#;
    let config = "[policy]\nrules = \"rules.jsonc\"\n";
    let daemon = Daemon::start_with(config, &[("rules.jsonc", rules)]).await;
    let mut agent = start(&daemon, &["acp", "--race", "--", "cat"]);
    let (request, _) = frames("01_allow_once.json");
    tell(&mut agent, &request).await;
    assert_eq!(next(&mut agent).await["result"]["outcome"]["optionId"], "reject");
    tell(&mut agent, &permission(1, "cargo test")).await;
    assert_eq!(next(&mut agent).await["result"]["outcome"]["optionId"], "once");
    for options in [json!(null), json!("all"), json!([{"optionId": "x", "kind": "allow_once"}])] {
        let mut odd = permission(2, "cargo test");
        odd["params"]["options"] = options;
        tell(&mut agent, &odd).await;
        let outcome = next(&mut agent).await["result"]["outcome"].clone();
        assert_eq!(outcome, json!({ "outcome": "cancelled" }));
    }
}

#[tokio::test]
async fn a_cancelled_turn_and_an_editor_that_goes_take_their_asks_along() {
    let daemon = Daemon::start("").await;
    let mut agent = start(&daemon, &["acp", "--", "cat"]);
    let (request, cancelled) = frames("04_cancelled.json");
    tell(&mut agent, &request).await;
    let ask = id_of_ask(&daemon).await;
    let cancel = json!({"jsonrpc": "2.0", "method": "session/cancel",
        "params": {"sessionId": "sess_Example"}});
    tell(&mut agent, &cancel).await;
    assert_eq!(next(&mut agent).await, cancel);
    assert_eq!(next(&mut agent).await, cancelled);
    daemon.ask_reaches(&ask, "cancelled").await;
    tell(&mut agent, &request).await;
    let ask = id_of_ask(&daemon).await;
    let ended = agent.ends().await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(daemon.read(&ask).await["state"], "cancelled");
}

#[tokio::test]
async fn an_agent_that_fails_takes_its_ask_along_and_fails_the_proxy() {
    let daemon = Daemon::start("").await;
    let (request, _) = frames("01_allow_once.json");
    let script = "printf '%s\\n' \"$REQUEST\"; read -r end; exit 3";
    let mut command = daemon.command(&["acp", "--", "sh", "-c", script]);
    command.env("REQUEST", request.to_string());
    let mut agent = Process::start(command);
    let ask = id_of_ask(&daemon).await;
    agent.tell("end").await;
    daemon.ask_reaches(&ask, "cancelled").await;
    let ended = agent.ends().await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("the agent ended with exit status: 3"), "{ended:?}");
}
