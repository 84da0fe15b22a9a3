//! Cards: each drawn, sent, and noted as shown.

use crate::{
    card::{self, Origin},
    outbox::{OutboxWorker, PAGE},
};
use countersign_domain::deadline::{LATE_MS, late_deadline};
use countersign_gate::ask::Ask;
use countersign_port::{Block, Card, MessageRef, Posting, SendError, Target, line};
use countersign_store::{CardRow, DrawnCard, Due, SHOWN_WITHIN_MS, Seen, Shown, StoreError};
use countersign_tokens::{clock, sha256_hex};
use std::{collections::HashMap, time::Duration};
use tokio::time::Instant;

/// A send that takes longer has failed.
const LONGEST_SEND: Duration = Duration::from_secs(60);

/// What a send came to, at the latest when it takes too long.
pub(super) async fn in_time<T>(
    sending: impl Future<Output = Result<T, SendError>>,
) -> Result<T, SendError> {
    let sent = tokio::time::timeout(LONGEST_SEND, sending).await;
    sent.unwrap_or_else(|_| Err(SendError::Transient("no answer".into())))
}

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
        let (message, drawn) = match in_time(sending).await {
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
            ask.deadline_at = late_deadline(ask.created_at, ask.deadline_at, clock::now_ms());
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
        let mut card = card::draw(ask, self.origin(row));
        if muted {
            card = self.receiving.mute(card, &self.gate);
        }
        let instead = row.instead.iter().map(|why| Block::Note { text: line(why) });
        card.blocks.extend(instead.filter(|_| ask.is_open()));
        if row.message.is_none() {
            card.blocks.extend(late_note(ask, clock::now_ms()));
        }
        self.put(row.message.as_deref(), place, &card, row.attempts > 0).await
    }

    /// Edits the message, or posts it where there is none yet that is known.
    pub(super) async fn put(
        &self,
        message: Option<&str>,
        place: &Target,
        card: &Card,
        may_exist: bool,
    ) -> Result<(MessageRef, DrawnCard), SendError> {
        let drawn = self.drawn(card);
        if let Some(message) = message {
            let message = MessageRef(message.to_owned());
            return self.adapter.update(&message, card).await.map(|()| (message, drawn));
        }
        let posting = if may_exist { Posting::MayRepeat } else { Posting::First };
        let message = self.adapter.post(place, card, posting).await?;
        if may_exist {
            // It may be the first message, as it was drawn then.
            self.adapter.update(&message, card).await?;
        }
        Ok((message, drawn))
    }

    /// What the log tells of a card that is sent.
    // SECURITY: without its tokens: who reads the log must not be able to press.
    pub(super) fn drawn(&self, card: &Card) -> DrawnCard {
        let mut card = Card { id: String::new(), ..card.clone() };
        let buttons = card.buttons.iter_mut().flatten().chain(&mut card.more);
        buttons.for_each(|button| button.token.clear());
        let digest = sha256_hex(&serde_json::to_vec(&card).unwrap_or_default());
        let adapter = self.adapter.name.to_owned();
        let target = self.target.clone();
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

/// For how long.
const HOLD: Duration = Duration::from_millis(20);
/// How many at most; a page of due cards holds more, so that some in it are to be shown.
const MOST: usize = PAGE as usize / 2;

/// What cards show and the store does not know yet. Noting costs a commit: what comes within a
/// breath shares one, and no answer waits for it.
#[derive(Debug, Default)]
pub(super) struct WriteBuffer {
    by_nonce: HashMap<String, Shown>,
    since: Option<Instant>,
}

impl WriteBuffer {
    pub(super) fn add(&mut self, shown: Shown) {
        self.since.get_or_insert_with(Instant::now);
        self.by_nonce.insert(shown.nonce.clone(), shown);
    }

    pub(super) fn all(&self) -> Vec<Shown> {
        self.by_nonce.values().cloned().collect()
    }

    /// How long it may still stay here; `None` where there is nothing.
    pub(super) fn left(&self) -> Option<Duration> {
        let since = self.since?;
        Some(if self.by_nonce.len() < MOST {
            HOLD.saturating_sub(since.elapsed())
        } else {
            Duration::ZERO
        })
    }

    /// Whether it has to be noted now.
    pub(super) fn is_long_ago(&self) -> bool {
        self.left() == Some(Duration::ZERO)
    }

    /// Those of the due cards that are behind what they really show, with their messages.
    // INVARIANT: what is buffered here counts as noted: nothing is posted twice, and nothing that
    // closes within the breath is left as it was.
    pub(super) fn behind(&self, due: Vec<Due>) -> Vec<Due> {
        let still_due = |mut due: Due| {
            let Some(shown) = self.by_nonce.get(&due.card.nonce) else { return Some(due) };
            let behind = due.ask.as_ref().is_ok_and(|ask| ask.version > shown.version);
            due.card.message = Some(shown.message.clone());
            behind.then_some(due)
        };
        due.into_iter().filter_map(still_due).collect()
    }
}
