//! The event log as a live stream, for every route that serves one: the open asks first, then what
//! happens, one event at a time.

use super::{
    state::Api,
    turns::{LargeReplies, LargeReply},
};
use crate::{
    gate::{Gate, ask::Ask},
    store::{Event as Happened, Place, Store, StoreError, Tail},
};
use axum::response::sse::{Event, KeepAlive, Sse};
use futures::{Stream, StreamExt, stream};
use std::{collections::VecDeque, convert::Infallible, sync::Arc};
use tokio::sync::watch;

/// Decides what a reader gets.
pub(in crate::api) trait Feed: Send + 'static {
    /// The event for this piece of news, with its size in bytes; `None` where the reader gets none.
    fn event(&mut self, news: News) -> Option<(Event, usize)>;
}

/// What a reader may have to be told.
pub(in crate::api) enum News {
    /// Events that the reader has not read are no longer kept; the open asks follow.
    Forgotten,
    /// An ask that is open when the stream begins.
    Open(Ask),
    /// An event of the log.
    Happened {
        /// The event.
        event: Happened,
        /// Its ask as it is now.
        ask: Option<Ask>,
        /// After which event a reader goes on who has read this one.
        resume: i64,
    },
}

/// What a reader gets before anything else.
pub(in crate::api) enum Backlog {
    /// That events are forgotten, then the open asks.
    Forgotten,
    /// The open asks from this place on.
    From(Option<Place>),
    /// Nothing more.
    Sent,
}

/// Streams events until the daemon stops or the store fails; the reader comes back then.
pub(in crate::api) fn serve<F: Feed>(
    api: &Api,
    tail: Tail,
    backlog: Backlog,
    feed: F,
) -> Sse<impl Stream<Item = Result<Event, Infallible>> + use<F>> {
    let (gate, store, turns) = (api.gate.clone(), api.store.clone(), api.turns.clone());
    let live = Live::new(gate, store, turns, tail, backlog, feed);
    Sse::new(stream::unfold(live, Live::next).map(Ok)).keep_alive(KeepAlive::default())
}

/// One reader's stream.
pub(in crate::api) struct Live<F> {
    gate: Arc<Gate>,
    store: Store,
    turns: LargeReplies,
    changes: watch::Receiver<u64>,
    tail: Tail,
    backlog: Backlog,
    /// What is sent next, by name: a body is read when it is its turn, and no sooner.
    next: VecDeque<Next>,
    /// Held until the last event is taken, where that is large.
    turn: Option<LargeReply>,
    feed: F,
}

enum Next {
    Forgotten,
    Open(String),
    Happened(Happened),
}

impl<F: Feed> Live<F> {
    pub(in crate::api) fn new(
        gate: Arc<Gate>,
        store: Store,
        turns: LargeReplies,
        tail: Tail,
        backlog: Backlog,
        feed: F,
    ) -> Self {
        let (changes, next) = (gate.changes(), VecDeque::new());
        Self { gate, store, turns, changes, tail, backlog, next, turn: None, feed }
    }

    /// The next event, waiting for it if need be; `None` ends the stream, its reader comes back.
    // INVARIANT: one event at a time, and it is made when the one before was taken: a reader that
    // does not read holds no more than that.
    pub(in crate::api) async fn next(mut self) -> Option<(Event, Self)> {
        self.turn = None;
        loop {
            while let Some(next) = self.next.pop_front() {
                let turn = self.turns.of_stream().await?;
                let Some(news) = self.news(next).await.ok()? else { continue };
                if let Some((event, bytes)) = self.feed.event(news) {
                    self.turn = turn.for_size(bytes);
                    return Some((event, self));
                }
            }
            self.changes.mark_unchanged();
            if self.look().await.ok()? {
                continue;
            }
            tokio::select! {
                changed = self.changes.changed() => changed.ok()?,
                () = self.gate.stopped() => return None,
            }
        }
    }

    /// Looks for news; whether there may be any.
    async fn look(&mut self) -> Result<bool, StoreError> {
        let store = &self.store;
        match &self.backlog {
            Backlog::Forgotten => {
                self.next.push_back(Next::Forgotten);
                self.backlog = Backlog::From(None);
            }
            Backlog::From(place) => {
                let (open, next) = store.open_ids(place.as_ref()).await?;
                self.backlog = next.map_or(Backlog::Sent, |place| Backlog::From(Some(place)));
                self.next.extend(open.into_iter().map(Next::Open));
            }
            Backlog::Sent => {
                self.next.extend(self.tail.next(store).await?.into_iter().map(Next::Happened));
                return Ok(!self.next.is_empty());
            }
        }
        Ok(true)
    }

    async fn news(&mut self, next: Next) -> Result<Option<News>, StoreError> {
        let store = &self.store;
        Ok(match next {
            Next::Forgotten => Some(News::Forgotten),
            Next::Open(id) => {
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

    /// Whether nothing is left that it knows of.
    #[cfg(test)]
    pub(in crate::api) fn is_caught_up(&self) -> bool {
        self.next.is_empty()
    }
}
