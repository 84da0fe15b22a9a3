#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests fail by panicking"
)]
use super::*;

const COMMAND: &str = "/opt/countersign hook cursor";

fn call(event: &Value) -> (String, Value) {
    match read(event.to_string().as_bytes()) {
        Ok(HookEvent::Wants(request)) => {
            let call = request.call("k".into(), None).unwrap();
            (call.tool, call.args)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn both_hooks_fail_closed_beside_those_of_others() {
    let hook = json!({"command": COMMAND, "timeout": 86400, "failClosed": true});
    let expected = json!({"version": 1, "hooks": {
        "beforeShellExecution": [hook], "beforeMCPExecution": [hook]}});
    let text = Cursor.connect("", COMMAND, HookMode::EveryCall).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expected);
    let theirs = "{\n  \"version\": 1,\n  \"hooks\": {\n    \"beforeShellExecution\": [\n      { \
                  \"command\": \"lint\" }\n    ]\n  }\n}\n";
    let connected = Cursor.connect(theirs, COMMAND, HookMode::EveryCall).unwrap();
    assert!(connected.contains("\"command\": \"lint\""), "{connected}");
    assert_eq!(Cursor.disconnect(&connected), Ok(theirs.to_owned()));
    let weak = connected.replace("\"failClosed\": true", "\"failClosed\": false");
    assert_ne!(Cursor.connect(&weak, COMMAND, HookMode::EveryCall), Ok(weak.clone()));
}

#[test]
fn an_mcp_tool_never_passes_for_a_tool_of_cursors_own() {
    let event = json!({"hook_event_name": "beforeMCPExecution", "conversation_id": "c",
        "tool_name": "read_file", "tool_input": "{\"path\":\"/x\"}",
        "url": "https://a.example/mcp"});
    let expected = ("mcp__https---a-example-mcp__read_file".to_owned(), json!({"path": "/x"}));
    assert_eq!(call(&event), expected);
    let mut odd = event.clone();
    odd["tool_input"] = json!("not json");
    assert_eq!(call(&odd).1, json!({"input": "not json"}));
}

#[test]
fn only_its_own_events_are_read_and_everything_else_is_blocked() {
    for event in ["preToolUse", "afterFileEdit", ""] {
        let stdin = json!({"hook_event_name": event, "conversation_id": "c", "command": "ls"});
        let read = read(stdin.to_string().as_bytes());
        assert!(matches!(read, Ok(HookEvent::Misplaced { .. })), "{event}: {read:?}");
    }
    for garbage in [
        "",
        "{\"hook_event_name\":\"beforeShellExecution\"}",
        "{\"hook_event_name\":\"beforeShellExecution\",\"conversation_id\":\"c\"}",
        "{\"hook_event_name\":\"beforeMCPExecution\",\"conversation_id\":\"c\"}",
    ] {
        assert!(read(garbage.as_bytes()).is_err(), "{garbage}");
    }
}
