//! Claude Code's events: those that this hook serves, and those that only inform it.

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
