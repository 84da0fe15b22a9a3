//! The events about approvals that molf's clients get.

use serde::Serialize;
use serde_json::Value;

use countersign_policy::call::Call;

/// An event for clients.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ApprovalEvent {
    /// A call waits for a person.
    ToolApprovalRequired {
        /// The id to answer with.
        approval_id: String,
        /// The tool.
        tool_name: String,
        /// The arguments as a JSON text.
        arguments: String,
        /// The conversation.
        session_id: String,
    },
    /// A call no longer waits.
    ToolApprovalResolved {
        /// The id.
        approval_id: String,
        /// The resolution.
        outcome: ApprovalResolution,
        /// The conversation.
        session_id: String,
    },
}

/// The way in which an approval ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalResolution {
    /// The call may run.
    Approved,
    /// The call may not run.
    Denied,
    /// Nobody waits for the call any more.
    Cancelled,
}

/// Returns the event that opens an approval, which clients get again when they reconnect.
pub(super) fn required(id: &str, call: &Call, session: &str) -> ApprovalEvent {
    ApprovalEvent::ToolApprovalRequired {
        approval_id: id.to_owned(),
        tool_name: call.tool.clone(),
        arguments: match &call.args {
            Value::Null => "{}".to_owned(),
            args => args.to_string(),
        },
        session_id: session.to_owned(),
    }
}
