//! What could not be sent: tried again later, or given up.
//!
//! Whether a target is away: one card that fails is that card's trouble; two different ones in a
//! row, with nothing through in between, are the target's.
//!
//! A target that is away rests, and then one card is tried for all: the one that failed least, so
//! that no card which never arrives keeps the others from being tried. When one goes through, all
//! go at once.

use crate::outbox::OutboxWorker;
use countersign_port::{RetryScope, SendError, Target};
use countersign_store::{CardRow, Due, StoreError};
use countersign_tokens::clock;
use serde_json::json;
use std::{collections::HashSet, time::Duration};

/// What failed at a target since something last went through.
#[derive(Debug, Default)]
pub(super) struct Outage {
    failed: HashSet<String>,
    /// Those of them that had never failed before: their turn has not passed.
    blameless: Vec<String>,
    /// Failures since it is one.
    failures: i64,
    /// The target itself refused, so no second card is needed to tell.
    refused: bool,
}

impl Outage {
    /// Takes in that a card failed, for the first time or again. `Some`: the target rests for so
    /// long.
    pub(super) fn failed(&mut self, card: &str, before: i64) -> Option<Duration> {
        if self.failed.insert(card.to_owned()) && before == 0 {
            self.blameless.push(card.to_owned());
        }
        self.is_on().then(|| self.rest())
    }

    fn rest(&mut self) -> Duration {
        let rest = backoff_ms(self.failures);
        self.failures += 1;
        Duration::from_millis(u64::try_from(rest).unwrap_or_default())
    }

    /// Takes in that the target refused: it rests for so long.
    pub(super) fn refused(&mut self) -> Duration {
        self.refused = true;
        self.rest()
    }

    /// Takes in that a card went through. Returns those that failed for the target's sake alone.
    pub(super) fn is_over(&mut self) -> Vec<String> {
        let was_on = self.is_on();
        let Self { blameless, .. } = std::mem::take(self);
        if was_on { blameless } else { Vec::new() }
    }

    /// Which of the due cards to try: while it is on only one.
    pub(super) fn probe(&self, due: Vec<Due>) -> Vec<Due> {
        if !self.is_on() {
            return due;
        }
        due.into_iter().min_by_key(|due| due.card.attempts).into_iter().collect()
    }

    fn is_on(&self) -> bool {
        self.refused || self.failed.len() > 1
    }
}

/// How long to wait after so many failures before.
pub(super) fn backoff_ms(failures: i64) -> i64 {
    const LONGEST_MS: i64 = 30_000;
    let doublings = u32::try_from(failures.clamp(0, 5)).unwrap_or(5);
    (1_000 << doublings).min(LONGEST_MS)
}

/// What could not be sent for the moment is tried again then.
pub(super) const LATER: Duration = Duration::from_secs(5);

impl OutboxWorker {
    /// Notes that a card could not be sent. `Some`: nothing more for so long.
    pub(super) async fn failed(
        &mut self,
        row: &CardRow,
        error: SendError,
    ) -> Result<Option<Duration>, StoreError> {
        // What the card showed before must not be noted after this.
        self.note_shown().await?;
        let adapter = self.adapter.name;
        let ask_id = &row.ask;
        match error {
            SendError::Retry { after, scope } => {
                tracing::info!(adapter, ask_id, ?after, ?scope, "the platform asks to wait");
                self.rush.slowed();
                if scope == RetryScope::Account {
                    self.term.rest(after);
                }
                Ok(Some(after))
            }
            SendError::Transient(why) | SendError::Fatal(why) => {
                let rest = self.outage.failed(&row.nonce, row.attempts);
                let wait_ms = backoff_ms(row.attempts);
                tracing::warn!(
                    adapter,
                    ask_id,
                    why,
                    wait_ms,
                    ?rest,
                    "a card could not be shown yet"
                );
                self.store.card_failed(&row.nonce, clock::now_ms() + wait_ms).await?;
                Ok(rest)
            }
            SendError::Moved(Target(new)) => {
                tracing::warn!(adapter, from = %self.target, to = %new,
                    "a target moved; put the new one into the config");
                self.store.target_moved(adapter, &self.target, &new).await?;
                self.target = new;
                Ok(None)
            }
            SendError::TargetGone(why) | SendError::ThreadGone(why) => {
                self.refused(&why).await.map(Some)
            }
            SendError::Refused(why) => {
                self.gave_up = true;
                self.give_up(row, &why).await.map(|()| None)
            }
        }
    }

    /// Tries what was given up again: where the bot may write has changed.
    pub(super) async fn take_up(&mut self) {
        self.thread_pause.end();
        if !std::mem::take(&mut self.gave_up) {
            return;
        }
        if let Err(error) = self.store.cards_taken_up(self.adapter.name, &self.target).await {
            tracing::warn!(adapter = self.adapter.name, %error, "given-up cards wait on");
            self.gave_up = true;
        }
    }

    /// Tries a card no more until its ask or the access changes, or the daemon starts anew.
    pub(super) async fn give_up(&self, row: &CardRow, why: &str) -> Result<(), StoreError> {
        let adapter = self.adapter.name;
        tracing::error!(adapter, ask_id = %row.ask, why, "a card is given up");
        self.store.card_gone(&row.nonce, why).await?;
        let data = json!({"adapter": adapter, "target": self.target, "why": why});
        self.store.note(clock::now_ms(), "undelivered", Some(&row.ask), &data).await?;
        self.gate.hand_over(&row.ask, adapter, &self.target, why).await
    }
}

impl OutboxWorker {
    /// Keeps what is due at a target that refuses the bot (it was thrown out, blocked, or may not
    /// write) for when it takes the bot back, and says so once for every ask. For how long nothing
    /// is tried, unless the platform says before that the bot is back.
    // INVARIANT: nothing is given up for its target's sake: every ask that is open when the target
    // is back gets its card.
    pub(super) async fn refused(&mut self, why: &str) -> Result<Duration, StoreError> {
        self.refused = true;
        let rest = self.outage.refused();
        let adapter = self.adapter.name;
        let asks = self.store.target_refuses(adapter, &self.target, why).await?;
        for ask in &asks {
            tracing::error!(adapter, ask_id = %ask, why, "a card cannot be delivered for now");
            let data = json!({"adapter": adapter, "target": self.target, "why": why});
            self.store.note(clock::now_ms(), "undelivered", Some(ask), &data).await?;
            self.gate.hand_over(ask, adapter, &self.target, why).await?;
        }
        if asks.is_empty() {
            tracing::debug!(adapter, target = self.target, why, ?rest, "the target still refuses");
        }
        Ok(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn backoff_doubles_from_one_second_to_thirty() {
        assert_eq!(
            [0, 1, 2, 4, 5, 60].map(backoff_ms),
            [1_000, 2_000, 4_000, 16_000, 30_000, 30_000]
        );
    }

    #[test]
    fn one_card_that_fails_again_and_again_is_no_outage() {
        let mut outage = Outage::default();
        assert_eq!([0, 1, 2].map(|before| outage.failed("a", before)), [None; 3]);
        assert_eq!(outage.is_over(), Vec::<String>::new(), "it has its own time to wait");
    }

    #[test]
    fn a_target_that_refuses_rests_at_once_and_one_card_that_goes_through_ends_that() {
        let mut outage = Outage::default();
        assert_eq!([outage.refused(), outage.refused()], [SECOND, 2 * SECOND]);
        assert_eq!(outage.is_over(), Vec::<String>::new(), "no card was to blame");
        assert_eq!(outage.refused(), SECOND, "it begins anew");
    }

    #[test]
    fn two_cards_in_a_row_are_an_outage_that_ends_with_the_first_that_goes_through() {
        let mut outage = Outage::default();
        let rests = [("a", 0), ("b", 0), ("b", 1), ("poison", 7)]
            .map(|(card, before)| outage.failed(card, before));
        assert_eq!(rests, [None, Some(SECOND), Some(2 * SECOND), Some(4 * SECOND)]);
        assert_eq!(outage.is_over(), ["a", "b"], "one that failed before waits for its own time");
        assert_eq!(outage.failed("a", 2), None, "it begins anew");
        outage.is_over();
        assert_eq!(outage.failed("b", 2), None, "something went through in between");
    }
}
