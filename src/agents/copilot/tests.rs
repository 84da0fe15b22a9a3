#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests fail by panicking"
)]
use super::*;

const COMMAND: &str = "'/opt/my bin/countersign' hook copilot";

#[test]
fn the_file_holds_one_hook_with_a_time_limit_and_is_removed_only_if_it_is_ours() {
    let text = Copilot.connect("", COMMAND, HookMode::Prompts).unwrap();
    let hook = json!({"type": "command", "bash": COMMAND, "timeoutSec": 86400});
    let expected = json!({"version": 1, "hooks": {"permissionRequest": [hook]}});
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expected);
    assert_eq!(Copilot.disconnect(&text), Ok(String::new()));
    for theirs in [
        "{}",
        "// mine",
        r#"{"version":1,"hooks":{"permissionRequest":[{"type":"command","bash":"lint"}]}}"#,
        &text.replace("\"permissionRequest\": [", "\"preToolUse\": [], \"permissionRequest\": ["),
    ] {
        let refused = Copilot.connect(theirs, COMMAND, HookMode::Prompts).unwrap_err();
        let why = "1:1: this is not what `countersign connect copilot` writes; move it away first";
        assert_eq!(refused, why, "{theirs}");
        assert_eq!(Copilot.disconnect(theirs), Ok(theirs.to_owned()));
    }
}

#[test]
fn an_event_other_than_a_permission_request_is_blocked() {
    for event in [
        json!({"hookName": "preToolUse", "sessionId": "s", "toolName": "bash"}),
        json!({"hook_event_name": "PreToolUse", "tool_name": "bash"}),
        json!({"toolName": "bash"}),
    ] {
        let read = read(event.to_string().as_bytes());
        assert!(matches!(read, Ok(HookEvent::Misplaced { .. })), "{event}: {read:?}");
    }
    for garbage in ["", "[]", "{\"hookName\":\"permissionRequest\"}"] {
        assert!(read(garbage.as_bytes()).is_err(), "{garbage}");
    }
}
