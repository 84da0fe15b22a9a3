//! A deadline that a pause has stopped. Pure.

/// What is left of a deadline that a pause has stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoppedClock {
    /// Milliseconds; `None` where the ask waits for ever.
    pub left_ms: Option<i64>,
}
