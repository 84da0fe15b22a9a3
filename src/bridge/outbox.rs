//! The outbox: brings every card of one target up to the version that the store wants shown.
//!
//! A card is due while what it shows is behind its ask, so several changes in between are one
//! redraw, and a crash at any point is made good at the next start.
//!
//! INVARIANT: a message that outlives this process is noted before the next is posted, so that a
//! crash leaves at most one of which nobody knows. Everything else may be noted late: it is only
//! drawn again.
//! INVARIANT: only a daemon that leads sends, and what it sent counts only if it still leads then.

mod bundles;
mod cards;
mod failures;
mod messages;
mod threads;

use crate::{
    Adapters, Term,
    adapters::ReceivingState,
    card,
    outbox::{
        bundles::Rush,
        cards::{WriteBuffer, shown},
        failures::Outage,
        threads::ThreadPause,
    },
};
use countersign_gate::Gate;
use countersign_port::{CancellationToken, NamedAdapter, Posting, Target};
use countersign_store::{Belongs, BundleNews, Due, Event, Shown, Store, StoreError, Tail};
use countersign_tokens::clock;
use std::{sync::Arc, time::Duration};
use tokio::{sync::watch, time::Instant};

/// How often it is looked though nothing is known to be due.
const LOOK_AGAIN_MS: i64 = 30_000;
/// How often it is looked for what other daemons changed, when no hint of it came.
const LOOK_MS: i64 = 1_000;
/// How long cards count as they were read: new asks come before old redraws.
const FRESH: Duration = Duration::from_millis(10);

/// Delivers to one target for a term. When told to finish it tries what is due once more and ends.
pub async fn deliver(
    gate: Arc<Gate>,
    store: Store,
    adapter: NamedAdapter,
    adapters: Adapters,
    target: String,
    term: Arc<Term>,
    finish: CancellationToken,
) {
    let receiving = ReceivingState::new(adapter.clone(), adapters);
    let mut worker = OutboxWorker::new(gate, store, adapter, receiving, target, term.clone());
    let mut changes = worker.gate.changes();
    let mut access = worker.adapter.signals().follow_access();
    let mut reconciled = false;
    while term.holds() {
        changes.mark_unchanged();
        if access.has_changed().unwrap_or_default() {
            access.mark_unchanged();
            worker.take_up().await;
        }
        let last = finish.is_cancelled();
        if !reconciled {
            reconciled = worker.reconcile().await;
        }
        let pause = tokio::select! {
            pause = worker.round() => pause,
            () = term.ended() => return,
        };
        if last {
            if let Err(error) = worker.note_shown().await {
                tracing::warn!(adapter = worker.adapter.name, %error, "cards are drawn again");
            }
            return;
        }
        let (time, by_access, by_change) = match pause {
            SendPause::Quiet(time) => (time, false, false),
            SendPause::UntilAccess(time) => (time, true, false),
            SendPause::UntilChange(time) => (time, true, true),
        };
        tokio::select! {
            () = tokio::time::sleep(time) => {}
            _ = changes.changed(), if by_change => {}
            // Left marked as changed, so that what was given up is taken up.
            changed = access.changed(), if by_access => if changed.is_ok() { access.mark_changed() },
            () = worker.receiving.changed(), if by_change => {}
            () = finish.cancelled() => if !by_change { return },
            () = term.ended() => return,
        }
    }
}

struct OutboxWorker {
    gate: Arc<Gate>,
    store: Store,
    adapter: NamedAdapter,
    receiving: ReceivingState,
    target: String,
    term: Arc<Term>,
    remote: Option<RemoteAsks>,
    /// What cards show that is not noted yet.
    shown: WriteBuffer,
    /// What failed since something went through.
    outage: Outage,
    /// Whether the last thing sent was refused by the target itself.
    refused: bool,
    /// Whether a card was given up since what was given up was last taken up.
    gave_up: bool,
    /// The agent that had the last first turn.
    last_turn: String,
    /// How fast cards come.
    rush: Rush,
    thread_pause: ThreadPause,
}

/// How far the showing of a page came.
enum PageProgress {
    Done,
    /// Some of it may have changed, and is to be read again.
    Broken,
    /// Nothing more for so long.
    Quiet(Duration),
}

impl OutboxWorker {
    fn new(
        gate: Arc<Gate>,
        store: Store,
        adapter: NamedAdapter,
        receiving: ReceivingState,
        target: String,
        term: Arc<Term>,
    ) -> Self {
        Self {
            gate,
            store,
            adapter,
            receiving,
            target,
            term,
            remote: None,
            shown: WriteBuffer::default(),
            outage: Outage::default(),
            refused: false,
            gave_up: false,
            last_turn: String::new(),
            rush: Rush::default(),
            thread_pause: ThreadPause::default(),
        }
    }

    /// Makes cards for what other daemons have been asked; whether there was anything.
    async fn hear(&mut self) -> Result<bool, StoreError> {
        match &mut self.remote {
            Some(news) => news.add_cards(&self.store, self.adapter.name, &self.target).await,
            None => Ok(false),
        }
    }

    /// Shows what is due, and says how long to rest.
    async fn round(&mut self) -> SendPause {
        match self.try_round().await {
            Ok(pause) => pause,
            Err(error) => {
                tracing::error!(adapter = self.adapter.name, %error, "the outbox cannot be read");
                SendPause::Quiet(Duration::from_secs(1))
            }
        }
    }

    async fn try_round(&mut self) -> Result<SendPause, StoreError> {
        let name = self.adapter.name;
        loop {
            if self.shown.is_long_ago() {
                self.note_shown().await?;
            }
            let now = clock::now_ms();
            let target = &self.target;
            let last_turn = &self.last_turn;
            let page =
                self.store.due_cards(name, target, now, self.term.fence(), last_turn, PAGE).await?;
            let due = page.due;
            let last = !page.more;
            let due = self.fold(self.shown.behind(due)).await?;
            if let Some(time) = self.show_bundles(BundleNews::Unseen).await? {
                self.note_shown().await?;
                return Ok(SendPause::Quiet(time));
            }
            let mut page = self.show_all(due).await?;
            if matches!(page, PageProgress::Done)
                && last
                && let Some(time) = self.show_bundles(BundleNews::Any).await?
            {
                page = PageProgress::Quiet(time);
            }
            // What was asked here has its cards already, and waits for no other daemon's news.
            if matches!(page, PageProgress::Done) && last && !self.hear().await? {
                match self.redraw_muted().await? {
                    Some(redrawn) => page = redrawn,
                    None => break,
                }
            }
            if let PageProgress::Quiet(time) = page {
                self.note_shown().await?;
                let refused = std::mem::take(&mut self.refused);
                return Ok(if refused {
                    SendPause::UntilAccess(time)
                } else {
                    SendPause::Quiet(time)
                });
            }
        }
        if let Some(time) = self.remind().await? {
            return Ok(SendPause::Quiet(time));
        }
        if let Some(time) = self.close_idle().await? {
            return Ok(SendPause::Quiet(time));
        }
        if let Some(time) = self.send_digest().await? {
            return Ok(SendPause::Quiet(time));
        }
        if let Some(left) = self.shown.left() {
            return Ok(SendPause::UntilChange(left));
        }
        let next = self.store.next_due(name, &self.target).await?;
        let longest = if self.store.is_shared() { LOOK_MS } else { LOOK_AGAIN_MS };
        let left = next.map_or(longest, |at| at.saturating_sub(clock::now_ms()));
        let left = u64::try_from(left.clamp(50, longest)).unwrap_or(50);
        Ok(SendPause::UntilChange(Duration::from_millis(left)))
    }

    /// Shows these cards, as far as they are fresh.
    async fn show_all(&mut self, due: Vec<Due>) -> Result<PageProgress, StoreError> {
        let read = Instant::now();
        let all = due.len();
        let due = self.outage.probe(due);
        let left_out = due.len() < all;
        for Due { card, ask } in due {
            if card.target != self.target {
                // The target has moved meanwhile, and this message with it.
                return Ok(PageProgress::Broken);
            }
            let quiet = match ask {
                Ok(ask) => self.show(&card, &ask).await?,
                Err(error) => {
                    self.give_up(&card, &error.to_string()).await?;
                    None
                }
            };
            if let Some(time) = quiet {
                return Ok(PageProgress::Quiet(time));
            }
            if read.elapsed() > FRESH {
                return Ok(PageProgress::Broken);
            }
        }
        Ok(if left_out { PageProgress::Broken } else { PageProgress::Done })
    }

    // INVARIANT: what the store does not take is kept and noted first of all when it does again, so
    // that no message is posted twice while this process lives.
    async fn note_shown(&mut self) -> Result<(), StoreError> {
        let shown = self.shown.all();
        if shown.is_empty() {
            return Ok(());
        }
        let led = self.store.cards_shown(&shown, self.term.fence()).await?;
        let adapter = self.adapter.name;
        self.shown = WriteBuffer::default();
        for Shown { ask, version, .. } in shown {
            if led {
                tracing::info!(adapter, ask_id = %ask, version, "a card stands");
            } else {
                tracing::warn!(adapter, ask_id = %ask,
                    "a card was shown after another daemon took over; that one redraws it");
            }
        }
        if !led {
            self.term.end();
        }
        Ok(())
    }
}

/// How many due cards are read at once.
pub(super) const PAGE: u32 = 100;

/// What a worker waits for after a round, besides the time.
enum SendPause {
    /// The platform asked for quiet: nothing is sent before, whatever changes.
    Quiet(Duration),
    /// The target refuses what is sent; it may be told that it does not any more.
    UntilAccess(Duration),
    /// Whatever changes.
    UntilChange(Duration),
}

// What a start makes up for, before anything is sent.

impl OutboxWorker {
    /// Makes up for what was left out; false: it has to be tried again.
    async fn reconcile(&mut self) -> bool {
        match self.try_reconcile().await {
            Ok(()) => true,
            Err(error) => {
                tracing::error!(adapter = self.adapter.name, %error, "cannot reconcile cards");
                false
            }
        }
    }

    async fn try_reconcile(&mut self) -> Result<(), StoreError> {
        let keeps = self.adapter.keeps_messages();
        if self.store.is_shared() && !keeps {
            self.remote = Some(RemoteAsks::of_now(&self.gate, &self.store).await?);
        }
        let belongs = match self.gate.shows_at(self.adapter.name, &self.target) {
            // The inbox shows every ask, wherever else it is shown.
            true if !keeps => Belongs::Everything,
            true => Belongs::Unrouted,
            false => Belongs::Nothing,
        };
        self.store.reconcile(self.adapter.name, &self.target, keeps, belongs).await?;
        if keeps { Ok(()) } else { self.put_up_again().await }
    }

    /// Posts the cards again on a platform that forgets with its process. Where they are then as
    /// the rows say, nothing is noted: a hundred thousand cards are back within seconds.
    async fn put_up_again(&mut self) -> Result<(), StoreError> {
        let name = self.adapter.name;
        let mut last = None;
        let target = Target(self.target.clone());
        loop {
            let page = self.store.posted_cards(name, &self.target, last.as_ref(), PAGE).await?;
            for Due { card: row, ask } in page.due {
                let ask = match ask {
                    Ok(ask) => ask,
                    Err(error) => {
                        self.give_up(&row, &error.to_string()).await?;
                        continue;
                    }
                };
                let card = card::draw(&ask, self.origin(&row));
                match self.adapter.post(&target, &card, Posting::MayRepeat).await {
                    Ok(message) if row.message.as_ref() == Some(&message.0) => {}
                    Ok(message) => self.shown.add(shown(&row, &message.0, &ask)),
                    Err(error) => {
                        tracing::warn!(adapter = name, ask_id = %ask.id, %error,
                            "a card that was shown is not shown yet");
                        self.store.card_lost(&row.nonce).await?;
                    }
                }
                last = Some(ask);
            }
            self.note_shown().await?;
            if !page.more {
                return Ok(());
            }
        }
    }
}

/// What other daemons are asked. They know nothing of a place that is only here, such as the inbox,
/// so the cards for it are made here.
#[derive(Debug)]
struct RemoteAsks {
    /// This daemon.
    here: String,
    tail: Tail,
    news: watch::Receiver<u64>,
    /// Which news was read last.
    read: Option<u64>,
    /// What was read of and has no card here yet.
    asked: Vec<String>,
}

impl RemoteAsks {
    /// From now on.
    pub(super) async fn of_now(gate: &Gate, store: &Store) -> Result<Self, StoreError> {
        let tail = Tail::of_now(store).await?;
        let here = gate.daemon().to_owned();
        let news = gate.remote_changes();
        Ok(Self { here, tail, news, read: None, asked: Vec::new() })
    }

    /// Makes cards for what is new; whether there was anything.
    async fn add_cards(
        &mut self,
        store: &Store,
        adapter: &str,
        target: &str,
    ) -> Result<bool, StoreError> {
        let news = *self.news.borrow();
        if self.read != Some(news) {
            let events = self.tail.next(store).await?;
            self.read = Some(news);
            self.asked.extend(events.into_iter().filter_map(|event| asked(event, &self.here)));
        }
        // The tail tells everything once: what cannot be put in now is kept.
        store.add_cards(adapter, target, self.asked.clone()).await?;
        Ok(!std::mem::take(&mut self.asked).is_empty())
    }
}

/// What another daemon was asked.
fn asked(event: Event, here: &str) -> Option<String> {
    let daemon = event.data.get("daemon").and_then(serde_json::Value::as_str);
    event.ask.filter(|_| event.kind == "asked" && daemon != Some(here))
}

// Cards with buttons where presses are not received any more, or without where they are
// again.

/// How many are redrawn before it is looked for anything new: an edit counts against the limits of
/// a chat.
const FEW: u32 = 5;

impl OutboxWorker {
    /// Redraws some of them; `None` where there are none to redraw now.
    async fn redraw_muted(&mut self) -> Result<Option<PageProgress>, StoreError> {
        let Some(muted) = self.receiving.redraws() else { return Ok(None) };
        // What was just drawn is not drawn again.
        self.note_shown().await?;
        let name = self.adapter.name;
        let find =
            async |now| self.store.drawn_otherwise(name, &self.target, muted, now, FEW).await;
        let cards = find(clock::now_ms()).await?;
        if !cards.is_empty() {
            return self.show_all(cards).await.map(Some);
        }
        // Those that failed wait for their time.
        if find(i64::MAX).await?.is_empty() {
            self.receiving.all_drawn(muted);
        }
        Ok(None)
    }
}
