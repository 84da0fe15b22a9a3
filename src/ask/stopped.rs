//! A deadline that stands still. Pure.

/// What is left of a deadline that stands still.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoppedClock {
    /// Milliseconds; `None` where the ask waits for ever.
    pub left_ms: Option<i64>,
}
