//! One card: drawn, sent, and noted as shown.

use super::OutboxWorker;
use crate::card::{self, Origin};
use countersign_domain::late::{self, LATE_MS};
use countersign_gate::ask::Ask;
use countersign_port::{Block, Card, MessageRef, Posting, SendError, Target, line};
use countersign_store::{CardRow, DrawnCard, SHOWN_WITHIN_MS, Seen, Shown, StoreError};
use countersign_tokens::{clock, digest};
use std::time::Duration;

/// A send that takes longer has failed.
pub(super) const LONGEST_SEND: Duration = Duration::from_secs(60);

impl OutboxWorker {
    /// Shows one card as its ask is now. `Some`: nothing more for so long.
    pub(super) async fn show(
        &mut self,
        row: &CardRow,
        ask: &Ask,
    ) -> Result<Option<Duration>, StoreError> {
        // A post that was tried may have arrived, though its message is not known.
        let may_exist = row.attempts > 0;
        if row.message.is_none() && !ask.is_open() && !may_exist {
            // Nobody saw it open; nobody needs to see it closed.
            self.shown.add(shown(row, "", ask));
            return Ok(None);
        }
        if !self.term.holds() {
            return Ok(Some(Duration::from_secs(1)));
        }
        if let Some(left) = self.term.rests_for() {
            return Ok(Some(left));
        }
        let muted = ask.is_open() && self.receiving.mutes();
        if muted {
            // Before it is: a crash in between costs a needless edit, and never the buttons.
            self.store.card_muted(&row.nonce).await?;
        }
        let place = match row.message {
            Some(_) => Ok(Target(self.target.clone())),
            None => self.place_of(ask).await?,
        };
        let place = match place {
            Ok(place) => place,
            Err(error) => return self.failed(row, error).await,
        };
        let started = self.started(row, ask);
        let sending = self.send(row, &started, &place, muted);
        let sent = tokio::time::timeout(LONGEST_SEND, sending).await;
        let sent = sent.unwrap_or_else(|_| Err(SendError::Transient("no answer".into())));
        let (message, drawn) = match sent {
            Ok(sent) => sent,
            Err(SendError::ThreadGone(why)) => {
                let Some(thread) = self.thread_of(ask).await? else {
                    return self.failed(row, SendError::ThreadGone(why)).await;
                };
                // Its place may be gone, and not the target: that is seen at the next try.
                self.note_shown().await?;
                self.thread_gone(&thread, &why).await?;
                if !ask.is_open() {
                    self.shown.add(shown(row, row.message.as_deref().unwrap_or_default(), ask));
                }
                return Ok(None);
            }
            Err(error) => return self.failed(row, error).await,
        };
        if row.message.is_none() {
            self.last_turn.clone_from(&ask.body.call.agent);
            let by_session = self.gate.thread_idle_ms(self.adapter.name, &self.target).is_some();
            self.rush.posted(ask, by_session);
        }
        let seen = self.seen(row, ask);
        self.shown.add(Shown { muted, seen, drawn: Some(drawn), ..shown(row, &message.0, ask) });
        if ask.is_open() {
            self.receiving.one_drawn(muted);
        }
        if row.message.is_none() && self.adapter.keeps_messages() {
            self.note_shown().await?;
        }
        self.store.cards_due(self.outage.is_over()).await?;
        Ok(None)
    }

    /// Whether people see a card where it is shown now, and whether its time may start with that.
    fn seen(&self, row: &CardRow, ask: &Ask) -> Seen {
        let late = ask.is_open() && clock::now_ms() - ask.created_at > LATE_MS;
        match (self.adapter.is_watched(), row.seen) {
            (false, _) => Seen::No,
            (true, false) if late => Seen::Late,
            (true, _) => Seen::Yes,
        }
    }

    /// The ask with the deadline that it has once it is shown.
    fn started(&self, row: &CardRow, ask: &Ask) -> Ask {
        let mut ask = ask.clone();
        if self.seen(row, &ask) == Seen::Late {
            ask.deadline_at = late::deadline(ask.created_at, ask.deadline_at, clock::now_ms());
        }
        ask
    }

    pub(super) fn origin<'a>(&'a self, row: &'a CardRow) -> Origin<'a> {
        Origin { nonce: &row.nonce, store: self.store.id() }
    }

    async fn send(
        &self,
        row: &CardRow,
        ask: &Ask,
        place: &Target,
        muted: bool,
    ) -> Result<(MessageRef, DrawnCard), SendError> {
        let may_exist = row.attempts > 0;
        let mut card = card::draw(ask, self.origin(row));
        if muted {
            card = self.receiving.mute(card, &self.gate);
        }
        let instead = row.instead.iter().map(|why| Block::Note { text: line(why) });
        card.blocks.extend(instead.filter(|_| ask.is_open()));
        if row.message.is_none() {
            card.blocks.extend(late_note(ask, clock::now_ms()));
        }
        let drawn = self.drawn(&card);
        if let Some(message) = &row.message {
            let message = MessageRef(message.clone());
            return self.adapter.update(&message, &card).await.map(|()| (message, drawn));
        }
        let posting = if may_exist { Posting::MayRepeat } else { Posting::First };
        let message = self.adapter.post(place, &card, posting).await?;
        if may_exist {
            // It may be the first message, as it was drawn then.
            self.adapter.update(&message, &card).await?;
        }
        Ok((message, drawn))
    }

    /// What the log tells of a card that is sent.
    // SECURITY: without its tokens: who reads the log must not be able to press.
    pub(super) fn drawn(&self, card: &Card) -> DrawnCard {
        let mut card = Card { id: String::new(), ..card.clone() };
        let buttons = card.buttons.iter_mut().flatten().chain(&mut card.more);
        buttons.for_each(|button| button.token.clear());
        let digest = digest::sha256_hex(&serde_json::to_vec(&card).unwrap_or_default());
        let (adapter, target) = (self.adapter.name.to_owned(), self.target.clone());
        DrawnCard { adapter, target, digest }
    }
}

/// Says on a card that it is late.
pub(super) fn late_note(ask: &Ask, now: i64) -> Option<Block> {
    let waited = now - ask.created_at;
    (ask.is_open() && waited > SHOWN_WITHIN_MS).then(|| {
        let text = format!("This card is late: it was asked {} ago.", clock::span(waited));
        Block::Note { text }
    })
}

/// What a card shows once this ask is drawn on it.
pub(super) fn shown(row: &CardRow, message: &str, ask: &Ask) -> Shown {
    let (nonce, ask, version) = (row.nonce.clone(), ask.id.clone(), ask.version);
    let message = message.to_owned();
    Shown { nonce, ask, message, version, muted: false, seen: Seen::No, drawn: None }
}
