#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests fail by panicking"
)]

use super::*;
use crate::{CallOrigin, answered::answered};
use countersign_client::{Decided, Ending};
use countersign_domain::Decision;
use serde_json::{Value, json};

fn server() -> McpServer {
    let origin = CallOrigin {
        session: "s1".into(),
        host: Some("laptop".into()),
        cwd: Some("/home/ana/shop".into()),
        run: "run".into(),
    };
    McpServer::new(None, origin)
}

fn say(server: &mut McpServer, message: &Value) -> Handled {
    match read(message.to_string().as_bytes()).remove(0) {
        Ok(message) => server.handle(message),
        Err(reply) => Handled::Reply(reply),
    }
}

fn replied(server: &mut McpServer, message: &Value) -> Value {
    match say(server, message) {
        Handled::Reply(reply) => reply,
        other => panic!("{other:?}"),
    }
}

fn pending(server: &mut McpServer, message: &Value) -> PendingTool {
    match say(server, message) {
        Handled::Pending(pending) => *pending,
        other => panic!("{other:?}"),
    }
}

fn call(name: &str, arguments: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call",
        "params": {"name": name, "arguments": arguments}})
}

fn decided(decision: Decision, reason: &str) -> Decided {
    answered(decision, reason, |_| ())
}

fn answers(answers: &Value) -> Decided {
    let mut decided = decided(Decision::Answer, "answered by Ana (telegram)");
    if let Ending::Answered(answer) = &mut decided.ending {
        answer.answers = answers.as_object().cloned();
    }
    decided
}

fn text(reply: &Value) -> (&str, bool) {
    let result = &reply["result"];
    (result["content"][0]["text"].as_str().unwrap(), result["isError"].as_bool().unwrap())
}

fn json_text(reply: &Value) -> Value {
    serde_json::from_str(text(reply).0).unwrap()
}

/// The request and the reply of the real Claude Code and a server.
fn golden() -> (Value, Value) {
    let file = "tests/golden/claude-code/12_mcp_permission_prompt_tool.json";
    let file = format!("{}/../../{file}", env!("CARGO_MANIFEST_DIR"));
    let golden: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    (golden["frames"][0]["data"].clone(), golden["frames"][1]["data"].clone())
}

#[test]
fn a_client_gets_the_version_that_it_wants_or_our_newest() {
    let version = |wanted: Value| {
        let message = json!({"jsonrpc": "2.0", "id": "a", "method": "initialize",
            "params": {"protocolVersion": wanted, "capabilities": {}}});
        replied(&mut server(), &message)["result"]["protocolVersion"].clone()
    };
    for known in VERSIONS {
        assert_eq!(version(json!(known)), *known);
    }
    for other in [json!("2026-07-28"), json!("1"), json!(5), Value::Null] {
        assert_eq!(version(other), "2025-11-25");
    }
}

#[test]
fn the_probe_of_a_newer_client_is_refused_so_that_it_falls_back_to_initialize() {
    let message = json!({"jsonrpc": "2.0", "id": 0, "method": "server/discover", "params": {}});
    assert_eq!(replied(&mut server(), &message)["error"]["code"], -32601);
}

#[test]
fn the_client_is_the_agent_unless_it_has_no_usable_name() {
    let named = |name: Value| {
        let mut server = server();
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": {"protocolVersion": "2025-11-25", "clientInfo": {"name": name}}});
        replied(&mut server, &message);
        server.agent().to_owned()
    };
    assert_eq!(named(json!("claude-code")), "claude-code");
    for unusable in [json!(""), json!("a\u{202e}b"), json!("x".repeat(101)), json!(5)] {
        assert_eq!(named(unusable), "mcp");
    }
}

#[test]
fn a_permission_prompt_of_claude_code_becomes_a_call_and_its_approval_the_recorded_reply() {
    let (request, reply) = golden();
    let pending = pending(&mut server(), &request);
    let expected = json!({
        "key": "run-1", "agent": "mcp", "session": "s1", "host": "laptop",
        "cwd": "/home/ana/shop", "tool": "Bash",
        "args": {"command": "git push --force origin main",
            "description": "Push the release branch"},
        "description": "Push the release branch",
        "accepts": ["stop", "updated_input"],
        "meta": {},
    });
    assert_eq!(serde_json::to_value(&pending.call).unwrap(), expected);
    let approved = pending.reply(Ok(&decided(Decision::Approve, "approved by Ana")));
    assert_eq!(approved["id"], reply["id"]);
    let recorded = reply["result"]["content"][0]["text"].as_str().unwrap();
    let recorded: Value = serde_json::from_str(recorded).unwrap();
    assert_eq!(json_text(&approved), recorded);
}

#[test]
fn a_denial_carries_the_reason_and_a_stop_interrupts() {
    let pending = pending(&mut server(), &golden().0);
    let mut deny = decided(Decision::Deny, "denied by Ana (telegram): not on a Friday");
    let message = "Denied by Ana (telegram): not on a Friday";
    let reply = pending.reply(Ok(&deny));
    assert_eq!(json_text(&reply), json!({"behavior": "deny", "message": message}));
    if let Ending::Answered(answer) = &mut deny.ending {
        answer.stop = true;
    }
    let stop = json!({"behavior": "deny", "message": message, "interrupt": true});
    assert_eq!(json_text(&pending.reply(Ok(&deny))), stop);
}

#[test]
fn an_edited_call_is_allowed_with_the_approved_arguments_alone() {
    let pending = pending(&mut server(), &golden().0);
    let mut edit = decided(Decision::Edit, "approved with a change by Ana");
    assert_eq!(json_text(&pending.reply(Ok(&edit)))["behavior"], "deny", "no arguments came");
    if let Ending::Answered(answer) = &mut edit.ending {
        answer.updated_input = Some(json!({"command": "git push origin main"}));
    }
    let allow = json!({"behavior": "allow", "updatedInput": {"command": "git push origin main"}});
    assert_eq!(json_text(&pending.reply(Ok(&edit))), allow);
}

#[test]
fn nothing_but_a_decision_allows_a_permission_prompt() {
    let pending = pending(&mut server(), &golden().0);
    let ending =
        |decision, ending| Decided { ending, ..decided(decision, "nobody answered in time") };
    for undecided in [
        ending(Decision::Deny, Ending::Expired),
        ending(Decision::Deny, Ending::Cancelled),
        ending(Decision::Approve, Ending::Cancelled),
        answers(&json!({"git push": "Yes"})),
    ] {
        let reply = json_text(&pending.reply(Ok(&undecided)));
        assert_eq!(reply["behavior"], "deny", "{undecided:?}");
    }
    let why = "no countersign daemon at x";
    let reply = json_text(&pending.reply(Err(why)));
    let message = "countersign could not decide: no countersign daemon at x";
    assert_eq!(reply, json!({"behavior": "deny", "message": message}));
}

#[test]
fn claudes_questions_are_answered_through_the_prompt_and_never_merely_allowed() {
    let questions = json!([{"question": "Which store?", "header": "Store", "multiSelect": false,
        "options": [{"label": "SQLite"}, {"label": "Postgres"}]}]);
    let arguments = json!({"tool_name": "AskUserQuestion", "input": {"questions": questions}});
    let pending = pending(&mut server(), &call("approve", &arguments));
    assert_eq!(pending.call.questions.len(), 1);
    let reply = pending.reply(Ok(&answers(&json!({"Which store?": "SQLite"}))));
    let input = json!({"questions": questions, "answers": {"Which store?": "SQLite"}});
    assert_eq!(json_text(&reply), json!({"behavior": "allow", "updatedInput": input}));
    let allowed = pending.reply(Ok(&decided(Decision::Approve, "approved by Ana")));
    assert_eq!(json_text(&allowed)["behavior"], "deny");
}

#[test]
fn a_prompt_that_cannot_be_read_is_denied_with_a_sentence() {
    for (arguments, why) in [
        (json!({}), "`tool_name` is missing, or is not a text"),
        (json!({"tool_name": "Bash"}), "`input` is not an object; it holds the tool's arguments"),
        (
            json!({"tool_name": "Bash", "input": "ls"}),
            "`input` is not an object; it holds the tool's arguments",
        ),
        (json!({"tool_name": "AskUserQuestion", "input": {}}), "the questions cannot be read: "),
    ] {
        let reply = replied(&mut server(), &call("approve", &arguments));
        let denial = json_text(&reply);
        assert_eq!(denial["behavior"], "deny", "{arguments}");
        assert!(denial["message"].as_str().unwrap().starts_with(why), "{denial}");
    }
}

#[test]
fn a_question_of_the_model_becomes_one_for_a_person() {
    let arguments = json!({"question": "Which checks?", "multiple": true, "reason": "CI is slow",
        "options": ["Lint", {"label": "Docs", "description": "rustdoc"}]});
    let pending = pending(&mut server(), &call("ask_human", &arguments));
    let expected = json!({
        "key": "run-1", "agent": "mcp", "session": "s1", "host": "laptop",
        "cwd": "/home/ana/shop", "tool": "ask_user", "args": {}, "reason": "CI is slow",
        "questions": [{"question": "Which checks?", "multiSelect": true,
            "options": [{"label": "Lint"}, {"label": "Docs", "description": "rustdoc"}]}],
    });
    assert_eq!(serde_json::to_value(&pending.call).unwrap(), expected);
    let reply = pending.reply(Ok(&answers(&json!({"Which checks?": ["Lint", "Docs"]}))));
    assert_eq!(text(&reply), ("Lint\nDocs", false));
    let reply = pending.reply(Ok(&answers(&json!({"Which checks?": "none of them"}))));
    assert_eq!(text(&reply), ("none of them", false));
}

#[test]
fn a_question_without_an_answer_is_an_error_for_the_model_with_the_reason() {
    let pending = pending(&mut server(), &call("ask_human", &json!({"question": "Now?"})));
    let expired =
        Decided { ending: Ending::Expired, ..decided(Decision::Deny, "nobody answered in time") };
    assert_eq!(text(&pending.reply(Ok(&expired))), ("Nobody answered in time.", true));
    let approved = decided(Decision::Approve, "approved by Ana");
    assert_eq!(text(&pending.reply(Ok(&approved))), ("Approved by Ana.", true));
    let away = pending.reply(Err("no countersign daemon at x"));
    assert_eq!(text(&away), ("countersign could not ask: no countersign daemon at x", true));
}

#[test]
fn a_question_that_cannot_be_shown_is_an_error_for_the_model() {
    for arguments in [
        json!({}),
        json!({"question": ""}),
        json!({"question": "x", "options": ["a", "a"]}),
        json!({"question": "x", "options": [5]}),
        json!({"question": "x", "urgent": true}),
    ] {
        let reply = replied(&mut server(), &call("ask_human", &arguments));
        assert!(text(&reply).1, "{arguments}: {reply}");
    }
}

#[test]
fn every_call_has_a_key_of_its_own_even_where_the_client_repeats_its_ids() {
    let mut server = server();
    let message = call("ask_human", &json!({"question": "Now?"}));
    let keys = [1, 2].map(|_| pending(&mut server, &message).call.key.unwrap());
    assert_eq!(keys, ["run-1", "run-2"]);
}

#[test]
fn progress_rises_and_is_sent_only_where_the_client_wants_it() {
    let mut silent = pending(&mut server(), &call("ask_human", &json!({"question": "Now?"})));
    assert_eq!(silent.progress("waits"), None);
    let mut wanted = pending(&mut server(), &golden().0);
    wanted.progress("asked");
    let expected = json!({"jsonrpc": "2.0", "method": "notifications/progress",
        "params": {"progressToken": 2, "progress": 2, "message": "waits"}});
    assert_eq!(wanted.progress("waits"), Some(expected));
}

#[test]
fn odd_messages_get_an_error_of_json_rpc_and_the_ones_beside_them_are_served() {
    for (text, id, code) in [
        ("{not json", json!(null), -32700),
        ("[]", json!(null), -32600),
        ("5", json!(null), -32600),
        (r#"{"id":1,"method":"ping"}"#, json!(1), -32600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, json!(null), -32600),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, json!(null), -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":5}"#, json!(1), -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#, json!(1), -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/fly"}"#, json!(1), -32601),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#, json!(1), -32602),
    ] {
        let reply = match read(text.as_bytes()).remove(0) {
            Ok(message) => match server().handle(message) {
                Handled::Reply(reply) => reply,
                other => panic!("{text}: {other:?}"),
            },
            Err(reply) => reply,
        };
        assert_eq!((&reply["id"], &reply["error"]["code"]), (&id, &json!(code)), "{text}");
    }
    let batch = r#"[5,{"jsonrpc":"2.0","id":1,"method":"ping"}]"#;
    let read = read(batch.as_bytes());
    assert!(matches!(read.as_slice(), [Err(_), Ok(RpcMessage::Request { .. })]), "{read:?}");
    assert!(super::read(&[b'['; 200_000]).remove(0).is_err(), "deep nesting is an error");
}
