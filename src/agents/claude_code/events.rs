//! Claude Code's events: which this hook serves, and which only tell it something.

use crate::text::line;

/// The events that this hook serves; the first is decided here.
pub(super) const SERVED: &[&str] = &[
    "PermissionRequest",
    "PostToolUse",
    "PostToolUseFailure",
    "Stop",
    "StopFailure",
    "SessionEnd",
];

/// Events that a hook is only told of. Those that keep an agent from stopping are among them:
/// nobody asks this hook whether it may stop.
pub(super) const TELLING: &[&str] = &[
    "CwdChanged",
    "DirectoryAdded",
    "FileChanged",
    "InstructionsLoaded",
    "MessageDisplay",
    "Notification",
    "PermissionDenied",
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

/// What the model, and the person beside it, are told of an event that this hook cannot serve.
#[must_use]
pub fn misplaced(event: &str) -> String {
    format!(
        "countersign cannot decide under {}, so this is blocked. Its hook belongs under \
         PermissionRequest: `countersign connect claude-code` puts it there.",
        line(&event.chars().take(60).collect::<String>())
    )
}
