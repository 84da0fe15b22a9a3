//! How many asks a minute each agent and each session may open.
//!
//! Counted by this daemon alone, since its start: it bounds what people are sent, and holds no
//! state that a restart could lose to an agent's harm.

use std::{collections::HashMap, hash::Hash, time::Duration};
use tokio::time::Instant;

const MINUTE: Duration = Duration::from_secs(60);
/// So many keys are kept before those at rest are forgotten.
const MANY: usize = 1_024;

/// The rates of everybody with this kind of name. A minute's asks may come at once; from then on
/// one more is free with every minute's share of time.
#[derive(Debug)]
pub(super) struct Rates<K>(HashMap<K, Instant>);

impl<K> Default for Rates<K> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Hash + Eq> Rates<K> {
    /// Whether one more fits in now.
    ///
    /// # Errors
    /// How long it takes until one does.
    pub(super) fn fits(&self, key: &K, a_minute: u64) -> Result<(), Duration> {
        let Some(full_until) = self.0.get(key) else { return Ok(()) };
        let used = full_until.saturating_duration_since(Instant::now()) + share(a_minute);
        // Division rounds down, so a whole minute's asks are always within it.
        if used <= MINUTE { Ok(()) } else { Err(used - MINUTE) }
    }

    /// Counts one more.
    pub(super) fn count(&mut self, key: K, a_minute: u64) {
        let now = Instant::now();
        if self.0.len() >= MANY {
            self.0.retain(|_, full_until| *full_until > now);
        }
        let full_until = self.0.entry(key).or_insert(now);
        *full_until = (*full_until).max(now) + share(a_minute);
    }

    /// Gives one back that came to nothing.
    pub(super) fn give_back(&mut self, key: &K, a_minute: u64) {
        if let Some(full_until) = self.0.get_mut(key) {
            *full_until = full_until.checked_sub(share(a_minute)).unwrap_or(*full_until);
        }
    }
}

/// What one ask takes of a minute.
fn share(a_minute: u64) -> Duration {
    MINUTE / u32::try_from(a_minute.max(1)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_minutes_asks_may_come_at_once_and_then_one_at_a_time() {
        let mut rates = Rates::default();
        for _ in 0..7 {
            assert_eq!(rates.fits(&"a", 7), Ok(()));
            rates.count("a", 7);
        }
        let wait = rates.fits(&"a", 7).unwrap_err();
        assert!(wait <= MINUTE / 7 && wait > MINUTE / 8, "{wait:?}");
        assert_eq!(rates.fits(&"b", 7), Ok(()), "everybody has their own");
        tokio::time::advance(wait).await;
        assert_eq!(rates.fits(&"a", 7), Ok(()));
        rates.count("a", 7);
        assert!(rates.fits(&"a", 7).is_err());
        rates.give_back(&"a", 7);
        assert_eq!(rates.fits(&"a", 7), Ok(()), "it came to nothing");
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_that_rests_is_forgotten() {
        let mut rates = Rates::default();
        (0..MANY).for_each(|n| rates.count(n, 60));
        tokio::time::advance(Duration::from_secs(2)).await;
        rates.count(MANY, 60);
        assert_eq!(rates.0.len(), 1);
    }
}
