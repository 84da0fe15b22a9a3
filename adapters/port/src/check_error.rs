//! Why the check of an account or a target failed.

/// Why the check of an account or a target failed. Each is a sentence that says what is wrong and
/// how to fix it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    /// The platform itself refuses the account's secret.
    #[error("{0}")]
    WrongToken(String),
    /// The platform gave no answer, or one that cannot be read. It says nothing of the secret.
    #[error("{0}")]
    Unreachable(String),
    /// The platform asks to come back later. It says nothing of the secret.
    #[error("{0}")]
    RateLimited(String),
    /// Something else.
    #[error("{0}")]
    Other(String),
}
