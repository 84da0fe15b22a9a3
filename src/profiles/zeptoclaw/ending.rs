//! How a call ends, and what the model is told.

use serde_json::{Value, json};

/// What became of an approval request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum ApprovalResponse {
    /// The call may run.
    Approved,
    /// A person said no, with their reason.
    Denied(String),
    /// Nobody answered in time, and silence does not approve.
    TimedOut,
}

/// What the agent does with a call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum CallOutcome {
    /// It runs.
    Run,
    /// It does not, and the model reads this instead of a result.
    Skip(String),
}

impl ApprovalResponse {
    /// What the model is told about a tool that does not run; `None` where it does.
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

/// What a handler's answer comes to. Without a handler nobody can be asked, so the call is skipped;
/// in a session that its own user trusts, at their own terminal, nobody is asked.
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
        None => Some(unasked(tool, args)),
    };
    told.map_or(CallOutcome::Run, CallOutcome::Skip)
}

/// What the model is told of a call that nobody could be asked about.
#[must_use]
pub fn unasked(tool: &str, args: &Value) -> String {
    let prompt = prompt(tool, args);
    format!("Tool '{tool}' requires user approval and was not executed. {prompt}")
}

/// The question that a person reads.
#[must_use]
pub fn prompt(tool: &str, args: &Value) -> String {
    let args = serde_json::to_string_pretty(args).unwrap_or_else(|_| args.to_string());
    format!("[Approval Required]\nTool: {tool}\nArguments:\n{args}\n\nApprove execution? (yes/no)")
}

/// The arguments that a model wrote; what is no JSON is shown as the mistake that it is.
#[must_use]
pub fn arguments(written: &str) -> Value {
    serde_json::from_str(written).unwrap_or_else(
        |error| json!({ "_parse_error": format!("Invalid arguments JSON: {error}") }),
    )
}
