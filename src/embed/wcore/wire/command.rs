//! What a host tells an engine.

use super::ResumeToken;
use countersign_profiles::wcore::{ApprovalScope, SessionMode};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A line from a host to an engine, as far as it is about approvals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Command {
    /// A call may run.
    ToolApprove {
        /// The call.
        call_id: String,
        /// What else may.
        #[serde(default)]
        scope: ApprovalScope,
        /// The answer, when the call is a question.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<String>,
    },
    /// A call must not run.
    ToolDeny {
        /// The call.
        call_id: String,
        /// Why, for the model.
        #[serde(default)]
        reason: String,
    },
    /// A suspended request is decided.
    ApprovalResume {
        /// The secret that came with it.
        resume_token: ResumeToken,
        /// Whether it may go on.
        approved: bool,
        /// What the host changed or added.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        modifications: Option<Value>,
    },
    /// The session's mode changes.
    SetMode {
        /// The mode.
        mode: SessionMode,
    },
    /// Is anybody there?
    Ping,
}

/// Why a line is no command that is known here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Mistake {
    /// It is of another type; the engine may know it.
    #[error("`{0}` is no command about approvals")]
    Other(String),
    /// It is one about approvals, or should be, and cannot be read.
    #[error("{0}")]
    Malformed(String),
}

/// Commands that have nothing to do with approvals.
const KNOWN: &[&str] = &["tool_approve", "tool_deny", "approval_resume", "set_mode", "ping"];

impl Command {
    /// Reads a line.
    ///
    /// # Errors
    /// [`Mistake`]
    // FAIL-CLOSED: an unknown scope or mode is a mistake; nothing is taken for `once` or `default`.
    pub fn read(line: &str) -> Result<Self, Mistake> {
        let malformed = |error: &dyn std::fmt::Display| Mistake::Malformed(error.to_string());
        let value: Value = serde_json::from_str(line).map_err(|error| malformed(&error))?;
        let kind = value.get("type").and_then(Value::as_str);
        let kind = kind.ok_or_else(|| malformed(&"a command is an object with a `type`"))?;
        if !KNOWN.contains(&kind) {
            return Err(Mistake::Other(kind.to_owned()));
        }
        let named = format!("`{kind}`");
        serde_json::from_value(value).map_err(|error| malformed(&format!("{named}: {error}")))
    }

    /// The line, without its end.
    #[must_use]
    pub fn line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}
