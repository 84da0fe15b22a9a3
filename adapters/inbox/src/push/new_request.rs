//! What a push message tells of.

/// A request that has just come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NewRequest {
    pub(super) card: String,
    pub(super) line: String,
    pub(super) origin: String,
    pub(super) critical: bool,
    /// Unix milliseconds.
    pub(super) deadline: Option<i64>,
}
