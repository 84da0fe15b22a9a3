//! What could not be sent: tried again later, or given up.

use super::OutboxWorker;
use crate::outage::backoff_ms;
use countersign_port::{RetryScope, SendError, Target};
use countersign_store::{CardRow, StoreError};
use countersign_tokens::clock;
use serde_json::json;
use std::time::Duration;

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
        let store = self.store.clone();
        let (adapter, ask_id) = (self.adapter.name, &row.ask);
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
                store.card_failed(&row.nonce, clock::now_ms() + wait_ms).await?;
                Ok(rest)
            }
            SendError::Moved(Target(new)) => {
                tracing::warn!(adapter, from = %self.target, to = %new,
                    "a target moved; put the new one into the config");
                store.target_moved(adapter, &self.target, &new).await?;
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
        let (store, adapter) = (&self.store, self.adapter.name);
        tracing::error!(adapter, ask_id = %row.ask, why, "a card is given up");
        store.card_gone(&row.nonce, why).await?;
        let data = json!({"adapter": adapter, "target": self.target, "why": why});
        store.note(clock::now_ms(), "undelivered", Some(&row.ask), &data).await?;
        self.gate.hand_over(&row.ask, adapter, &self.target, why).await
    }
}
