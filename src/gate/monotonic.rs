//! How long asks that silence approves have waited, by the monotonic clock.
//!
//! SECURITY: a wall clock that jumps forward makes every deadline pass at once, before anybody can
//! deny. So silence approves only what this process itself has seen waiting for the whole time.

use countersign_domain::Ask;
use dashmap::DashMap;
use std::time::Duration;
use tokio::time::Instant;

/// How long an overdue ask is left to the daemon that opened it.
const GRACE: Duration = Duration::from_secs(45);
/// How long after its end a wait is remembered; then its ask counts as opened elsewhere.
const KEPT: Duration = Duration::from_secs(3_600);

/// The waits of asks that silence approves.
#[derive(Debug, Default)]
pub(super) struct MonotonicWaits(DashMap<String, Wait>);

#[derive(Debug, Clone, Copy)]
enum Wait {
    /// Counted here: from then on, for so long.
    Counted { since: Instant, length: Duration },
    /// Another process opened the ask: seen overdue here for the first time then, with this
    /// deadline.
    Uncounted { seen: Instant, deadline_at: Option<i64> },
}

/// What the monotonic clock says of an ask that is overdue by the wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) enum Waited {
    /// It has waited for its whole time, which was this.
    Enough(Duration),
    /// So much of its time is left.
    TooShort(Duration),
    /// Nobody has counted; its time begins now.
    Uncounted,
    /// Nobody here has counted; for now it is left to the daemon that may have.
    Elsewhere,
}

/// Who looks at an overdue ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Looker {
    /// A timer of a daemon that has the store to itself, or an approver who answers right now.
    First,
    /// A timer of one of several daemons: the daemon that opened the ask comes first.
    OneOfSeveral,
}

impl MonotonicWaits {
    /// This ask waits since then, for so long.
    pub(super) fn count(&self, ask: &str, since: Instant, length: Duration) {
        self.0.insert(ask.to_owned(), Wait::Counted { since, length });
    }

    /// Nothing is counted here any more.
    pub(super) fn forget_all(&self) {
        self.0.clear();
    }

    /// Judges an ask that is overdue by the wall clock.
    pub(super) fn judge(&self, ask: &Ask, looker: Looker) -> Waited {
        let deadline_at = ask.deadline_at;
        let first_sight = Wait::Uncounted { seen: Instant::now(), deadline_at };
        let mut wait = self.0.entry(ask.id.clone()).or_insert(first_sight);
        if let Wait::Uncounted { deadline_at: seen_with, .. } = *wait
            && seen_with != deadline_at
        {
            // Another daemon gave it more time, and counts.
            *wait = first_sight;
        }
        match *wait {
            Wait::Counted { since, length } => {
                let elapsed = since.elapsed();
                // The two clocks run at slightly different speeds.
                if elapsed >= length.mul_f64(0.99) {
                    Waited::Enough(elapsed)
                } else {
                    Waited::TooShort(length.saturating_sub(elapsed))
                }
            }
            Wait::Uncounted { seen, .. }
                if looker == Looker::OneOfSeveral && seen.elapsed() < GRACE =>
            {
                Waited::Elsewhere
            }
            Wait::Uncounted { .. } => Waited::Uncounted,
        }
    }

    /// This ask is closed.
    pub(super) fn forget(&self, ask: &str) {
        self.0.remove(ask);
    }

    /// Whether no wait is known.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Forgets asks that were closed where this process did not see it.
    pub(super) fn tidy(&self) {
        self.0.retain(|_, wait| match wait {
            Wait::Counted { since, length } => since.elapsed() < length.saturating_add(KEPT),
            Wait::Uncounted { seen, .. } => seen.elapsed() < KEPT,
        });
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use countersign_domain::{Body, call::Call};
    use serde_json::json;
    use tokio::time::advance;

    const MINUTE: Duration = Duration::from_secs(60);

    fn ask(deadline_at: i64) -> Ask {
        let call = json!({"agent": "a", "session": "s", "tool": "notify", "args": {}});
        let call: Call = serde_json::from_value(call).unwrap();
        let opened = Ask::opened("one", call.digest(), Body::new(call, "no rule"), 0);
        Ask { deadline_at: Some(deadline_at), ..opened }
    }

    #[tokio::test(start_paused = true)]
    async fn an_ask_that_was_opened_here_has_waited_enough_when_its_time_is_over() {
        let waits = MonotonicWaits::default();
        waits.count("one", Instant::now(), 10 * MINUTE);
        advance(4 * MINUTE).await;
        for looker in [Looker::First, Looker::OneOfSeveral] {
            assert_eq!(waits.judge(&ask(1), looker), Waited::TooShort(6 * MINUTE));
        }
        advance(6 * MINUTE).await;
        assert_eq!(waits.judge(&ask(1), Looker::OneOfSeveral), Waited::Enough(10 * MINUTE));
    }

    #[tokio::test(start_paused = true)]
    async fn clocks_may_differ_by_a_hundredth_and_no_more() {
        let waits = MonotonicWaits::default();
        waits.count("one", Instant::now(), 100 * MINUTE);
        advance(98 * MINUTE).await;
        assert_eq!(waits.judge(&ask(1), Looker::First), Waited::TooShort(2 * MINUTE));
        advance(MINUTE).await;
        assert_eq!(waits.judge(&ask(1), Looker::First), Waited::Enough(99 * MINUTE));
    }

    #[tokio::test(start_paused = true)]
    async fn an_ask_of_another_process_never_has_waited_enough_and_is_left_to_it_for_a_while() {
        let waits = MonotonicWaits::default();
        assert_eq!(waits.judge(&ask(1), Looker::OneOfSeveral), Waited::Elsewhere);
        assert_eq!(waits.judge(&ask(1), Looker::First), Waited::Uncounted);
        advance(MINUTE).await;
        assert_eq!(waits.judge(&ask(1), Looker::OneOfSeveral), Waited::Uncounted);
        // The other one gave it more time; that it is overdue again is for the other one to see.
        assert_eq!(waits.judge(&ask(2), Looker::OneOfSeveral), Waited::Elsewhere);
        advance(MINUTE).await;
        assert_eq!(waits.judge(&ask(2), Looker::OneOfSeveral), Waited::Uncounted);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_closed_here_or_elsewhere_is_forgotten() {
        let waits = MonotonicWaits::default();
        waits.count("one", Instant::now(), MINUTE);
        waits.count("two", Instant::now(), MINUTE);
        waits.forget("one");
        waits.tidy();
        assert_eq!(waits.0.len(), 1);
        advance(MINUTE + KEPT).await;
        waits.tidy();
        assert!(waits.0.is_empty());
    }
}
