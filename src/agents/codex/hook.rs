//! The wire of Codex's hooks: Claude Code's shape, without the fields that Codex refuses.

use super::request::NAME;
use crate::{
    agent::{HookEvent, HookMode, HookReply},
    hook_call::{HookCall, ToolDecision},
};
use countersign_domain::exact_json;
use countersign_port::line;
use serde::Deserialize;
use serde_json::{Value, json};

/// The event of Codex's prompts.
pub(super) const PROMPT: &str = "PermissionRequest";
/// The event of every call.
pub(super) const GATE: &str = "PreToolUse";

/// Events that only inform a hook.
const TELLING: &[&str] = &[
    "Notification",
    "PostCompact",
    "PostToolUse",
    "PreCompact",
    "SessionEnd",
    "SessionStart",
    "Stop",
    "SubagentStart",
    "SubagentStop",
    "UserPromptSubmit",
];

#[derive(Deserialize)]
struct HookInput {
    session_id: String,
    #[serde(default)]
    cwd: Option<String>,
    tool_name: String,
    #[serde(default)]
    tool_input: Value,
}

/// Decodes the JSON that Codex writes to a hook's stdin.
///
/// # Errors
/// A sentence; without a gate Codex's own prompt decides then.
// FAIL-CLOSED: behind PreToolUse there is no prompt, so what is not understood there is blocked.
pub(super) fn read(stdin: &[u8], mode: HookMode) -> Result<HookEvent, String> {
    let unreadable = |error: serde_json::Error| format!("stdin is not a hook's JSON: {error}");
    let whole: Value = match exact_json::from_slice(stdin) {
        Ok(whole) => whole,
        // Unreadable JSON has no event name to check, so the name is searched for in the text.
        Err(_) if String::from_utf8_lossy(stdin).contains(GATE) => {
            return Ok(misplaced(GATE, mode));
        }
        Err(error) => return Err(unreadable(error)),
    };
    let event = whole.get("hook_event_name").and_then(Value::as_str);
    let wanted = match mode {
        HookMode::Prompts => PROMPT,
        HookMode::EveryCall => GATE,
    };
    match event {
        Some(event) if event == wanted => {}
        Some(event) if mode == HookMode::Prompts && TELLING.contains(&event) => {
            return Ok(HookEvent::Notice);
        }
        Some(event) => return Ok(misplaced(event, mode)),
        None if whole.get("tool_name").is_some() => {
            return Ok(misplaced("an event without a name", mode));
        }
        None => return Err("stdin is not a hook's JSON: it names no event".to_owned()),
    }
    let input = HookInput::deserialize(&whole).map_err(unreadable)?;
    // It only asks the person at the terminal.
    if input.tool_name == "request_user_input" {
        return Ok(HookEvent::Notice);
    }
    Ok(HookEvent::Wants(Box::new(HookCall {
        agent: NAME,
        session: input.session_id,
        cwd: input.cwd,
        tool: input.tool_name,
        args: input.tool_input,
        // `interrupt` makes the whole reply invalid.
        accepts: Vec::new(),
        journal: None,
        encode: match mode {
            HookMode::Prompts => encode_prompt,
            HookMode::EveryCall => encode_gate,
        },
    })))
}

fn encode_prompt(decision: &ToolDecision) -> HookReply {
    let decision = match decision {
        ToolDecision::Allow => json!({"behavior": "allow"}),
        ToolDecision::Deny { message, .. } => json!({"behavior": "deny", "message": message}),
    };
    let output = json!({"hookEventName": PROMPT, "decision": decision});
    HookReply::Print(json!({"hookSpecificOutput": output}))
}

/// There a hook can only deny: an approval says nothing, and Codex goes on as without it.
fn encode_gate(decision: &ToolDecision) -> HookReply {
    match decision {
        ToolDecision::Allow => HookReply::Print(json!({})),
        ToolDecision::Deny { message, .. } => HookReply::Block(message.clone()),
    }
}

/// An event that asks this hook for a decision it cannot make.
fn misplaced(event: &str, mode: HookMode) -> HookEvent {
    let (with, belongs, option) = match mode {
        HookMode::Prompts => ("", PROMPT, ""),
        HookMode::EveryCall => (" with --gate", GATE, " --gate"),
    };
    let message = format!(
        "countersign cannot decide under {}{with}, so this is blocked. That hook belongs under \
         {belongs}: `countersign connect {NAME}{option}` puts it there.",
        line(&event.chars().take(60).collect::<String>())
    );
    HookEvent::Misplaced { event: event.to_owned(), message }
}
