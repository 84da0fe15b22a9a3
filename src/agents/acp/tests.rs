#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests fail by panicking"
)]

use crate::{
    acp::{AcpContext, AcpProxy, Prompts, call::AcpCall, form::Form, request::PermissionOptions},
    answered::answered,
    hosted::{Forward, HostedSession, Step},
};
use countersign_client::{Decided, Ending};
use countersign_domain::Decision;
use serde_json::{Value, json};

fn read(fields: Value) -> (String, Value) {
    let AcpCall { tool, args, .. } = AcpCall::read(fields.as_object().unwrap());
    (tool, args)
}

#[test]
fn a_call_is_read_as_each_agent_sends_it() {
    for (fields, tool, args) in [
        (
            json!({"kind": "execute", "title": "ls", "rawInput": {"command": "ls -la"}}),
            "shell_exec",
            json!({"command": "ls -la"}),
        ),
        // Gemini sends no input, and its title is no command.
        (
            json!({"kind": "execute", "title": "ls [in /tmp] (List)", "content": []}),
            "execute",
            json!({"title": "ls [in /tmp] (List)", "content": []}),
        ),
        (
            json!({"kind": "execute", "rawInput": {"command": "ls"},
                "_meta": {"claudeCode": {"toolName": "mcp__db__query"}}}),
            "mcp__db__query",
            json!({"command": "ls"}),
        ),
        (
            json!({"kind": "edit", "rawInput": {"filepath": "a", "diff": "+x"},
                "content": [{"type": "diff", "path": "b", "oldText": null, "newText": "x"}]}),
            "edit_file",
            json!({"filepath": "a", "diff": "+x", "files": ["b"]}),
        ),
        (
            json!({"kind": "read", "locations": [{"path": "/etc/passwd", "line": 3}]}),
            "read",
            json!({"paths": ["/etc/passwd"]}),
        ),
        (json!({"rawInput": ["a"]}), "other", json!({"input": ["a"]})),
        (json!({}), "other", json!({})),
    ] {
        assert_eq!(read(fields.clone()), (tool.to_owned(), args), "{fields}");
    }
}

#[test]
fn every_file_that_an_edit_names_anywhere_counts() {
    let (tool, args) = read(json!({"kind": "edit", "rawInput": {"file_path": "/w/a",
        "new_string": "x"}, "content": [{"type": "diff", "path": "/root/.ssh/authorized_keys",
        "oldText": "", "newText": "key"}]}));
    assert_eq!(args["files"], json!(["/root/.ssh/authorized_keys"]));
    let call = countersign_policy::Call::new(&*tool, args);
    let named = countersign_policy::values::Values::of(&call).list;
    let paths: Vec<String> = named.into_iter().map(|value| value.text).collect();
    assert!(paths.iter().any(|path| path.contains("authorized_keys")), "{paths:?}");
    assert!(paths.iter().any(|path| path.ends_with("/w/a")), "{paths:?}");
}

fn denied() -> Decided {
    let reason = "no".to_owned();
    Decided { decision: Decision::Deny, reason, message: None, ask: None, ending: Ending::Expired }
}

#[test]
fn only_an_answered_form_has_content_and_a_denial_never_chooses_an_option() {
    let params = json!({"message": "?", "requestedSchema": {"properties": {
        "size": {"type": "integer"}, "deep": {"type": "boolean"}, "n": {"type": "number"}}}});
    let form = Form::read(params.as_object().unwrap()).unwrap();
    assert_eq!(form.reply(&denied()), json!({"action": "decline"}));
    let options = json!([{"optionId": "a", "name": "A", "kind": "allow_always"}]);
    let options = PermissionOptions::read(Some(&options));
    assert_eq!(options.chosen(&denied()), json!({"outcome": {"outcome": "cancelled"}}));
    assert_eq!(options.denied(), json!({"outcome": {"outcome": "cancelled"}}));
}

#[test]
fn a_form_that_a_card_cannot_show_is_left_to_the_editor() {
    for params in [
        json!({"mode": "url", "requestedSchema": {"properties": {"a": {"type": "string"}}}}),
        json!({"requestedSchema": {"properties": {"a": {"type": "object"}}}}),
        json!({"requestedSchema": {"properties": {}}}),
        json!({}),
    ] {
        assert_eq!(Form::read(params.as_object().unwrap()), None, "{params}");
    }
}

fn proxy(prompts: Prompts, mode: Option<&str>) -> AcpProxy {
    let mode = mode.map(str::to_owned);
    let around = AcpContext { program: "acp".into(), host: None, run: "r".into(), mode };
    AcpProxy::new(around, prompts)
}

/// What the proxy does where a session is opened with these modes, and a mode is wanted.
fn opened(wanted: Option<&str>, modes: &Value) -> (AcpProxy, Vec<Step>) {
    let mut proxy = proxy(Prompts::Here, wanted);
    let line = |value: Value| value.to_string().into_bytes();
    let new = json!({"jsonrpc": "2.0", "id": 1, "method": "session/new", "params": {"cwd": "/w"}});
    assert_eq!(proxy.host_line(&line(new)).0, Forward::On);
    let result = json!({"sessionId": "s", "modes": modes});
    let (forward, steps) =
        proxy.engine_line(&line(json!({"jsonrpc": "2.0", "id": 1, "result": result})));
    assert_eq!(forward, Forward::On, "the editor gets its reply");
    (proxy, steps)
}

#[test]
fn the_agent_is_asked_for_the_mode_that_its_person_wants_and_the_editor_sees_no_reply() {
    let modes = json!({"currentModeId": "auto",
        "availableModes": [{"id": "auto", "name": "Auto"}, {"id": "default", "name": "Always Ask"}]});
    for wanted in [None, Some("auto")] {
        assert_eq!(opened(wanted, &modes).1, []);
    }
    let (mut proxy, steps) = opened(Some("default"), &modes);
    let asked = json!({"jsonrpc": "2.0", "id": "countersign-r-mode-1",
        "method": "session/set_mode", "params": {"sessionId": "s", "modeId": "default"}});
    assert_eq!(steps, [Step::Send(asked.to_string())]);
    let refused = json!({"jsonrpc": "2.0", "id": "countersign-r-mode-1",
        "error": {"code": -32603, "message": "not now"}});
    let log = "acp does not take the mode `default`: not now".to_owned();
    let reply = proxy.engine_line(refused.to_string().as_bytes());
    assert_eq!(reply, (Forward::Stays, vec![Step::Log(log)]));
    let again = proxy.engine_line(refused.to_string().as_bytes());
    assert_eq!(again, (Forward::On, Vec::new()), "only its own reply is kept back");
}

#[test]
fn a_mode_that_an_agent_does_not_offer_is_said() {
    let modes =
        json!({"currentModeId": "auto", "availableModes": [{"id": "auto"}, {"id": "plan"}]});
    for (modes, offers) in [(modes, "use auto, plan"), (Value::Null, "it offers none")] {
        let log = format!("acp has no mode `default`, and stays in its own: {offers}");
        assert_eq!(opened(Some("default"), &modes).1, [Step::Log(log)]);
    }
}

/// A request of the agent, and every message that the proxy makes of its decision.
fn said(prompts: Prompts, request: Value, decided: &Decided) -> Value {
    let mut proxy = proxy(prompts, None);
    let (_, steps) = proxy.engine_line(request.to_string().as_bytes());
    let [Step::Submit { key, .. }] = &*steps else { panic!("{steps:?}") };
    proxy.opened(key, "ask");
    let steps = proxy.decided(key, Ok(decided));
    json!({ "request": request, "said": messages(&steps) })
}

fn messages(steps: &[Step]) -> Vec<Value> {
    let message = |step: &Step| match step {
        Step::Send(line) | Step::Tell(line) => serde_json::from_str(line).ok(),
        _ => None,
    };
    steps.iter().filter_map(message).collect()
}

/// Whether the protocol takes them is judged by its own schema: tests/oracle/acp.test.mjs.
#[test]
fn every_kind_of_message_is_the_one_that_the_protocols_schema_was_asked_about() {
    let permission = |options: Value| {
        json!({"jsonrpc": "2.0", "id": 7, "method": "session/request_permission", "params": {
            "sessionId": "s", "toolCall": {"toolCallId": "c", "kind": "execute",
            "rawInput": {"command": "make all"}}, "options": options}})
    };
    let once = || {
        permission(json!([{"optionId": "y", "name": "Yes", "kind": "allow_once"},
            {"optionId": "n", "name": "No", "kind": "reject_once"}]))
    };
    let form = json!({"jsonrpc": "2.0", "id": "f", "method": "elicitation/create", "params": {
        "mode": "form", "sessionId": "s", "message": "How?", "requestedSchema": {"type": "object",
        "required": ["engine"], "properties": {
            "engine": {"type": "string", "title": "Which engine?", "enum": ["a", "b"]},
            "checks": {"type": "array", "title": "Which checks?",
                "items": {"type": "string", "enum": ["lint", "docs"]}},
            "size": {"type": "integer", "title": "How many?"},
            "share": {"type": "number", "title": "How much?"},
            "deep": {"type": "boolean", "title": "Deeply?"},
            "name": {"type": "string", "title": "Which name?"}}}}});
    let small = json!({"jsonrpc": "2.0", "id": "g", "method": "elicitation/create", "params": {
        "mode": "form", "sessionId": "s", "message": "Which?", "requestedSchema": {
        "type": "object", "properties": {"name": {"type": "string"}}}}});
    let answers = json!({"Which engine?": "b", "Which checks?": ["docs"], "How many?": "3",
        "How much?": "0.5", "Deeply?": "Yes", "Which name?": "main"});
    let yes = answered(Decision::Approve, "Ana approved", |_| ());
    let no = answered(Decision::Deny, "Ana denied", |_| ());
    let stop = answered(Decision::Deny, "Ana stopped it", |answer| answer.stop = true);
    let filled = answered(Decision::Answer, "Ana answered", |answer| {
        answer.answers = answers.as_object().cloned();
    });
    let mut found = vec![
        said(Prompts::Here, once(), &yes),
        said(Prompts::Here, once(), &no),
        said(Prompts::Here, permission(json!([])), &no),
        said(Prompts::Here, once(), &stop),
        said(Prompts::InEditorToo, once(), &yes),
        said(Prompts::Here, form, &filled),
        said(Prompts::Here, small.clone(), &no),
    ];
    let mut proxy = proxy(Prompts::Here, None);
    let (forward, _) = proxy.engine_line(small.to_string().as_bytes());
    assert_eq!(forward, Forward::Stays);
    let end = json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "s"}});
    let (_, steps) = proxy.host_line(end.to_string().as_bytes());
    found.push(json!({ "request": small, "said": messages(&steps) }));
    let odd = br#"{"jsonrpc":"2.0","id":9,"method":"session/request_permission","params":[]}"#;
    found.push(json!({ "request": null, "said": messages(&proxy.engine_line(odd).1) }));
    let modes = json!({"currentModeId": "auto", "availableModes": [{"id": "default"}]});
    let (_, steps) = opened(Some("default"), &modes);
    found.push(json!({ "request": null, "said": messages(&steps) }));
    let golden = include_str!("../../../tests/golden/acp/said.json");
    let golden: Value = serde_json::from_str(golden).unwrap();
    assert_eq!(json!(found), golden, "{:#}", json!(found));
}
