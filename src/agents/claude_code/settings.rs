//! Our entries in Claude Code's settings file.

use super::super::{
    agent::{A_DAY_S, HookMode, Hooks},
    json_settings::{Comments, HookEntry, HookNesting, JsonSettings},
};
use serde_json::{Value, json};
use std::path::Path;

/// The events that we hook. The first is decided; the others report that a call is over.
const EVENTS: [&str; 5] =
    ["PermissionRequest", "PostToolUse", "PostToolUseFailure", "Stop", "SessionEnd"];
/// The event of every call, before it runs.
const GATE: &str = "PreToolUse";
/// The option of the hook of that event.
const GATE_OPTION: &str = " --gate";

const SETTINGS: JsonSettings = JsonSettings {
    name: super::NAME,
    title: "Claude Code",
    comments: Comments::Refused,
    nesting: HookNesting::Groups,
};

/// The settings with our hooks, which run `command`. Existing hooks of ours are replaced;
/// everything else is unchanged, including order and layout.
///
/// # Errors
/// A sentence with line and column, if the text is not valid for Claude Code.
pub fn connect(text: &str, command: &str, mode: HookMode) -> Result<String, String> {
    let gate = Some(GATE).filter(|_| mode == HookMode::EveryCall);
    let entry = |event| HookEntry {
        event,
        // Events without a tool take no matcher.
        matcher: Some("*").filter(|_| !matches!(event, "Stop" | "SessionEnd")),
        handler: handler(event, command),
    };
    let entries: Vec<_> = EVENTS.into_iter().chain(gate).map(entry).collect();
    SETTINGS.connect(text, &entries)
}

/// The settings without our hooks; everything else is unchanged.
///
/// # Errors
/// As [`connect`].
pub fn disconnect(text: &str) -> Result<String, String> {
    SETTINGS.disconnect(text)
}

/// Our hooks; `None` without any.
///
/// # Errors
/// As [`connect`].
pub fn installed(text: &str) -> Result<Option<Hooks>, String> {
    let hooks = SETTINGS.hooks(text)?;
    let complete = EVENTS.iter().all(|event| hooks.iter().any(|(there, _)| there == event));
    let gates = hooks.iter().any(|(there, _)| there == GATE);
    let mode = if gates { HookMode::EveryCall } else { HookMode::Prompts };
    let command = hooks.first().and_then(|(_, hook)| hook.get("command")?.as_str());
    Ok(command.map(|command| Hooks {
        command: command.strip_suffix(GATE_OPTION).unwrap_or(command).to_owned(),
        mode,
        complete,
    }))
}

/// The commands of other programs that decide on Claude Code's prompts.
pub fn others(text: &str) -> Vec<String> {
    SETTINGS.others(text, EVENTS[0])
}

/// Whether this file switches all hooks off.
pub fn no_hooks(file: &Path) -> bool {
    let settings = std::fs::read(file).ok().and_then(|text| serde_json::from_slice(&text).ok());
    settings.is_some_and(|it: Value| it.get("disableAllHooks") == Some(&Value::Bool(true)))
}

fn handler(event: &str, command: &str) -> Value {
    match event {
        "PermissionRequest" => json!({
            "type": "command",
            "command": command,
            "timeout": A_DAY_S,
            "statusMessage": "Waiting for countersign",
        }),
        // Without `onFailure` a call runs whose hook was killed or took too long.
        GATE => json!({
            "type": "command",
            "command": format!("{command}{GATE_OPTION}"),
            "timeout": A_DAY_S,
            "onFailure": "block",
            "statusMessage": "Waiting for countersign",
        }),
        // `async`: these events only inform, and Claude must not wait for them.
        _ => json!({"type": "command", "command": command, "async": true}),
    }
}

#[cfg(test)]
mod tests;
