//! The pairings of a daemon, for those who wait for somebody to send a code.

use super::pairings::{KnockOutcome, Knocker, PairingState, Pairings};
use countersign_tokens::clock;
use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::watch;

/// The pairings of a daemon. They are not stored: a restart ends them.
#[derive(Debug, Default)]
pub(super) struct Knocks {
    pairings: Mutex<Pairings>,
    changes: watch::Sender<()>,
}

impl Knocks {
    pub(super) fn begin(&self, platform: &str, id: &str, code: &str) -> i64 {
        let until = self.now().begin(platform, id, code, clock::now_ms());
        // Those who wait for the previous one learn that it has ended.
        self.changes.send_replace(());
        until
    }

    pub(super) fn knock(&self, platform: &str, code: &str, by: Knocker) -> KnockOutcome {
        let outcome = self.now().knock(platform, code, by, clock::now_ms());
        self.changes.send_replace(());
        outcome
    }

    /// The state of a pairing, once somebody has sent its code or this time has passed.
    pub(super) async fn wait(&self, id: &str, longest: Duration) -> Option<PairingState> {
        let mut changes = self.changes.subscribe();
        let look = || self.now().state(id, clock::now_ms());
        let changed = async {
            while matches!(look(), Some(PairingState::Waiting)) && changes.changed().await.is_ok() {
            }
        };
        let _ = tokio::time::timeout(longest, changed).await;
        look()
    }

    fn now(&self) -> MutexGuard<'_, Pairings> {
        self.pairings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pairings::PAIRING_MS;

    fn ana() -> Knocker {
        let [id, name, target, place] = ["42", "Ana", "42", "a private chat"].map(str::to_owned);
        Knocker { id, name, target, place }
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_learns_of_a_knock_at_once_and_of_nothing_after_their_time() {
        let knocks = Knocks::default();
        knocks.begin("chat", "p1", "pair-a");
        let minute = Duration::from_secs(60);
        assert_eq!(knocks.wait("p1", minute).await, Some(PairingState::Waiting));
        let knock = async { knocks.knock("chat", "pair-a", ana()) };
        let (state, outcome) = tokio::join!(knocks.wait("p1", minute), knock);
        assert_eq!((state, outcome), (Some(PairingState::Knocked(ana())), KnockOutcome::Bound));
        assert_eq!(knocks.wait("p2", minute).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_code_that_nobody_sent_in_ten_minutes_has_expired() {
        let knocks = Knocks::default();
        knocks.begin("chat", "p1", "pair-a");
        tokio::time::advance(Duration::from_millis(PAIRING_MS.unsigned_abs())).await;
        assert_eq!(knocks.wait("p1", Duration::ZERO).await, Some(PairingState::Expired));
        assert_eq!(knocks.knock("chat", "pair-a", ana()), KnockOutcome::Refused);
    }
}
