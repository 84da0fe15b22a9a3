//! The events of an engine for its host.

use super::ResumeToken;
use countersign_policy::exact_json;
use countersign_profiles::wcore::Category;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An event of an engine that concerns approvals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EngineEvent {
    /// The engine accepts messages.
    Ready {
        /// The engine's session, if it has one.
        session_id: Option<String>,
        /// Its capabilities.
        #[serde(default)]
        capabilities: Value,
    },
    /// A call waits for an answer.
    ToolRequest(ToolRequest),
    /// A call that needs no approval runs.
    CallAnnounced(ToolRequest),
    /// A call runs.
    ToolRunning {
        /// The call.
        call_id: String,
    },
    /// A call ended.
    ToolResult {
        /// The call.
        call_id: String,
    },
    /// A call was denied, or its turn is over.
    ToolCancelled {
        /// The call.
        call_id: String,
    },
    /// A request waits for a decision out of band.
    ApprovalRequired(Suspension),
    /// The engine waits for that decision.
    Suspend {
        /// The reason.
        #[serde(default)]
        reason: String,
        /// The secret of the decision.
        resume_token: ResumeToken,
    },
    /// The decision was made, by anyone.
    ApprovalResume {
        /// Its secret.
        resume_token: ResumeToken,
        /// The decision.
        approved: bool,
    },
    /// An event that does not concern approvals.
    #[serde(skip)]
    Other,
}

/// A call in a `tool_request`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolRequest {
    /// The message that it belongs to.
    #[serde(default)]
    pub msg_id: String,
    /// Its id; the answer refers to it.
    pub call_id: String,
    /// The call itself.
    pub tool: Tool,
}

/// A tool with its arguments.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Its category; a tool without one executes.
    #[serde(default = "exec")]
    pub category: Category,
    /// Its arguments.
    #[serde(default)]
    pub args: Value,
    /// The engine's description of the call.
    #[serde(default)]
    pub description: String,
    /// The reason for asking about a tool that otherwise needs no approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escalation: Option<Escalation>,
}

/// A call that reaches outside the workspace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Escalation {
    /// The kind of boundary that it crosses.
    pub kind: String,
    /// The path or resource behind it.
    pub target: String,
    /// The kind of access.
    pub access: String,
    /// The directory that a permanent approval would open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggested_root: Option<String>,
}

/// A decision that is wanted out of band.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Suspension {
    /// The call that it belongs to.
    #[serde(default)]
    pub call_id: String,
    /// The secret for the answer; empty for an ordinary call.
    #[serde(default = "no_token")]
    pub resume_token: ResumeToken,
    /// The public handle.
    #[serde(default)]
    pub correlation_id: String,
    /// The reason.
    #[serde(default)]
    pub reason: String,
    /// The subject of the decision.
    #[serde(default)]
    pub context: String,
}

/// The way in which an `approval_required` is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerRoute {
    /// With `tool_approve` or `tool_deny`: it goes with the `tool_request` of the same call.
    ByCall,
    /// With `approval_resume` and this secret.
    ByToken(ResumeToken),
}

const KNOWN: &[&str] = &[
    "ready",
    "tool_request",
    "call_announced",
    "tool_running",
    "tool_result",
    "tool_cancelled",
    "approval_required",
    "suspend",
    "approval_resume",
];

/// What can be read of an event whose values cannot.
#[derive(Deserialize)]
struct EventHead {
    #[serde(rename = "type")]
    kind: String,
    call_id: Option<String>,
}

impl EngineEvent {
    /// Reads a line; one that is not about approvals, or no JSON, is [`Self::Other`].
    ///
    /// # Errors
    /// A sentence, for a line about approvals that cannot be read, and its call where it names one.
    pub fn read(line: &str) -> Result<Self, (String, Option<String>)> {
        let value: Value = match exact_json::from_str(line) {
            Ok(value) => value,
            // FAIL-CLOSED: a call may stand in it, as one of its readers sees it.
            Err(error) => {
                return match serde_json::from_str::<EventHead>(line) {
                    Ok(head) if KNOWN.contains(&head.kind.as_str()) => {
                        Err((format!("`{}`: {error}", head.kind), head.call_id))
                    }
                    _ => Ok(Self::Other),
                };
            }
        };
        let Some(kind) = value.get("type").and_then(Value::as_str).map(str::to_owned) else {
            return Ok(Self::Other);
        };
        if !KNOWN.contains(&kind.as_str()) {
            return Ok(Self::Other);
        }
        // Kept for the error: a request that cannot be read can still be denied.
        let call = value.get("call_id").and_then(Value::as_str).map(str::to_owned);
        serde_json::from_value(value).map_err(|error| (format!("`{kind}`: {error}"), call))
    }
}

impl Suspension {
    /// A decision of which only the reason is known.
    #[must_use]
    pub fn bare(reason: String, resume_token: ResumeToken) -> Self {
        let (call_id, correlation_id, context) = Default::default();
        Self { call_id, resume_token, correlation_id, reason, context }
    }

    /// Returns the way to answer it. An engine that always waits for `approval_resume` sends a
    /// secret.
    #[must_use]
    pub fn answering(&self) -> AnswerRoute {
        match self.resume_token.reveal() {
            "" => AnswerRoute::ByCall,
            _ => AnswerRoute::ByToken(self.resume_token.clone()),
        }
    }
}

fn exec() -> Category {
    Category::Exec
}

fn no_token() -> ResumeToken {
    ResumeToken::new("")
}
