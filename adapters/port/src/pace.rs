//! How fast a target takes messages.

use std::time::Duration;

/// How many messages and edits a target takes before its platform asks to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// At once.
    pub at_once: usize,
    /// In a minute, at least 1.
    pub a_minute: u32,
}

impl Pace {
    /// How long a message is left as it is before it is edited again: half of what the target takes
    /// is left to new messages.
    #[must_use]
    pub fn between_edits(self) -> Duration {
        let share = Duration::from_secs(120) / self.a_minute.max(1);
        share.max(Duration::from_secs(2))
    }
}
