//! What molf's clients are told about approvals.

use serde::Serialize;
use serde_json::Value;

use countersign_policy::call::Call;

/// What clients are told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ApprovalEvent {
    /// A call waits for a person.
    ToolApprovalRequired {
        /// What to answer with.
        approval_id: String,
        /// The tool.
        tool_name: String,
        /// Its arguments as a JSON text.
        arguments: String,
        /// The conversation.
        session_id: String,
    },
    /// It no longer does.
    ToolApprovalResolved {
        /// Which.
        approval_id: String,
        /// How it ended.
        outcome: ApprovalResolution,
        /// The conversation.
        session_id: String,
    },
}

/// How an approval ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalResolution {
    /// The call may run.
    Approved,
    /// It may not.
    Denied,
    /// Nobody waits for it any more.
    Cancelled,
}

/// The event that opens an approval, and that is sent again to clients that come back.
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
