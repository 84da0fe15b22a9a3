//! How much may be open at once and how fast it may come, and the refusal of what would be more.

use std::time::Duration;

/// How much may be open at once, and how fast it may come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Asks, in all.
    pub asks: u64,
    /// Asks of one agent.
    pub asks_per_agent: u64,
    /// Asks of one session.
    pub asks_per_session: u64,
    /// New asks of one agent in a minute.
    pub asks_a_minute_per_agent: u64,
    /// New asks of one session in a minute.
    pub asks_a_minute_per_session: u64,
    /// Bytes of asks, in all.
    pub bytes: u64,
    /// Bytes of asks of one agent.
    pub bytes_per_agent: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            asks: 50_000,
            asks_per_agent: 10_000,
            asks_per_session: 1_000,
            asks_a_minute_per_agent: 1_200,
            asks_a_minute_per_session: 300,
            bytes: 64 << 20,
            bytes_per_agent: 16 << 20,
        }
    }
}

/// Why an ask is not taken now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct TooMuch {
    /// Which limit it would break, in a sentence for its caller.
    pub why: String,
    /// When to try again.
    pub after: Duration,
}
