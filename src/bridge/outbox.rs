//! The outbox: brings every card of one target up to the version that the store wants shown.
//!
//! A card is due while what it shows is behind its ask, so several changes in between are one redraw,
//! and a crash at any point is made good at the next start.
//!
//! INVARIANT: only a daemon that leads sends, and what it sent counts only if it still leads then.

use super::{Term, card};
use crate::{
    clock,
    gate::Gate,
    store::{CardRow, StoreError, Tail},
};
use countersign_port::{Adapter, CancellationToken, MessageRef, SendError, Target};
use serde_json::json;
use std::{sync::Arc, time::Duration};

const LONGEST_SEND: Duration = Duration::from_secs(60);
const LONGEST_BACKOFF_MS: i64 = 30_000;
/// How often it is looked for what other daemons changed, when no hint of it came.
const LOOK_MS: i64 = 1_000;

/// Delivers to one target for a term. When told to finish it tries what is due once more and ends.
pub async fn deliver(
    gate: Arc<Gate>,
    adapter: Arc<dyn Adapter>,
    target: String,
    term: Arc<Term>,
    finish: CancellationToken,
) {
    let mut postman = Postman { gate, adapter, target, term: term.clone(), asked: None };
    let mut changes = postman.gate.changes();
    let mut reconciled = false;
    while term.holds() {
        changes.mark_unchanged();
        let last = finish.is_cancelled();
        if !reconciled {
            reconciled = postman.reconcile().await;
        }
        let pause = tokio::select! {
            pause = postman.round() => pause,
            () = term.ended() => return,
        };
        if last {
            return;
        }
        match pause {
            // The platform asked for quiet: nothing is sent before, whatever changes.
            Pause::Quiet(time) => tokio::select! {
                () = tokio::time::sleep(time) => {}
                () = finish.cancelled() => return,
                () = term.ended() => return,
            },
            Pause::UntilChange(time) => tokio::select! {
                () = tokio::time::sleep(time) => {}
                _ = changes.changed() => {}
                () = finish.cancelled() => {}
                () = term.ended() => return,
            },
        }
    }
}

struct Postman {
    gate: Arc<Gate>,
    adapter: Arc<dyn Adapter>,
    target: String,
    term: Arc<Term>,
    /// Where asks that other daemons open are heard of; they know nothing of a place that is only here.
    asked: Option<Tail>,
}

enum Pause {
    Quiet(Duration),
    UntilChange(Duration),
}

impl Postman {
    async fn reconcile(&mut self) -> bool {
        match self.try_reconcile().await {
            Ok(()) => true,
            Err(error) => {
                tracing::error!(adapter = self.adapter.name(), %error, "cannot reconcile cards");
                false
            }
        }
    }

    async fn try_reconcile(&mut self) -> Result<(), StoreError> {
        let store = self.gate.store();
        let keeps = self.adapter.keeps_messages();
        if store.is_shared() && !keeps {
            self.asked = Some(Tail::after(store.last_event().await?));
        }
        store.reconcile(self.adapter.name(), &self.target, keeps).await
    }

    /// Makes cards for what other daemons have been asked.
    async fn hear(&mut self) -> Result<(), StoreError> {
        let Some(tail) = &mut self.asked else { return Ok(()) };
        let store = self.gate.store();
        let events = tail.next(store).await?;
        let asked = events.into_iter().filter(|event| event.kind == "asked");
        let asks: Vec<_> = asked.filter_map(|event| event.ask).collect();
        store.add_cards(self.adapter.name(), &self.target, asks).await
    }

    /// Shows what is due, and says how long to rest.
    async fn round(&mut self) -> Pause {
        match self.try_round().await {
            Ok(pause) => pause,
            Err(error) => {
                tracing::error!(adapter = self.adapter.name(), %error, "the outbox cannot be read");
                Pause::Quiet(Duration::from_secs(1))
            }
        }
    }

    async fn try_round(&mut self) -> Result<Pause, StoreError> {
        let store = self.gate.store().clone();
        let name = self.adapter.name();
        let term = self.term.clone();
        self.hear().await?;
        while let Some(card) =
            store.due_card(name, &self.target, clock::now_ms(), term.fence()).await?
        {
            if let Some(quiet) = self.show(&card).await? {
                return Ok(Pause::Quiet(quiet));
            }
        }
        let next = store.next_due(name, &self.target).await?;
        let longest = if store.is_shared() { LOOK_MS } else { LONGEST_BACKOFF_MS };
        let left = next.map_or(longest, |at| at.saturating_sub(clock::now_ms()));
        let left = u64::try_from(left.clamp(50, longest)).unwrap_or(50);
        Ok(Pause::UntilChange(Duration::from_millis(left)))
    }

    /// Shows one card as its ask stands now. `Some`: nothing more for so long.
    async fn show(&mut self, row: &CardRow) -> Result<Option<Duration>, StoreError> {
        let store = self.gate.store().clone();
        let Some(ask) = store.ask(&row.ask).await? else { return Ok(None) };
        // A post that was tried may have arrived, though its message is not known.
        let may_stand = row.attempts > 0;
        if row.message.is_none() && !ask.is_open() && !may_stand {
            // Nobody saw it open; nobody needs to see it closed.
            store.card_shown(&row.nonce, "", ask.version, self.term.fence()).await?;
            return Ok(None);
        }
        let card = card::draw(&ask, &row.nonce);
        if !self.term.holds() {
            return Ok(Some(Duration::from_secs(1)));
        }
        let sent = tokio::time::timeout(LONGEST_SEND, async {
            match &row.message {
                Some(message) => {
                    let message = MessageRef(message.clone());
                    self.adapter.update(&message, &card).await.map(|()| message)
                }
                None => {
                    let message = self.adapter.post(&Target(self.target.clone()), &card).await?;
                    if may_stand {
                        // It may be the first message, as it was drawn then.
                        self.adapter.update(&message, &card).await?;
                    }
                    Ok(message)
                }
            }
        });
        let sent = sent.await.unwrap_or_else(|_| Err(SendError::Transient("no answer".to_owned())));
        match sent {
            Ok(message) => {
                let fence = self.term.fence();
                if !store.card_shown(&row.nonce, &message.0, ask.version, fence).await? {
                    tracing::warn!(adapter = self.adapter.name(), ask_id = %ask.id,
                        "a card was shown after another daemon took over; that one redraws it");
                    self.term.end();
                    return Ok(Some(Duration::from_secs(1)));
                }
                tracing::info!(adapter = self.adapter.name(), ask_id = %ask.id,
                    version = ask.version, "a card stands");
                Ok(None)
            }
            Err(error) => self.failed(row, error).await,
        }
    }

    async fn failed(
        &mut self,
        row: &CardRow,
        error: SendError,
    ) -> Result<Option<Duration>, StoreError> {
        let store = self.gate.store().clone();
        let (adapter, ask_id) = (self.adapter.name(), &row.ask);
        match error {
            SendError::RetryAfter(time) => {
                tracing::info!(adapter, ask_id, ?time, "the platform asks to wait");
                Ok(Some(time))
            }
            SendError::Transient(why) | SendError::Fatal(why) => {
                let wait = backoff_ms(row.attempts);
                tracing::warn!(
                    adapter,
                    ask_id,
                    why,
                    wait_ms = wait,
                    "a card could not be shown yet"
                );
                store.card_failed(&row.nonce, clock::now_ms() + wait).await?;
                Ok(None)
            }
            SendError::Moved(Target(new)) => {
                tracing::warn!(
                    adapter,
                    from = self.target,
                    to = new,
                    "a target moved; put the new one into the config"
                );
                store.target_moved(adapter, &self.target, &new).await?;
                self.target = new;
                Ok(None)
            }
            SendError::TargetGone(why) | SendError::Refused(why) => {
                tracing::error!(adapter, ask_id, why, "a card is given up");
                store.card_gone(&row.nonce, &why).await?;
                let data = json!({"adapter": adapter, "target": self.target, "why": why});
                store.note(clock::now_ms(), "undelivered", Some(ask_id), &data).await?;
                Ok(None)
            }
        }
    }
}

fn backoff_ms(attempts: i64) -> i64 {
    let doublings = u32::try_from(attempts.clamp(0, 5)).unwrap_or(5);
    (1_000 << doublings).min(LONGEST_BACKOFF_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_doubles_from_one_second_to_thirty() {
        assert_eq!(
            [0, 1, 2, 4, 5, 60].map(backoff_ms),
            [1_000, 2_000, 4_000, 16_000, 30_000, 30_000]
        );
    }
}
