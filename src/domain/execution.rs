//! What became of an approved call, where its caller reports it.

use serde::{Deserialize, Serialize};

/// An approved call that was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Execution {
    /// When, Unix milliseconds.
    pub started_at: i64,
    /// Under which id its agent started it, where that has one: see [`Call::id_at_agent`].
    ///
    /// [`Call::id_at_agent`]: crate::call::Call::id_at_agent
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_call: Option<String>,
    /// How it ended; absent while it runs, and where nobody reported it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<ExecutionEnd>,
}

/// The end of a call that ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutionEnd {
    /// When, Unix milliseconds.
    pub at: i64,
    /// Its exit code.
    pub exit: i32,
}
