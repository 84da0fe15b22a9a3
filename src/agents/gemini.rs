//! Gemini CLI: a hook before every tool, which can only stop a call.

use crate::{
    agent::{
        A_DAY_S, AgentTitle, HookEvent, HookLimit, HookMode, HookReply, Overdue, TRIAL, TRIAL_SAYS,
    },
    description::{AgentDescription, HookText, Silence},
    hook_call::{EventNames, HookCall, ToolDecision, ToolEvent},
    hook_files,
    journal::Journal,
    json_settings::{Comments, HookEntry, HookNesting, JsonSettings},
};
use serde_json::{Value, json};

const NAME: &str = "gemini";

/// The event that this hook decides.
const EVENT: &str = "BeforeTool";

const NAMES: EventNames =
    EventNames { agent: NAME, fields: &["hook_event_name"], events: &[EVENT] };

const SETTINGS: JsonSettings = JsonSettings {
    name: NAME,
    title: "Gemini CLI",
    comments: Comments::Read,
    nesting: HookNesting::Groups,
};

/// Gemini CLI.
pub const GEMINI: AgentDescription = AgentDescription {
    name: NAME,
    title: AgentTitle {
        name: "Gemini CLI",
        versions: "0.61.0 or newer",
        connected: "This is a gate: every call passes your rules first, and without a daemon or an \
                    answer nothing runs. It cannot answer Gemini's own prompt, which comes after \
                    an approval; start it with --approval-mode=yolo to be asked once.",
    },
    program: Some("gemini"),
    home: || Ok(hook_files::folder("GEMINI_CLI_HOME", "")?.join(".gemini")),
    traces: &[],
    file: "settings.json",
    project: &[],
    hooks: HookText::Settings(SETTINGS, entries, ""),
    modes: &[HookMode::EveryCall],
    // Its own default is a minute.
    limit: |_| Some(HookLimit::written(Overdue::Runs)),
    process_variable: None,
    sample: |session, _| {
        json!({"hook_event_name": EVENT, "session_id": session, "tool_name": "run_shell_command",
            "tool_input": {"command": TRIAL, "description": TRIAL_SAYS}})
    },
    read: |stdin, _| read(stdin),
    encode: |_| encode,
    // FAIL-CLOSED: without stdout Gemini reads JSON off stderr, whatever ended the hook. So a question
    // needs a word too, or it reads that denial.
    spoken: &[Silence::Noticed, Silence::Killed],
};

fn entries(command: &str, _mode: HookMode) -> Vec<HookEntry> {
    let handler = json!({
        "name": "countersign", "type": "command", "command": command, "timeout": A_DAY_S * 1000});
    vec![HookEntry { event: EVENT, matcher: Some(".*"), handlers: vec![handler] }]
}

// FAIL-CLOSED: whatever is not understood is an error or misplaced, and both block.
fn read(stdin: &[u8]) -> Result<HookEvent, String> {
    NAMES.read(stdin, |_, request: ToolEvent| {
        // It only asks the person at the terminal.
        if request.tool_name == "ask_user" {
            return Ok(HookEvent::Notice);
        }
        // Escape leaves the hook alone, and Gemini waits for it on.
        let journal = request.transcript_path.clone().map(|file| {
            Journal::new(file, |line| {
                let is =
                    |key: &str, text: &str| line.get(key).and_then(Value::as_str) == Some(text);
                is("type", "info") && is("content", "Request cancelled.")
            })
        });
        Ok(HookEvent::Wants(Box::new(HookCall { journal, ..request.wanted(NAME, encode) })))
    })
}

fn encode(decision: &ToolDecision) -> HookReply {
    HookReply::Print(match decision {
        ToolDecision::Allow => json!({"decision": "allow"}),
        ToolDecision::Deny { message, .. } => json!({"decision": "deny", "reason": message}),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]
    use super::*;
    use crate::agent::HookAgent;

    const COMMAND: &str = "/opt/countersign hook gemini";

    #[test]
    fn the_hook_stands_beside_those_of_others_with_its_time_limit_in_milliseconds() {
        let theirs = "{\n  // mine\n  \"hooks\": {\n    \"BeforeTool\": [\n      { \"matcher\": \
                  \"a\", \"hooks\": [{ \"type\": \"command\", \"command\": \"lint\" }] }\n    ]\n  \
                  }\n}\n";
        let connected = GEMINI.connect(theirs, COMMAND, HookMode::EveryCall).unwrap();
        let hook = json!({"name": "countersign", "type": "command", "command": COMMAND,
        "timeout": 86_400_000});
        let settings: Value =
            jsonc_parser::parse_to_serde_value(&connected, &jsonc_parser::ParseOptions::default())
                .unwrap();
        assert_eq!(settings["hooks"]["BeforeTool"][1], json!({"matcher": ".*", "hooks": [hook]}));
        assert!(connected.contains("// mine"), "{connected}");
        assert_eq!(GEMINI.disconnect(&connected), Ok(theirs.to_owned()));
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
        let asks =
            json!({"hook_event_name": "BeforeTool", "session_id": "s", "tool_name": "ask_user"});
        assert!(matches!(read(asks.to_string().as_bytes()), Ok(HookEvent::Notice)));
        assert_eq!(GEMINI.noticed(), HookReply::Print(json!({"decision": "allow"})));
    }
}
