//! `?wait=S`: how long a request is held for the answer of its ask.

use serde::Deserialize;
use std::time::Duration;

/// The longest that one request is held; seconds.
const LONGEST_WAIT: u64 = 60;

#[derive(Debug, Deserialize)]
pub(super) struct Wait {
    /// Seconds.
    wait: Option<u64>,
    /// Whether the ask comes with its card.
    #[serde(default)]
    pub(super) card: bool,
}

impl Wait {
    pub(super) fn longest(&self) -> Duration {
        Duration::from_secs(self.wait.unwrap_or(0).min(LONGEST_WAIT))
    }
}
