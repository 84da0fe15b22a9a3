//! When Slack lets us call again: most of its limits are met before they are hit.

use crate::problem::ApiProblem;
use std::collections::HashMap;
use std::time::Duration;
use tokio::time::Instant;

/// What a limit allows: so many at once, and then one in this time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Allowance {
    at_once: u32,
    every: Duration,
}

/// New messages in one channel: one a second, and Slack tolerates short bursts.
const POSTS: Allowance = Allowance { at_once: 4, every: Duration::from_secs(1) };
/// Edits of all messages together: 50 a minute.
const EDITS: Allowance = Allowance { at_once: 20, every: Duration::from_secs(2) };
/// Other methods have limits that we do not reach, until Slack says otherwise.
const OTHERS: Allowance = Allowance { at_once: 20, every: Duration::ZERO };
/// More limits than this are not remembered.
const REMEMBERED: usize = 1024;

/// What is known of Slack's limits: by method, and for new messages by channel too.
#[derive(Debug, Default)]
pub(crate) struct MethodLimits(HashMap<String, MethodUse>);

/// When all of an allowance is there again, and until when Slack refuses.
#[derive(Debug, Clone, Copy)]
struct MethodUse {
    full_at: Instant,
    closed_until: Instant,
}

impl MethodLimits {
    /// Counts a call.
    ///
    /// # Errors
    /// How long to wait where it comes too soon.
    pub(crate) fn take(
        &mut self,
        method: &str,
        channel: &str,
        now: Instant,
    ) -> Result<(), ApiProblem> {
        if self.0.len() >= REMEMBERED {
            self.0.retain(|_, used| used.full_at > now || used.closed_until > now);
        }
        let Allowance { at_once, every } = allowance(method);
        let used = self.of(method, channel, now);
        if used.closed_until > now {
            return Err(ApiProblem::Wait(used.closed_until - now));
        }
        let next = used.full_at.max(now) + every;
        let most = now + every * at_once;
        if next > most {
            return Err(ApiProblem::Wait(next - most));
        }
        used.full_at = next;
        Ok(())
    }

    /// Slack refused a call for having come too soon.
    pub(crate) fn refused(&mut self, method: &str, channel: &str, wait: Duration, now: Instant) {
        self.of(method, channel, now).closed_until = now + wait;
    }

    fn of(&mut self, method: &str, channel: &str, now: Instant) -> &mut MethodUse {
        let key = match method {
            "chat.postMessage" => format!("{method} {channel}"),
            _ => method.to_owned(),
        };
        self.0.entry(key).or_insert(MethodUse { full_at: now, closed_until: now })
    }
}

fn allowance(method: &str) -> Allowance {
    match method {
        "chat.postMessage" => POSTS,
        "chat.update" => EDITS,
        _ => OTHERS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_channel_takes_a_few_messages_at_once_and_then_one_a_second() {
        let (mut limits, now) = (MethodLimits::default(), Instant::now());
        let mut take = |channel, at| limits.take("chat.postMessage", channel, at);
        assert!((0..4).all(|_| take("C1", now).is_ok()));
        assert_eq!(take("C1", now), Err(ApiProblem::Wait(SECOND)));
        assert_eq!(take("C2", now), Ok(()), "another channel has its own limit");
        assert_eq!(take("C1", now + SECOND), Ok(()));
        assert_eq!(take("C1", now + SECOND), Err(ApiProblem::Wait(SECOND)));
        assert!((0..4).all(|_| take("C1", now + 60 * SECOND).is_ok()));
    }

    #[test]
    fn all_edits_together_stay_below_fifty_in_any_minute() {
        let (mut limits, now) = (MethodLimits::default(), Instant::now());
        let edits =
            (0..600).filter(|at| limits.take("chat.update", "", now + SECOND / 10 * *at).is_ok());
        assert_eq!(edits.count(), 20 + 29);
    }

    #[test]
    fn a_refusal_holds_for_its_method_and_its_time_only() {
        let (mut limits, now) = (MethodLimits::default(), Instant::now());
        limits.refused("users.info", "", 3 * SECOND, now);
        let wait = Err(ApiProblem::Wait(2 * SECOND));
        assert_eq!(limits.take("users.info", "", now + SECOND), wait);
        assert_eq!(limits.take("auth.test", "", now + SECOND), Ok(()));
        assert_eq!(limits.take("users.info", "", now + 3 * SECOND), Ok(()));
    }
}
