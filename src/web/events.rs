//! `GET /v1/events`: the event log as server-sent events.
//!
//! A new reader gets every open ask first, or with `last` so many of the latest events. A reader
//! that resumes with `Last-Event-ID` gets what it missed. If those events are no longer stored, it
//! gets one event `forgotten` and starts again.
//!
//! The `id:` of an event is the id to resume after, which is not always the event's own: on
//! PostgreSQL an earlier event may still appear. The event's own id is in its data.

use crate::{
    Api,
    asks::view,
    error::ApiError,
    handle::AskReader,
    request::Params,
    turns::{LargeReplies, LargeReply},
};
use axum::{
    http::HeaderMap,
    response::sse::{Event, KeepAlive, Sse},
};
use countersign_domain::wire::{EventView, EventsQuery, ForgottenView};
use countersign_gate::{Gate, ask::Ask};
use countersign_store::{Event as Happened, ListCursor, Resumed, Store, StoreError, Tail};
use futures::{Stream, StreamExt, stream};
use serde::Serialize;
use std::{collections::VecDeque, convert::Infallible, sync::Arc};
use tokio::sync::watch;

pub(super) async fn stream(
    api: Api,
    reader: AskReader,
    query: Params<EventsQuery>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, ApiError> {
    let EventsQuery { last: latest, follow, all } = query.read()?;
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let (tail, backlog) = match (last, latest) {
        (None, Some(latest)) => {
            (Tail::of_last(&api.store, latest, all == Some(true)).await?, Backlog::Sent)
        }
        (Some(after), _) => match Tail::resume_after(&api.store, after).await? {
            Resumed::There(tail) => (tail, Backlog::Sent),
            Resumed::Forgotten(tail) => (tail, Backlog::Forgotten),
        },
        // The position is taken before the open asks are read: an ask that closes in between is in
        // the log.
        (None, None) => (Tail::of_now(&api.store).await?, Backlog::From(None)),
    };
    let end = if follow == Some(false) { StreamEnd::CaughtUp } else { StreamEnd::Never };
    let feed = EveryEvent { all: all == Some(true) };
    Ok(serve(end, &api, reader, tail, backlog, feed))
}

/// Sends every event of the log with its ask; those that only the log shows where `all` is wanted.
struct EveryEvent {
    all: bool,
}

impl Feed for EveryEvent {
    fn wants(&self, event: &Happened) -> bool {
        self.all || !event.is_quiet()
    }

    fn event(&mut self, news: News) -> Option<(Event, usize)> {
        Some(match news {
            News::Forgotten => {
                let message = "events that you have not read are no longer kept; here are all open \
                               asks, then the events that are kept";
                event(None, "forgotten", &ForgottenView { message: message.to_owned() })
            }
            News::Open(ask) => event(None, "ask", &view(&ask)),
            News::Happened { event: happened, ask, resume } => {
                let ask = ask.as_ref().map(view);
                let id = happened.id;
                let at = happened.at;
                let data = happened.data;
                event(Some(resume), &happened.kind, &EventView { id, at, data, ask })
            }
        })
    }
}

fn event(resume: Option<i64>, kind: &str, data: &impl Serialize) -> (Event, usize) {
    // JSON on one line, as a line break would end the `data:` field. The protocol's types always
    // serialize.
    let data = serde_json::to_string(data).unwrap_or_default();
    let bytes = data.len();
    let event = Event::default().event(kind).data(data);
    let event = match resume {
        Some(id) => event.id(id.to_string()),
        None => event,
    };
    (event, bytes)
}

// Serves the event log as a live stream, for every route that has one: the open asks first, then
// new events, one at a time.

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
    end: StreamEnd,
    api: &Api,
    reader: AskReader,
    tail: Tail,
    backlog: Backlog,
    feed: F,
) -> Sse<impl Stream<Item = Result<Event, Infallible>> + use<F>> {
    let gate = api.gate.clone();
    let store = api.store.clone();
    let turns = api.turns.clone();
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
        let changes = gate.changes();
        Self {
            gate,
            store,
            turns,
            changes,
            tail,
            backlog,
            next: VecDeque::new(),
            turn: None,
            end: StreamEnd::Never,
            reader: None,
            feed,
        }
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
                    is_accepted(self.reader.clone(), self.gate.clone(), self.store.clone()).await?;
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
async fn is_accepted(reader: Option<AskReader>, gate: Arc<Gate>, store: Store) -> Option<()> {
    let Some(reader) = reader else { return Some(()) };
    reader.is_accepted(&gate, &store).await.ok()?.then_some(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use crate::{LargeReplies, events::Live};
    use countersign_bridge::testkit::{Scenario, chat::FakeChat};
    use countersign_store::testkit::engines::on_both;
    use std::sync::Arc;

    #[tokio::test]
    async fn a_damaged_ask_ends_no_stream_of_events() {
        on_both(async |store| {
            let scenario = Scenario::open(&store, &Arc::new(FakeChat::default())).await;
            let bad = scenario.ask("bad", None).await;
            let _good = scenario.ask("good", None).await;
            store.damage(&bad.id, "push origin bad", "push origin worse").await;
            let gate = scenario.gate.clone();
            let tail = Tail::after(0);
            let backlog = Backlog::From(None);
            let mut live = Live::new(
                gate,
                store,
                LargeReplies::default(),
                tail,
                backlog,
                EveryEvent { all: false },
            );
            let mut sent = Vec::new();
            for _ in 0..3 {
                let (event, next) = live.next().await.unwrap();
                sent.push(format!("{event:?}"));
                live = next;
            }
            let kinds = ["event: ask", "event: asked", "event: asked"];
            assert!(sent.iter().zip(kinds).all(|(sent, kind)| sent.contains(kind)), "{sent:?}");
            assert!(live.is_caught_up(), "the other one is open, both were asked");
        })
        .await;
    }
}
