//! The wire between an engine and its host: JSON lines with commands to the engine and events from
//! it.
//!
//! Fields of the protocol's document and later ones are both read; unknown fields are ignored. Only
//! fields that both know are written.

mod event;

pub use event::{AnswerRoute, EngineEvent, Escalation, Suspension, ToolRequest};

use countersign_policy::exact_json;
use countersign_profiles::wcore::{ApprovalScope, SessionMode};
use countersign_tokens::secret::Secret;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// The secret of a request that `approval_resume` answers; no log shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResumeToken(Secret);

impl ResumeToken {
    /// Wraps a token.
    #[must_use]
    pub fn new(token: impl Into<String>) -> Self {
        Self(Secret::new(token))
    }

    /// The token itself, for the wire.
    #[must_use]
    pub fn reveal(&self) -> &str {
        self.0.reveal()
    }
}

impl Serialize for ResumeToken {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // The host needs the token itself; only `Debug` hides it.
        serializer.serialize_str(self.reveal())
    }
}

impl<'de> Deserialize<'de> for ResumeToken {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::new)
    }
}

/// A command of a host to an engine that concerns approvals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum HostCommand {
    /// Lets a call run.
    ToolApprove {
        /// The call.
        call_id: String,
        /// The scope of the approval beyond this call.
        #[serde(default)]
        scope: ApprovalScope,
        /// The answer, if the call is a question.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<String>,
    },
    /// Denies a call.
    ToolDeny {
        /// The call.
        call_id: String,
        /// The reason, for the model.
        #[serde(default)]
        reason: String,
    },
    /// Decides a suspended request.
    ApprovalResume {
        /// The secret of the request.
        resume_token: ResumeToken,
        /// Whether it may continue.
        approved: bool,
        /// The host's changes or additions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        modifications: Option<Value>,
    },
    /// Changes the session's mode.
    SetMode {
        /// The mode.
        mode: SessionMode,
    },
    /// Checks whether the engine answers.
    Ping,
}

/// The reason why a line is not a known command.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Mistake {
    /// It has another type, which the engine may know.
    #[error("`{0}` is no command about approvals")]
    Other(String),
    /// It concerns approvals, or should, and cannot be read.
    #[error("{0}")]
    Malformed(String),
}

/// The commands that concern approvals.
const KNOWN: &[&str] = &["tool_approve", "tool_deny", "approval_resume", "set_mode", "ping"];

impl HostCommand {
    /// Parses a line.
    ///
    /// # Errors
    /// [`Mistake`]
    // FAIL-CLOSED: an unknown scope or mode is an error; nothing defaults to `once` or `default`.
    pub fn read(line: &str) -> Result<Self, Mistake> {
        let malformed = |error: &dyn std::fmt::Display| Mistake::Malformed(error.to_string());
        let value: Value = exact_json::from_str(line).map_err(|error| malformed(&error))?;
        let kind = value.get("type").and_then(Value::as_str);
        let kind = kind.ok_or_else(|| malformed(&"a command is an object with a `type`"))?;
        // Checked before serde, whose error for an unknown `type` looks like one for a malformed
        // command.
        if !KNOWN.contains(&kind) {
            return Err(Mistake::Other(kind.to_owned()));
        }
        let named = format!("`{kind}`");
        serde_json::from_value(value).map_err(|error| malformed(&format!("{named}: {error}")))
    }

    /// The line, without a line ending.
    #[must_use]
    pub fn line(&self) -> String {
        // These types always serialize.
        serde_json::to_string(self).unwrap_or_default()
    }
}
