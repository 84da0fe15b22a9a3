//! `/v1/asks/{id}/token` and `/v1/executions`: execution bound to the answer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A token for an approved call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenReply {
    /// The execution token: exactly this call may run, once.
    pub token: String,
    /// Until when it may start, RFC 3339.
    pub expires: String,
}

/// A report that the call of a token starts now, or has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExecutionRequest {
    /// The execution token.
    pub token: String,
    /// The exit code, where the call has ended; absent where it starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
}

/// What was noted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExecutionReply {
    /// The ask whose call it is.
    pub ask: String,
}
