//! Results of requests and answers.

/// The result of an approval.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum ToolApprovalResult {
    /// The call may run.
    Approved {
        /// The output of a question; `None` for every other tool.
        answer: Option<String>,
    },
    /// The call may not run.
    Denied {
        /// The reason, for the model.
        reason: String,
    },
}

/// The reason why a request was not registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// A request with this id is open already.
    #[error("the call {0} waits already; an id is for one call")]
    Duplicate(String),
    /// The call is invalid.
    #[error("{0}")]
    Malformed(String),
}

/// The effect of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    /// No request has this id: it never existed, or has its answer.
    Unknown,
    /// The waiter has the answer.
    Resolved,
    /// The waiter has the answer for this call only; the text gives the reason.
    ResolvedOnce(String),
}
