//! For how long this daemon may act for a chat account, by its own clock.

use countersign_port::{CancellationToken, Lead, locked};
use countersign_store::Fence;
use countersign_tokens::clock;
use std::{sync::Mutex, time::Duration};
use tokio::time::Instant;

/// How long nothing is sent once the term is over.
const OVER: Duration = Duration::from_secs(1);

/// The end of a term by two clocks, whichever gets there first. `Instant` is `CLOCK_MONOTONIC` on
/// Linux: it goes on while the process is frozen, and stands still while the machine sleeps, which
/// the wall clock does not. A wall clock that is set forward ends a term too early, which only
/// costs another election.
#[derive(Debug, Clone, Copy)]
struct Until {
    at: Instant,
    wall_ms: i64,
}

impl Until {
    fn new(at: Instant) -> Self {
        let left = at.saturating_duration_since(Instant::now()).as_millis();
        let left = i64::try_from(left).unwrap_or(i64::MAX / 2);
        Self { at, wall_ms: clock::machine_ms().saturating_add(left) }
    }

    fn is_past(self) -> bool {
        Instant::now() >= self.at || clock::machine_ms() >= self.wall_ms
    }
}

/// A time of leading. It ends before the lease does, so that nobody acts for an account that
/// another daemon may already have.
#[derive(Debug)]
pub struct Term {
    fence: Fence,
    /// `None`: nobody else can ever lead.
    until: Mutex<Option<Until>>,
    over: CancellationToken,
    /// The platform wants nothing from this account before then.
    rests_until: Mutex<Option<Instant>>,
}

impl Term {
    /// A term behind this fence.
    #[must_use]
    pub fn new(fence: Fence, until: Option<Instant>) -> Self {
        let until = Mutex::new(until.map(Until::new));
        let rests_until = Mutex::default();
        Self { fence, until, over: CancellationToken::new(), rests_until }
    }

    /// What the store compares with.
    #[must_use]
    pub fn fence(&self) -> &Fence {
        &self.fence
    }

    /// Whether it goes on right now.
    // INVARIANT: asked directly before every send, so that a process that was frozen past its lease
    // sends nothing.
    #[must_use]
    pub fn holds(&self) -> bool {
        let until = *locked(&self.until);
        !self.over.is_cancelled() && until.is_none_or(|until| !until.is_past())
    }

    /// When it ends by itself.
    #[must_use]
    pub fn until(&self) -> Option<Instant> {
        locked(&self.until).map(|until| until.at)
    }

    /// Lets it go on until then.
    pub fn extend(&self, until: Instant) {
        *locked(&self.until) = Some(Until::new(until));
    }

    /// The platform wants nothing from this account for so long, whatever the target.
    pub fn rest(&self, time: Duration) {
        let mut until = locked(&self.rests_until);
        *until = (*until).max(Some(Instant::now() + time));
    }

    /// For how long nothing may be sent to any target of the account.
    #[must_use]
    pub fn rests_for(&self) -> Option<Duration> {
        if !self.holds() {
            return Some(OVER);
        }
        let until = (*locked(&self.rests_until))?;
        Some(until.saturating_duration_since(Instant::now())).filter(|left| !left.is_zero())
    }

    /// Ends it.
    pub fn end(&self) {
        self.over.cancel();
    }

    /// Waits for its end.
    pub async fn ended(&self) {
        self.over.cancelled().await;
    }
}

impl Lead for Term {
    fn holds(&self) -> bool {
        Self::holds(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_term_ends_by_the_clock_whatever_else_happens() {
        let fence = Fence { name: "chat".into(), epoch: 1 };
        let term = Term::new(fence, Some(Instant::now()));
        assert!(!term.holds(), "nobody had to tell it");
        term.extend(Instant::now() + Duration::from_secs(60));
        assert!(term.holds());
        term.end();
        assert!(!term.holds());
    }

    #[tokio::test(start_paused = true)]
    async fn an_account_rests_for_the_longest_time_that_it_was_told() {
        let term = Term::new(Fence { name: "chat".into(), epoch: 1 }, None);
        assert_eq!(term.rests_for(), None);
        term.rest(Duration::from_secs(9));
        term.rest(Duration::from_secs(2));
        assert_eq!(term.rests_for(), Some(Duration::from_secs(9)));
        tokio::time::advance(Duration::from_secs(9)).await;
        assert_eq!(term.rests_for(), None);
    }

    #[test]
    fn a_machine_that_slept_past_the_end_does_not_lead_though_its_instants_stood_still() {
        let fence = Fence { name: "chat".into(), epoch: 1 };
        let term = Term::new(fence, None);
        let asleep = Until {
            at: Instant::now() + Duration::from_secs(10),
            wall_ms: clock::machine_ms() - 1,
        };
        *locked(&term.until) = Some(asleep);
        assert!(!term.holds());
    }
}
