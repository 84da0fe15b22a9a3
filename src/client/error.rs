//! Why the daemon gave no answer.

/// Why the daemon gave no answer. None of these ever permits anything.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody is there.
    #[error("no countersign daemon at {server}: {why}; start one with `countersign serve`")]
    Unreachable {
        /// Where it was looked for.
        server: String,
        /// What the system said.
        why: String,
    },
    /// It was there, and went away.
    #[error("the daemon at {server} went away: {why}")]
    Lost {
        /// Where it was.
        server: String,
        /// What the system said.
        why: String,
    },
    /// The token is missing, wrong, or not good enough.
    #[error("{0}")]
    Refused(String),
    /// The request was not taken.
    #[error("{0}")]
    Rejected(String),
    /// The reply makes no sense; it is never taken for a yes.
    #[error("the daemon at {server} gave an answer that this version cannot read: {why}")]
    Unreadable {
        /// Where it is.
        server: String,
        /// What is wrong with it.
        why: String,
    },
    /// The client itself could not be set up.
    #[error("{0}")]
    SetUp(String),
}
