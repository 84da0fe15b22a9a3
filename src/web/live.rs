//! Serves the event log as a live stream, for every route that has one: the open asks first, then
//! new events, one at a time.

use super::{
    reader::AskReader,
    state::Api,
    turns::{LargeReplies, LargeReply},
};
use axum::response::sse::{Event, KeepAlive, Sse};
use countersign_gate::{Gate, ask::Ask};
use countersign_store::{Event as Happened, ListCursor, Store, StoreError, Tail};
use futures::{Stream, StreamExt, stream};
use std::{collections::VecDeque, convert::Infallible, sync::Arc};
use tokio::sync::watch;

/// Selects and encodes the events for one kind of reader.
pub(crate) trait Feed: Send + 'static {
    /// Whether this reader gets such an event at all. It is asked before the ask is read.
    fn wants(&self, event: &Happened) -> bool {
        !event.is_quiet()
    }

    /// Encodes one piece of news, with its size in bytes; `None` if this reader does not get it.
    fn event(&mut self, news: News) -> Option<(Event, usize)>;
}

/// News for a reader.
pub(crate) enum News {
    /// Events that the reader has not read are no longer stored; the open asks follow.
    Forgotten,
    /// An ask that is open when the stream begins.
    Open(Ask),
    /// An event of the log.
    Happened {
        /// The event.
        event: Happened,
        /// Its ask in the current state.
        ask: Option<Ask>,
        /// The id to resume after, once this event has been read.
        resume: i64,
    },
}

/// The events that a reader gets before new ones.
pub(crate) enum Backlog {
    /// One event `forgotten`, then the open asks.
    Forgotten,
    /// The open asks from this position on.
    From(Option<ListCursor>),
    /// Nothing; everything has been sent.
    Sent,
}

/// When a stream ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamEnd {
    /// It follows what happens.
    Never,
    /// Once everything that has happened was sent.
    CaughtUp,
}

/// Streams events until the daemon stops or the store fails; the reader reconnects then.
pub(crate) fn serve<F: Feed>(
    api: &Api,
    reader: AskReader,
    tail: Tail,
    backlog: Backlog,
    feed: F,
) -> Sse<impl Stream<Item = Result<Event, Infallible>> + use<F>> {
    serve_until(StreamEnd::Never, api, reader, tail, backlog, feed)
}

/// The same with an end of its own.
pub(crate) fn serve_until<F: Feed>(
    end: StreamEnd,
    api: &Api,
    reader: AskReader,
    tail: Tail,
    backlog: Backlog,
    feed: F,
) -> Sse<impl Stream<Item = Result<Event, Infallible>> + use<F>> {
    let (gate, store, turns) = (api.gate.clone(), api.store.clone(), api.turns.clone());
    let live = Live::new(gate, store, turns, tail, backlog, feed);
    let live = Live { end, reader: Some(reader), ..live };
    Sse::new(stream::unfold(live, Live::next).map(Ok)).keep_alive(KeepAlive::default())
}

/// One reader's stream.
pub(crate) struct Live<F> {
    gate: Arc<Gate>,
    store: Store,
    turns: LargeReplies,
    changes: watch::Receiver<u64>,
    tail: Tail,
    backlog: Backlog,
    /// The next news, by id: each body is read from the store only when it is sent.
    next: VecDeque<Next>,
    /// Held while the last event is written, if it is large.
    turn: Option<LargeReply>,
    end: StreamEnd,
    /// Who reads; `None`: a test that reads everything.
    reader: Option<AskReader>,
    feed: F,
}

enum Next {
    Forgotten,
    Open(String),
    Happened(Happened),
}

impl<F: Feed> Live<F> {
    pub(crate) fn new(
        gate: Arc<Gate>,
        store: Store,
        turns: LargeReplies,
        tail: Tail,
        backlog: Backlog,
        feed: F,
    ) -> Self {
        let (changes, next, end) = (gate.changes(), VecDeque::new(), StreamEnd::Never);
        let (turn, reader) = (None, None);
        Self { gate, store, turns, changes, tail, backlog, next, turn, end, reader, feed }
    }

    /// Waits for the next event; `None` ends the stream, and the reader reconnects.
    // INVARIANT: an event is built only after the one before was taken, so a reader that stops
    // reading holds one event in memory and no more.
    pub(crate) async fn next(mut self) -> Option<(Event, Self)> {
        self.turn = None;
        loop {
            while let Some(next) = self.next.pop_front() {
                let turn = self.turns.of_stream().await?;
                // An error ends the stream. Skipping the event would hide it from this reader for
                // good.
                let Some(news) = self.news(next).await.ok()? else { continue };
                if !self.may_read(&news) {
                    continue;
                }
                if let Some((event, bytes)) = self.feed.event(news) {
                    is_accepted(self.reader.clone(), self.store.clone()).await?;
                    self.turn = turn.for_size(bytes);
                    return Some((event, self));
                }
            }
            // Marked before the read: a change during it makes `changed` return at once.
            self.changes.mark_unchanged();
            if self.look().await.ok()? {
                continue;
            }
            if self.end == StreamEnd::CaughtUp {
                return None;
            }
            tokio::select! {
                changed = self.changes.changed() => changed.ok()?,
                () = self.gate.stopped() => return None,
            }
        }
    }

    /// Fetches news; returns whether there may be any.
    async fn look(&mut self) -> Result<bool, StoreError> {
        let store = &self.store;
        match &self.backlog {
            Backlog::Forgotten => {
                self.next.push_back(Next::Forgotten);
                self.backlog = Backlog::From(None);
            }
            Backlog::From(place) => {
                // Ids only: bodies of thousands of open asks would be held for as long as the
                // reader takes.
                let (open, next) = store.open_ids(place.as_ref()).await?;
                self.backlog = next.map_or(Backlog::Sent, |place| Backlog::From(Some(place)));
                self.next.extend(open.into_iter().map(Next::Open));
            }
            Backlog::Sent => {
                let happened = self.tail.next(store).await?;
                let found = !happened.is_empty();
                let wanted = happened.into_iter().filter(|event| self.feed.wants(event));
                self.next.extend(wanted.map(Next::Happened));
                return Ok(found);
            }
        }
        Ok(true)
    }

    fn may_read(&self, news: &News) -> bool {
        let Some(reader) = &self.reader else { return true };
        match news {
            News::Forgotten => true,
            News::Open(ask) => reader.may_read(ask),
            News::Happened { event, ask, .. } => reader.may_read_event(event, ask.as_ref()),
        }
    }

    async fn news(&mut self, next: Next) -> Result<Option<News>, StoreError> {
        let store = &self.store;
        Ok(match next {
            Next::Forgotten => Some(News::Forgotten),
            Next::Open(id) => {
                // An ask that closed since its id was listed is skipped; its end is in the log.
                store.whole_ask(&id).await?.filter(|ask| ask.is_open()).map(News::Open)
            }
            Next::Happened(event) => {
                let ask = match &event.ask {
                    Some(id) => store.whole_ask(id).await?,
                    None => None,
                };
                let resume = self.tail.resume(event.id);
                Some(News::Happened { event, ask, resume })
            }
        })
    }

    /// Returns whether no news is queued.
    #[cfg(test)]
    pub(crate) fn is_caught_up(&self) -> bool {
        self.next.is_empty()
    }
}

/// `None` ends the stream: the reader's token was revoked, or nobody can tell.
async fn is_accepted(reader: Option<AskReader>, store: Store) -> Option<()> {
    let Some(reader) = reader else { return Some(()) };
    reader.is_accepted(&store).await.ok()?.then_some(())
}
