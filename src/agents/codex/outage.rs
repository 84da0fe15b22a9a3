//! An error that Codex does not get over. It retries for ever while its model cannot be reached,
//! and tells each try with an `error`, so a run without a terminal would never end.

use crate::hosted::TICK;
use std::time::Duration;

/// The last error, and the time since the first one in a row.
#[derive(Debug)]
pub(super) struct CodexOutage {
    limit: Duration,
    error: Option<String>,
    lasts: Duration,
}

impl CodexOutage {
    /// No error so far. One that lasts for `limit` ends the run.
    pub(super) fn new(limit: Duration) -> Self {
        Self { limit, error: None, lasts: Duration::ZERO }
    }

    /// Takes in an error; returns whether it is the first in a row.
    pub(super) fn begins(&mut self, error: String) -> bool {
        self.error.replace(error).is_none()
    }

    /// Codex went on.
    pub(super) fn is_over(&mut self) {
        self.error = None;
        self.lasts = Duration::ZERO;
    }

    /// Whether the limit has passed: Codex itself may still try.
    pub(super) fn gave_up(&self) -> bool {
        self.error.is_some() && self.lasts >= self.limit
    }

    /// Takes in that a tick has passed in which nobody was asked; returns why the run ends, once it
    /// does.
    pub(super) fn tick(&mut self) -> Option<String> {
        let error = self.error.as_ref()?;
        self.lasts += TICK;
        let limit = self.limit.as_secs();
        self.gave_up().then(|| format!("Codex did not get over an error for {limit} s: {error}"))
    }
}
