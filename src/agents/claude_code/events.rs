//! Claude Code's events: those that this hook serves, and those that only inform it.

use crate::hook_call::misplaced_message;
use countersign_port::line;

/// The events that this hook serves; the first is the one that it decides.
pub(super) const SERVED: &[&str] = &[
    "PermissionRequest",
    "PermissionDenied",
    "PostToolUse",
    "PostToolUseFailure",
    "Stop",
    "StopFailure",
    "SessionEnd",
];

/// Events that only inform a hook. Those with which a hook could keep an agent from stopping are
/// among them, because this hook never does so.
pub(super) const TELLING: &[&str] = &[
    "CwdChanged",
    "DirectoryAdded",
    "FileChanged",
    "InstructionsLoaded",
    "MessageDisplay",
    "Notification",
    "PostCompact",
    "PostModelSwitch",
    "PostToolBatch",
    "SessionStart",
    "Setup",
    "SubagentStart",
    "SubagentStop",
    "TaskCompleted",
    "TaskCreated",
    "TeammateIdle",
    "WorktreeRemove",
];

/// The message about an event that the hook of every call cannot serve.
#[must_use]
pub fn misplaced_gate(event: &str) -> String {
    format!(
        "countersign cannot decide under {} with --gate, so this is blocked. That hook belongs \
         under PreToolUse: `countersign connect claude-code --gate` puts it there.",
        line(&event.chars().take(60).collect::<String>())
    )
}

/// The message for the model, and the person at the terminal, about an event that this hook cannot
/// serve.
#[must_use]
pub fn misplaced(event: &str) -> String {
    misplaced_message(event, "claude-code", "PermissionRequest")
}
