//! Errors of the client.

/// The daemon gave no answer. None of these errors ever permits a call.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No connection could be made.
    #[error("no countersign daemon at {server}: {why}; start one with `countersign serve`")]
    Unreachable {
        /// The daemon's address.
        server: String,
        /// The system's error.
        why: String,
    },
    /// The connection was lost after the request was sent.
    #[error("the daemon at {server} went away: {why}")]
    Lost {
        /// The daemon's address.
        server: String,
        /// The system's error.
        why: String,
    },
    /// The token is missing, wrong, or insufficient.
    #[error("{0}")]
    Refused(String),
    /// The daemon refused the request.
    #[error("{0}")]
    Rejected(String),
    /// The agent or session is over a limit of the daemon, so nobody was asked.
    #[error("{0}")]
    TooMuch(String),
    /// The reply cannot be understood; it never counts as an approval.
    #[error("the daemon at {server} gave an answer that this version cannot read: {why}")]
    Unreadable {
        /// The daemon's address.
        server: String,
        /// What is wrong with the reply.
        why: String,
    },
    /// The client could not be set up.
    #[error("{0}")]
    SetUp(String),
}
