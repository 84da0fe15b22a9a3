//! Cursor: hooks before each command and each MCP call. Known from its documentation only.

use crate::{
    agent::{A_DAY_S, AgentTitle, HookEvent, HookLimit, HookMode, HookReply, Overdue, TRIAL},
    description::{AgentDescription, HookText},
    hook_call::{EventNames, HookCall, ToolDecision},
    hook_files,
    json_settings::{Comments, HookEntry, HookNesting, JsonSettings},
};
use countersign_domain::exact_json;
use serde::Deserialize;
use serde_json::{Map, Value, json};

const NAME: &str = "cursor";

/// The events that this hook decides.
const EVENTS: [&str; 2] = [SHELL, "beforeMCPExecution"];

/// The event of a command.
const SHELL: &str = "beforeShellExecution";

const NAMES: EventNames = EventNames { agent: NAME, fields: &["hook_event_name"], events: &EVENTS };

const SETTINGS: JsonSettings = JsonSettings {
    name: NAME,
    title: "Cursor",
    comments: Comments::Read,
    nesting: HookNesting::Flat,
};

/// A file without hooks.
const EMPTY: &str = "{\n  \"version\": 1\n}\n";

/// Cursor.
pub const CURSOR: AgentDescription = AgentDescription {
    name: NAME,
    title: AgentTitle {
        name: "Cursor",
        versions: "2.0 or newer, by its documentation; not tried",
        connected: "This is a gate for its commands and MCP calls: each passes your rules first, \
                    and without a daemon or an answer it does not run. Its own edits of files do \
                    not come here. Cursor's own prompt may follow an approval.",
    },
    program: None,
    home: || hook_files::home(".cursor"),
    traces: &[],
    file: "hooks.json",
    project: &[],
    hooks: HookText::Settings(SETTINGS, entries, EMPTY),
    modes: &[HookMode::EveryCall],
    limit: |_| Some(HookLimit::written(Overdue::Blocks)),
    process_variable: None,
    sample: |session, _| json!({"hook_event_name": SHELL, "conversation_id": session, "command": TRIAL}),
    read: |stdin, _| read(stdin),
    encode: |_| encode,
    spoken: &[],
};

fn entries(command: &str, _mode: HookMode) -> Vec<HookEntry> {
    // Without `failClosed` a call runs whose hook was killed or took too long.
    let handler = json!({"command": command, "timeout": A_DAY_S, "failClosed": true});
    let entry = |event| HookEntry { event, matcher: None, handlers: vec![handler.clone()] };
    EVENTS.map(entry).into()
}

#[derive(Deserialize)]
struct CursorRequest {
    conversation_id: String,
    #[serde(default)]
    workspace_roots: Vec<String>,
    cwd: Option<String>,
    command: Option<String>,
    url: Option<String>,
    tool_name: Option<String>,
    #[serde(default)]
    tool_input: Value,
}

// FAIL-CLOSED: whatever is not understood is an error or misplaced, and both block.
fn read(stdin: &[u8]) -> Result<HookEvent, String> {
    NAMES.read(stdin, |event, request: CursorRequest| {
        let (tool, args) = if event == SHELL {
            let command = request.command.as_deref().ok_or("the event names no command")?;
            ("Shell".to_owned(), json!({"command": command}))
        } else {
            mcp(&request)?
        };
        // Cursor sends an empty folder where the command runs in the workspace.
        let cwd = request.cwd.filter(|cwd| !cwd.is_empty());
        let cwd = cwd.or_else(|| request.workspace_roots.into_iter().next());
        let call = HookCall::new(NAME, request.conversation_id, cwd, (tool, args), encode);
        Ok(HookEvent::Wants(Box::new(call)))
    })
}

/// The MCP tool and its arguments.
// SECURITY: a server chooses the names of its tools, so they are marked as an MCP tool's.
fn mcp(request: &CursorRequest) -> Result<(String, Value), String> {
    let tool = request.tool_name.as_deref().ok_or("the event names no tool")?;
    let input = match &request.tool_input {
        Value::String(text) => match exact_json::from_str(text) {
            Err(error) if error.is_data() => return Err(format!("`tool_input`: {error}")),
            input => input.unwrap_or_else(|_| json!(text)),
        },
        other => other.clone(),
    };
    let input = match input {
        Value::Object(input) => input,
        Value::Null => Map::new(),
        other => Map::from_iter([("input".to_owned(), other)]),
    };
    let server = request.url.as_deref().or(request.command.as_deref()).unwrap_or("unknown");
    let name: String =
        server.chars().map(|it| if it.is_alphanumeric() { it } else { '-' }).collect();
    Ok((format!("mcp__{}__{tool}", name.trim_matches('-')), input.into()))
}

fn encode(decision: &ToolDecision) -> HookReply {
    HookReply::Print(match decision {
        ToolDecision::Allow => json!({"permission": "allow"}),
        ToolDecision::Deny { message, .. } => {
            json!({"permission": "deny", "user_message": message, "agent_message": message})
        }
    })
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        clippy::indexing_slicing,
        clippy::panic,
        reason = "tests fail by panicking"
    )]
    use super::*;
    use crate::agent::HookAgent;

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
        let text = CURSOR.connect("", COMMAND, HookMode::EveryCall).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expected);
        let theirs = "{\n  \"version\": 1,\n  \"hooks\": {\n    \"beforeShellExecution\": [\n      { \
                  \"command\": \"lint\" }\n    ]\n  }\n}\n";
        let connected = CURSOR.connect(theirs, COMMAND, HookMode::EveryCall).unwrap();
        assert!(connected.contains("\"command\": \"lint\""), "{connected}");
        assert_eq!(CURSOR.disconnect(&connected), Ok(theirs.to_owned()));
        let weak = connected.replace("\"failClosed\": true", "\"failClosed\": false");
        assert_ne!(CURSOR.connect(&weak, COMMAND, HookMode::EveryCall), Ok(weak.clone()));
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
}
