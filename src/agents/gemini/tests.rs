#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]
use super::*;

const COMMAND: &str = "/opt/countersign hook gemini";

#[test]
fn the_hook_stands_beside_those_of_others_with_its_time_limit_in_milliseconds() {
    let theirs = "{\n  // mine\n  \"hooks\": {\n    \"BeforeTool\": [\n      { \"matcher\": \
                  \"a\", \"hooks\": [{ \"type\": \"command\", \"command\": \"lint\" }] }\n    ]\n  \
                  }\n}\n";
    let connected = Gemini.connect(theirs, COMMAND, HookMode::EveryCall).unwrap();
    let hook = json!({"name": "countersign", "type": "command", "command": COMMAND,
        "timeout": 86_400_000});
    let settings: Value =
        jsonc_parser::parse_to_serde_value(&connected, &jsonc_parser::ParseOptions::default())
            .unwrap();
    assert_eq!(settings["hooks"]["BeforeTool"][1], json!({"matcher": ".*", "hooks": [hook]}));
    assert!(connected.contains("// mine"), "{connected}");
    assert_eq!(Gemini.disconnect(&connected), Ok(theirs.to_owned()));
}

#[test]
fn only_its_own_event_is_read_and_everything_else_is_blocked() {
    for event in ["AfterTool", "BeforeAgent", ""] {
        let stdin = json!({"hook_event_name": event, "session_id": "s", "tool_name": "x"});
        let read = read(stdin.to_string().as_bytes());
        assert!(matches!(read, Ok(HookEvent::Misplaced { .. })), "{event}: {read:?}");
    }
    for garbage in ["", "{", "{\"hook_event_name\":\"BeforeTool\"}"] {
        assert!(read(garbage.as_bytes()).is_err(), "{garbage}");
    }
    let asks = json!({"hook_event_name": "BeforeTool", "session_id": "s", "tool_name": "ask_user"});
    assert!(matches!(read(asks.to_string().as_bytes()), Ok(HookEvent::Notice)));
}
