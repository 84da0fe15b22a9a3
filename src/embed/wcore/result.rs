//! What requests and answers come to.

/// How an approval came out.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum ToolApprovalResult {
    /// The call may run.
    Approved {
        /// The output of a question; `None` for every other tool.
        answer: Option<String>,
    },
    /// It may not.
    Denied {
        /// Why, for the model.
        reason: String,
    },
}

/// Why nothing waits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// Something waits under this id already.
    #[error("the call {0} waits already; an id is for one call")]
    Duplicate(String),
    /// The call itself cannot be taken.
    #[error("{0}")]
    Malformed(String),
}

/// What an answer came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    /// Nothing waits under this id: it was never there, or has its answer.
    Unknown,
    /// The waiter has it.
    Resolved,
    /// The waiter has it, for this once: why nothing more is remembered.
    ResolvedOnce(String),
}
