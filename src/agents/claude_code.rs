//! Claude Code: its hooks, their input, and the location of its settings.

mod appeal;
mod ask_rule;
mod control;
mod events;
mod gate;
pub(crate) mod request;
mod settings;
mod start_mode;
mod transcript;

pub use control::{ControlEnd, ControlSession};
pub use settings::gated as claude_gated;

use super::agent::{
    AgentStart, AgentTitle, Attendance, HookAgent, HookEvent, HookLimit, HookMode, HookReply,
    Hooks, Overdue, Retry, RetryStep, TRIAL, TRIAL_SAYS,
};
use crate::hook_call;
use countersign_domain::exact_json;
use events::{SERVED, TELLING};
use request::{NAME, PLAN, PermissionRequest};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// Claude Code.
#[derive(Debug, Clone, Copy)]
pub struct ClaudeCode;

impl HookAgent for ClaudeCode {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> AgentTitle {
        AgentTitle {
            name: "Claude Code",
            versions: "2.1.268 or newer",
            connected: "Its own prompt stays beside it, and decides alone while no daemon runs.",
        }
    }

    fn modes(&self) -> &'static [HookMode] {
        &[
            HookMode::Prompts,
            HookMode::EveryCall,
            HookMode::RuledCalls,
            HookMode::Dialogs,
            HookMode::Blocks,
        ]
    }

    fn settings_file(&self) -> Result<PathBuf, String> {
        let folder = super::hook_files::folder("CLAUDE_CONFIG_DIR", ".claude")?;
        Ok(folder.join("settings.json"))
    }

    fn connect(&self, settings: &str, command: &str, mode: HookMode) -> Result<String, String> {
        settings::connect(settings, command, mode)
    }

    // SECURITY: a project can change its own file, and so lift the rule that makes each call a dialog.
    fn unfit(&self, settings: &Path, mode: HookMode) -> Option<String> {
        let own = self.settings_file().ok()?;
        let fits = mode != HookMode::Dialogs || start_mode::is_no_projects(settings, &own);
        let why = "`--gate=dialog` belongs into your own settings or into managed ones, which no \
                   project can change: leave out --settings, or name";
        (!fits).then(|| format!("{why} {}", start_mode::MANAGED_HERE))
    }

    fn disconnect(&self, settings: &str) -> Result<String, String> {
        settings::disconnect(settings)
    }

    fn installed(&self, settings: &str) -> Result<Option<Hooks>, String> {
        settings::installed(settings)
    }

    fn program(&self) -> Option<&'static str> {
        Some("claude")
    }

    fn others(&self, settings: &str) -> Vec<String> {
        settings::others(settings)
    }

    fn switched_off(&self, settings: &Path, folder: &Path) -> Option<String> {
        let project = [".claude/settings.json", ".claude/settings.local.json"];
        settings::SETTINGS.switched_off(settings, folder, &project)
    }

    fn start(
        &self,
        settings: &Path,
        folder: &Path,
        version: Option<&str>,
        hooks: HookMode,
    ) -> Option<AgentStart> {
        Some(start_mode::read(settings, folder, version, hooks))
    }

    fn sample(&self, session: &str, mode: HookMode) -> Value {
        let event = match mode {
            HookMode::Prompts | HookMode::Dialogs => "PermissionRequest",
            HookMode::EveryCall | HookMode::RuledCalls => "PreToolUse",
            HookMode::Blocks => appeal::EVENT,
        };
        json!({"session_id": session, "hook_event_name": event, "tool_name": "Bash",
            "tool_input": {"command": TRIAL, "description": TRIAL_SAYS},
            "permission_mode": "default", "reason": TRIAL_SAYS})
    }

    fn decode(&self, stdin: &[u8], mode: HookMode) -> Result<HookEvent, String> {
        if mode.is_gate() { gate::read(stdin, mode, self.attendance()) } else { read(stdin, mode) }
    }

    fn retried(&self, stdin: &[u8]) -> Result<Option<Retry>, String> {
        appeal::retried(stdin, self.attendance())
    }

    fn release(&self, why: &str, at: RetryStep) -> HookReply {
        appeal::release(why, at)
    }

    fn attendance(&self) -> Attendance {
        appeal::attendance()
    }

    // With `onFailure` a hook that takes too long blocks.
    fn limit(&self, mode: HookMode) -> Option<HookLimit> {
        Some(HookLimit::written(match mode {
            HookMode::Prompts | HookMode::Dialogs => Overdue::Asks,
            HookMode::EveryCall | HookMode::RuledCalls | HookMode::Blocks => Overdue::Blocks,
        }))
    }

    // A shell may run between Claude Code and its hook, so the parent process need not be the
    // agent.
    fn process_variable(&self) -> Option<&'static str> {
        Some("CLAUDE_PID")
    }
}

#[derive(Deserialize)]
struct EventHead {
    #[serde(default)]
    hook_event_name: String,
    #[serde(default)]
    session_id: String,
    #[serde(default)]
    tool_name: String,
    #[serde(default)]
    tool_input: Value,
}

/// Decodes the JSON that Claude Code writes to a hook's stdin.
///
/// # Errors
/// A sentence; the hook prints nothing then, and Claude's own prompt decides.
// FAIL-CLOSED: in an event without a prompt behind it, silence would let the call run. So an event
// that asks for a decision and is no PermissionRequest is reported separately, to be blocked, even
// if little of it can be read.
fn read(stdin: &[u8], mode: HookMode) -> Result<HookEvent, String> {
    let unreadable = |error: serde_json::Error| format!("stdin is not a hook's JSON: {error}");
    let whole: Map<String, Value> = match exact_json::from_slice(stdin) {
        Ok(whole) => whole,
        // Unreadable JSON has no event name to check, so the name is searched for in the text.
        Err(_) if String::from_utf8_lossy(stdin).contains("PreToolUse") => {
            return Ok(misplaced("PreToolUse"));
        }
        Err(error) => return Err(unreadable(error)),
    };
    let asks = whole.contains_key("tool_name") || whole.contains_key("toolName");
    match whole.get("hook_event_name").and_then(Value::as_str) {
        Some(event) if SERVED.contains(&event) => {}
        Some(event) if TELLING.contains(&event) => return Ok(HookEvent::Notice),
        // An event that we do not know may be one that decides, in a newer Claude Code.
        Some(event) => return Ok(misplaced(event)),
        None if asks => return Ok(misplaced("an event without a name")),
        None => return Err("stdin is not a hook's JSON: it names no event".to_owned()),
    }
    let whole = Value::Object(whole);
    let head = EventHead::deserialize(&whole).map_err(unreadable)?;
    let EventHead { hook_event_name, session_id: session, tool_name: tool, tool_input: input } =
        head;
    Ok(match hook_event_name.as_str() {
        "PermissionRequest" => {
            let request = PermissionRequest::deserialize(&whole).map_err(unreadable)?;
            HookEvent::Wants(Box::new(request))
        }
        appeal::EVENT => match appeal::read(&whole, mode).map_err(unreadable)? {
            Some(blocked) => HookEvent::Wants(Box::new(blocked)),
            None => HookEvent::Notice,
        },
        "PostToolUse" | "PostToolUseFailure" => {
            // A plan that was approved is reported without its text.
            let input = Some(input).filter(|_| tool != PLAN);
            HookEvent::Ran { session, tool, input }
        }
        "Stop" | "StopFailure" => HookEvent::Stopped { session },
        _ => HookEvent::Ended { session },
    })
}

/// An event that asks this hook for a decision it cannot make.
fn misplaced(event: &str) -> HookEvent {
    hook_call::misplaced(event, "", NAME, "PermissionRequest")
}

#[cfg(test)]
mod tests;
