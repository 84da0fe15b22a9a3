//! When Discord lets us send again: its buckets, so that most limits are met before they are hit.

use crate::errors::Problem;
use countersign_port::RetryScope;
use std::collections::HashMap;
use std::time::Duration;
use tokio::time::Instant;

/// What is known of Discord's rate limits.
#[derive(Debug, Default)]
pub(crate) struct RateLimits {
    buckets: HashMap<String, Bucket>,
    /// Nothing may be sent before this.
    closed_until: Option<Instant>,
}

#[derive(Debug)]
struct Bucket {
    limit: u32,
    left: u32,
    window: Duration,
    reset: Instant,
}

/// What an answer's headers say about its bucket.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct BucketState {
    /// Requests in a window.
    pub limit: u32,
    /// Requests left in this one.
    pub left: u32,
    /// Until the next window.
    pub reset_after: Duration,
}

impl RateLimits {
    /// Takes one request out of a bucket.
    ///
    /// # Errors
    /// How long to wait where it is empty.
    pub(crate) fn take(&mut self, bucket: &str, now: Instant) -> Result<(), Problem> {
        let wait = |until, scope| Err(Problem::Wait { after: until - now, scope });
        if let Some(until) = self.closed_until.filter(|until| *until > now) {
            return wait(until, RetryScope::Account);
        }
        let Some(bucket) = self.buckets.get_mut(bucket) else { return Ok(()) };
        if bucket.reset <= now {
            bucket.left = bucket.limit;
            bucket.reset = now + bucket.window;
        }
        match bucket.left.checked_sub(1) {
            Some(left) => bucket.left = left,
            None => return wait(bucket.reset, RetryScope::Target),
        }
        Ok(())
    }

    /// Learns from an answer. Requests still on their way are not counted by it, so within a window
    /// the smaller figure holds.
    pub(crate) fn learn(&mut self, bucket: &str, says: BucketState, now: Instant) {
        let reset = now + says.reset_after;
        let known = self.buckets.entry(bucket.to_owned()).or_insert(Bucket {
            limit: says.limit,
            left: says.left,
            window: says.reset_after,
            reset,
        });
        let same_window = known.reset > now;
        known.left = if same_window { known.left.min(says.left) } else { says.left };
        known.limit = says.limit;
        known.window = known.window.max(says.reset_after);
        known.reset = reset;
    }

    /// Discord refused a request for having come too soon.
    pub(crate) fn refused(
        &mut self,
        bucket: &str,
        wait: Duration,
        scope: RetryScope,
        now: Instant,
    ) {
        if scope == RetryScope::Account {
            self.closed_until = Some(now + wait);
            return;
        }
        let unknown = Bucket { limit: u32::MAX, left: 0, window: wait, reset: now };
        let bucket = self.buckets.entry(bucket.to_owned()).or_insert(unknown);
        (bucket.left, bucket.reset) = (0, now + wait);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn wait<T>(after: Duration, scope: RetryScope) -> Result<T, Problem> {
        Err(Problem::Wait { after, scope })
    }

    #[test]
    fn an_empty_bucket_says_how_long_to_wait_and_fills_again() {
        let (mut pace, now) = (RateLimits::default(), Instant::now());
        pace.take("a", now).unwrap();
        pace.learn("a", BucketState { limit: 2, left: 1, reset_after: 5 * SECOND }, now);
        pace.take("a", now).unwrap();
        assert_eq!(pace.take("a", now + SECOND), wait(4 * SECOND, RetryScope::Target));
        assert_eq!(pace.take("b", now + SECOND), Ok(()), "another channel has its own bucket");
        assert_eq!(pace.take("a", now + 5 * SECOND), Ok(()));
        assert_eq!(pace.take("a", now + 5 * SECOND), Ok(()));
        assert_eq!(pace.take("a", now + 5 * SECOND), wait(5 * SECOND, RetryScope::Target));
    }

    #[test]
    fn a_late_answer_does_not_give_back_what_was_taken_since() {
        let (mut pace, now) = (RateLimits::default(), Instant::now());
        pace.learn("a", BucketState { limit: 5, left: 1, reset_after: SECOND }, now);
        pace.take("a", now).unwrap();
        pace.learn("a", BucketState { limit: 5, left: 2, reset_after: SECOND }, now);
        assert_eq!(pace.take("a", now), wait(SECOND, RetryScope::Target));
    }

    #[test]
    fn a_refusal_empties_its_bucket_for_its_time_only() {
        let (mut pace, now) = (RateLimits::default(), Instant::now());
        pace.refused("a", SECOND, RetryScope::Target, now);
        assert_eq!(pace.take("a", now), wait(SECOND, RetryScope::Target));
        assert_eq!(pace.take("b", now), Ok(()));
        assert_eq!(pace.take("a", now + SECOND), Ok(()));
        assert_eq!(pace.take("a", now + SECOND), Ok(()));
    }

    #[test]
    fn a_global_limit_closes_everything_for_its_time() {
        let (mut pace, now) = (RateLimits::default(), Instant::now());
        pace.refused("a", 2 * SECOND, RetryScope::Account, now);
        assert_eq!(pace.take("b", now + SECOND), wait(SECOND, RetryScope::Account));
        assert_eq!(pace.take("b", now + 2 * SECOND), Ok(()));
    }
}
