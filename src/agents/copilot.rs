//! GitHub's Copilot CLI: a file of hooks of its own, of which one is asked for each prompt.

use super::{
    agent::{
        A_DAY_S, AgentTitle, HookAgent, HookEvent, HookFile, HookLimit, HookMode, HookReply, Hooks,
        Overdue, TRIAL, TRIAL_SAYS,
    },
    hook_call::{HookCall, ToolDecision},
    journal::Journal,
    named_event::{EventNames, HookEventRead},
    own_file::OwnFile,
};
use countersign_domain::call::Accepts;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::PathBuf;

const NAME: &str = "copilot";

/// The event that this hook decides.
const EVENT: &str = "permissionRequest";

const NAMES: EventNames =
    EventNames { agent: NAME, fields: &["hookName", "hook_event_name"], events: &[EVENT] };

const FILE: OwnFile = OwnFile { name: NAME, mode: HookMode::Prompts, text, command };

/// Copilot CLI.
#[derive(Debug, Clone, Copy)]
pub struct Copilot;

impl HookAgent for Copilot {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> AgentTitle {
        AgentTitle {
            name: "Copilot CLI",
            versions: "1.0.102 or newer",
            connected: "While it waits for an answer it shows \"Working\" and no prompt of its \
                        own. That one comes while no daemon runs and when nobody answers in time; \
                        with -p there is none, and the call is denied. Its questions stay in the \
                        terminal.",
        }
    }

    fn settings_file(&self) -> Result<PathBuf, String> {
        Ok(super::home::folder("COPILOT_HOME", ".copilot")?.join("hooks/countersign.json"))
    }

    fn hook_file(&self) -> HookFile {
        HookFile::Own
    }

    fn modes(&self) -> &'static [HookMode] {
        &[HookMode::Prompts]
    }

    fn program(&self) -> Option<&'static str> {
        Some("copilot")
    }

    fn detect(&self) -> bool {
        super::home::folder("COPILOT_HOME", ".copilot").is_ok_and(|folder| folder.exists())
    }

    fn connect(&self, text: &str, command: &str, _mode: HookMode) -> Result<String, String> {
        FILE.connect(text, command)
    }

    fn disconnect(&self, text: &str) -> Result<String, String> {
        Ok(FILE.disconnect(text))
    }

    fn installed(&self, text: &str) -> Result<Option<Hooks>, String> {
        Ok(FILE.installed(text))
    }

    fn sample(&self, session: &str, _mode: HookMode) -> Option<Value> {
        Some(json!({"hookName": EVENT, "sessionId": session, "toolName": "bash",
            "toolInput": {"command": TRIAL, "description": TRIAL_SAYS}}))
    }

    // Its own default is 30 s.
    fn limit(&self, _mode: HookMode) -> Option<HookLimit> {
        Some(HookLimit::written(Overdue::Asks))
    }

    fn decode(&self, stdin: &[u8], _mode: HookMode) -> Result<HookEvent, String> {
        read(stdin)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CopilotRequest {
    session_id: String,
    #[serde(default)]
    cwd: Option<String>,
    tool_name: String,
    #[serde(default)]
    tool_input: Value,
}

// FAIL-CLOSED: under `preToolUse` there may be no prompt behind silence, so any other event is
// blocked.
fn read(stdin: &[u8]) -> Result<HookEvent, String> {
    let request = match NAMES.read::<CopilotRequest>(stdin)? {
        HookEventRead::Ours(_, request) => request,
        HookEventRead::Other(misplaced) => return Ok(misplaced),
    };
    // Escape leaves the hook alone.
    let journal = journal(&request.session_id);
    Ok(HookEvent::Wants(Box::new(HookCall {
        agent: NAME,
        session: request.session_id,
        cwd: request.cwd,
        tool: request.tool_name,
        args: request.tool_input,
        accepts: vec![Accepts::Stop],
        journal,
        encode,
    })))
}

/// The events of a session, where Copilot keeps them.
fn journal(session: &str) -> Option<Journal> {
    // SECURITY: it is one folder's name, and not a way to another folder.
    let is_name = session.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let home = super::home::folder("COPILOT_HOME", ".copilot").ok().filter(|_| is_name)?;
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
mod tests;
