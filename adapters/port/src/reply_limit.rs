//! Keeps strangers from making a bot talk.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// One answer a channel in this time.
const PER_CHANNEL: Duration = Duration::from_secs(5);
/// One answer in this time, to all together.
const OVERALL: Duration = Duration::from_millis(500);
/// More channels than this are not remembered.
const REMEMBERED: usize = 1_024;

/// How often a bot answers what anybody can write to it: when it did so last, by channel.
#[derive(Debug, Default)]
pub struct ChannelReplyLimit(Mutex<HashMap<String, Instant>>);

impl ChannelReplyLimit {
    /// Whether the bot may say something in this channel now; a yes is counted.
    #[must_use]
    pub fn allows(&self, channel: &str, now: Instant) -> bool {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.retain(|_, at| now.duration_since(*at) < PER_CHANNEL);
        let soon = last.values().any(|at| now.duration_since(*at) < OVERALL);
        if soon || last.contains_key(channel) || last.len() >= REMEMBERED {
            return false;
        }
        last.insert(channel.to_owned(), now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_answer_per_channel_and_not_too_many_in_all() {
        let (reply_limit, start) = (ChannelReplyLimit::default(), Instant::now());
        let asked = [("1", 0), ("2", 100), ("2", 600), ("1", 2_000), ("1", 5_000), ("2", 5_200)];
        let spoke = asked
            .map(|(channel, ms)| reply_limit.allows(channel, start + Duration::from_millis(ms)));
        assert_eq!(spoke, [true, false, true, false, true, false]);
    }
}
