//! The end of a call, and the text for the model.

use countersign_policy::exact_json;
use serde_json::{Value, json};

/// The result of an approval request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum ApprovalResponse {
    /// The call may run.
    Approved,
    /// A person denied the call, with a reason.
    Denied(String),
    /// Nobody answered in time, and silence does not approve.
    TimedOut,
}

/// The outcome of a call for the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum CallOutcome {
    /// It runs.
    Run,
    /// The call does not run; the model reads this text instead of a result.
    Skip(String),
}

impl ApprovalResponse {
    /// Returns the text for the model about a tool that does not run; `None` when it runs.
    #[must_use]
    pub fn told(&self, tool: &str) -> Option<String> {
        match self {
            Self::Approved => None,
            Self::Denied(reason) => {
                Some(format!("Tool '{tool}' was denied by user approval. {reason}"))
            }
            Self::TimedOut => {
                Some(format!("Tool '{tool}' approval timed out and was not executed."))
            }
        }
    }
}

/// Returns the outcome of a handler's answer. Without a handler nobody can be asked, so the call is
/// skipped. In a session that its own user trusts at their own terminal, nobody is asked.
pub fn outcome(
    tool: &str,
    args: &Value,
    requires: bool,
    trusted_local: bool,
    handled: Option<&ApprovalResponse>,
) -> CallOutcome {
    if !requires || trusted_local {
        return CallOutcome::Run;
    }
    let told = match handled {
        Some(response) => response.told(tool),
        // zeptoclaw installs no handler for its chats, so there every such call is skipped.
        None => Some(unasked(tool, args)),
    };
    told.map_or(CallOutcome::Run, CallOutcome::Skip)
}

/// Returns the text for the model about a call when nobody could be asked.
#[must_use]
pub fn unasked(tool: &str, args: &Value) -> String {
    let prompt = prompt(tool, args);
    format!("Tool '{tool}' requires user approval and was not executed. {prompt}")
}

/// Returns the question that a person reads.
#[must_use]
pub fn prompt(tool: &str, args: &Value) -> String {
    let args = serde_json::to_string_pretty(args).unwrap_or_else(|_| args.to_string());
    format!("[Approval Required]\nTool: {tool}\nArguments:\n{args}\n\nApprove execution? (yes/no)")
}

/// Reads the arguments that a model wrote; invalid JSON is shown as an error.
#[must_use]
pub fn arguments(written: &str) -> Value {
    exact_json::from_str(written).unwrap_or_else(
        |error| json!({ "_parse_error": format!("Invalid arguments JSON: {error}") }),
    )
}
