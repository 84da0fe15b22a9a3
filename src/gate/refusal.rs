//! Why an attempt to answer changes nothing.

/// Why an attempt changes nothing; its words are for the presser.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Not open any more.
    #[error("{0}")]
    Closed(String),
    /// The deadline has passed, even if the row does not say so yet.
    #[error("Too late: the deadline passed at {0}, and the agent was told that nobody answered.")]
    Late(String),
    /// The answer cannot be undone any more.
    #[error("{0}")]
    Over(String),
    /// This cannot be done to this ask.
    #[error("{0}")]
    Unfit(String),
}
