//! Another program that polls the same bot.
//!
//! Two pollers take turns: each is refused, waits, polls, and ends the other's poll. One refusal is
//! normal when a daemon takes over from another; a second one soon after means that both go on.

use std::time::{Duration, Instant};

/// How soon: two pollers that wait 6 s each meet every 12 s.
const SOON: Duration = Duration::from_secs(20);

/// The conflicts of one poller.
#[derive(Debug, Default)]
pub(crate) struct Conflicts {
    last: Option<Instant>,
    goes_on: bool,
}

impl Conflicts {
    /// Takes one more in. Whether the other one goes on polling.
    pub(crate) fn another(&mut self, now: Instant) -> bool {
        self.goes_on = self.is_soon(now);
        self.last = Some(now);
        self.goes_on
    }

    /// Whether the other one is still to be expected, though a poll went well.
    pub(crate) fn go_on(&self, now: Instant) -> bool {
        self.goes_on && self.is_soon(now)
    }

    fn is_soon(&self, now: Instant) -> bool {
        self.last.is_some_and(|last| now.duration_since(last) < SOON)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_conflict_is_a_change_of_hands_and_two_soon_after_each_other_are_two_pollers() {
        let mut conflicts = Conflicts::default();
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        assert!(!conflicts.go_on(at(0)));
        assert!(!conflicts.another(at(0)));
        assert!(!conflicts.go_on(at(6)));
        assert!(conflicts.another(at(12)));
        assert!(conflicts.go_on(at(18)), "a poll in between says nothing");
        assert!(conflicts.another(at(24)));
        assert!(!conflicts.go_on(at(44)), "the other one is gone");
        assert!(!conflicts.another(at(100)), "and this is a change of hands again");
    }
}
