//! GitHub's Copilot CLI: a file of hooks of its own, of which one is asked for each prompt.

use crate::{
    agent::{
        A_DAY_S, AgentTitle, HookEvent, HookFile, HookLimit, HookMode, HookReply, Overdue, TRIAL,
        TRIAL_SAYS,
    },
    description::{AgentDescription, HookText, Silence},
    hook_call::{EventNames, HookCall, ToolDecision, ToolEvent},
    hook_files::{self, OwnFile},
    journal::Journal,
};
use countersign_domain::call::Accepts;
use serde_json::{Value, json};
use std::path::PathBuf;

const NAME: &str = "copilot";

/// The event that this hook decides.
const EVENT: &str = "permissionRequest";

const NAMES: EventNames =
    EventNames { agent: NAME, fields: &["hookName", "hook_event_name"], events: &[EVENT] };

/// Copilot CLI.
pub const COPILOT: AgentDescription = AgentDescription {
    name: NAME,
    title: AgentTitle {
        name: "Copilot CLI",
        versions: "1.0.102 or newer",
        connected: "While it waits for an answer it shows \"Working\" and no prompt of its own. \
                    Without an answer in time the call is denied. While no daemon runs its own \
                    prompt comes (with -p there is none, and the call is denied; in its assisted \
                    mode a model decides). Its questions stay in the terminal.",
    },
    program: Some("copilot"),
    home,
    traces: &[],
    file: "hooks/countersign.json",
    project: &[],
    hooks: HookText::Own(OwnFile { name: NAME, kind: HookFile::Own, text, command }),
    modes: &[HookMode::Prompts],
    // Its own default is 30 s.
    limit: |_| Some(HookLimit::written(Overdue::Asks)),
    process_variable: None,
    sample: |session, _| {
        json!({"hookName": EVENT, "sessionId": session, "toolName": "bash",
            "toolInput": {"command": TRIAL, "description": TRIAL_SAYS}})
    },
    read: |stdin, _| read(stdin),
    encode: |_| encode,
    // FAIL-CLOSED: in its assisted mode a model decides where a hook is silent, and runs a call whose
    // card has expired (seen with 1.0.102). No event says which mode it is.
    spoken: &[Silence::Unanswered],
};

fn home() -> Result<PathBuf, String> {
    hook_files::folder("COPILOT_HOME", ".copilot")
}

// FAIL-CLOSED: under `preToolUse` there may be no prompt behind silence, so any other event is
// blocked.
fn read(stdin: &[u8]) -> Result<HookEvent, String> {
    NAMES.read(stdin, |_, request: ToolEvent| {
        // Escape leaves the hook alone.
        let journal = journal(&request.session_id);
        let mut wanted = HookCall { journal, ..request.wanted(NAME, encode) };
        wanted.call.accepts.push(Accepts::Stop);
        Ok(HookEvent::Wants(Box::new(wanted)))
    })
}

/// The events of a session, where Copilot keeps them.
fn journal(session: &str) -> Option<Journal> {
    // SECURITY: it is one folder's name, and not a way to another folder.
    let is_name = session.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let home = home().ok().filter(|_| is_name)?;
    let file = home.join("session-state").join(session).join("events.jsonl");
    let is_abort = |line: &Value| line.get("type").and_then(Value::as_str) == Some("abort");
    Some(Journal::new(file, is_abort))
}

fn encode(decision: &ToolDecision) -> HookReply {
    HookReply::Print(match decision {
        ToolDecision::Allow => json!({"behavior": "allow"}),
        ToolDecision::Deny { message, stop: false } => {
            json!({"behavior": "deny", "message": message})
        }
        ToolDecision::Deny { message, stop: true } => {
            json!({"behavior": "deny", "message": message, "interrupt": true})
        }
    })
}

fn text(command: &str) -> Result<String, String> {
    let hook = json!({"type": "command", "bash": command, "timeoutSec": A_DAY_S});
    let file = json!({"version": 1, "hooks": {EVENT: [hook]}});
    serde_json::to_string_pretty(&file).map(|text| text + "\n").map_err(|error| error.to_string())
}

/// The command, if it is all that the file holds.
fn command(text: &str) -> Option<String> {
    let file: Value = serde_json::from_str(text).ok()?;
    let events = file.get("hooks")?.as_object()?;
    let [hook] = events.get(EVENT)?.as_array()?.as_slice() else { return None };
    let command = hook.get("bash")?.as_str()?;
    (events.len() == 1).then(|| command.to_owned())
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

    const COMMAND: &str = "'/opt/my bin/countersign' hook copilot";

    #[test]
    fn the_file_holds_one_hook_with_a_time_limit_and_is_removed_only_if_it_is_ours() {
        let text = COPILOT.connect("", COMMAND, HookMode::Prompts).unwrap();
        let hook = json!({"type": "command", "bash": COMMAND, "timeoutSec": 86400});
        let expected = json!({"version": 1, "hooks": {"permissionRequest": [hook]}});
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expected);
        assert_eq!(COPILOT.disconnect(&text), Ok(String::new()));
        for theirs in [
            "{}",
            "// mine",
            r#"{"version":1,"hooks":{"permissionRequest":[{"type":"command","bash":"lint"}]}}"#,
            &text.replace(
                "\"permissionRequest\": [",
                "\"preToolUse\": [], \"permissionRequest\": [",
            ),
        ] {
            let refused = COPILOT.connect(theirs, COMMAND, HookMode::Prompts).unwrap_err();
            let why =
                "1:1: this is not what `countersign connect copilot` writes; move it away first";
            assert_eq!(refused, why, "{theirs}");
            assert_eq!(COPILOT.disconnect(theirs), Ok(theirs.to_owned()));
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
}
