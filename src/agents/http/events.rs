//! `GET /v1/events`: what happens, as server-sent events.
//!
//! A new reader gets every open ask first; one that comes back with `Last-Event-ID` gets what it
//! missed. The `id:` of an event is where its reader goes on, and not always its own: on PostgreSQL
//! an earlier event may still turn up. The event's own id is in its data.

use super::{
    Api, Fault,
    turns::{Turn, Turns},
    view::view,
};
use crate::{
    gate::Gate,
    store::{Event as Happened, Place, StoreError, Tail},
};
use axum::{
    extract::State,
    http::HeaderMap,
    response::sse::{Event, KeepAlive, Sse},
};
use futures::{Stream, StreamExt, stream};
use serde_json::{Value, json};
use std::{collections::VecDeque, convert::Infallible, sync::Arc};
use tokio::sync::watch;

pub(super) async fn stream(
    State(api): State<Api>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Fault> {
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let (tail, backlog) = match last {
        Some(after) => (Tail::after(after), Backlog::Told),
        // The tail first: what is closed between the two is told.
        None => (Tail::of_now(api.gate.store()).await?, Backlog::From(None)),
    };
    let live = Live::new(api.gate.clone(), api.turns.clone(), tail, backlog);
    let events = stream::unfold(live, Live::next).map(Ok);
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}

struct Live {
    gate: Arc<Gate>,
    turns: Turns,
    changes: watch::Receiver<u64>,
    tail: Tail,
    backlog: Backlog,
    /// What is told next, by name: a body is read when it is its turn, and no sooner.
    next: VecDeque<Next>,
    /// Held as long as the event that was told last is not taken, where that is large.
    turn: Option<Turn>,
}

/// What a new reader is to get of the open asks before anything else.
enum Backlog {
    From(Option<Place>),
    Told,
}

enum Next {
    Open(String),
    Happened(Happened),
}

impl Live {
    fn new(gate: Arc<Gate>, turns: Turns, tail: Tail, backlog: Backlog) -> Self {
        let (changes, next) = (gate.changes(), VecDeque::new());
        Self { gate, turns, changes, tail, backlog, next, turn: None }
    }

    /// The next event, waiting for it if need be; `None` ends the stream, its reader comes back.
    // INVARIANT: one event at a time, and it is made when the one before was taken: a reader that
    // does not read holds no more than that.
    async fn next(mut self) -> Option<(Event, Self)> {
        self.turn = None;
        loop {
            while let Some(next) = self.next.pop_front() {
                let turn = self.turns.of_stream().await?;
                if let Some((event, bytes)) = self.tell(next).await.ok()? {
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

    /// Looks for what is to be told; whether there may be anything.
    async fn look(&mut self) -> Result<bool, StoreError> {
        let store = self.gate.store();
        if let Backlog::From(place) = &self.backlog {
            let (open, next) = store.open_ids(place.as_ref()).await?;
            self.backlog = next.map_or(Backlog::Told, |place| Backlog::From(Some(place)));
            self.next.extend(open.into_iter().map(Next::Open));
            return Ok(true);
        }
        self.next.extend(self.tail.next(store).await?.into_iter().map(Next::Happened));
        Ok(!self.next.is_empty())
    }

    /// An event and its size.
    async fn tell(&self, next: Next) -> Result<Option<(Event, usize)>, StoreError> {
        let store = self.gate.store();
        let happened = match next {
            Next::Open(id) => {
                let ask = store.whole_ask(&id).await?.filter(|ask| ask.is_open());
                return Ok(ask.map(|ask| event(None, "ask", &view(&ask))));
            }
            Next::Happened(happened) => happened,
        };
        let ask = match &happened.ask {
            Some(id) => store.whole_ask(id).await?,
            None => None,
        };
        let data = json!({"id": happened.id, "at": happened.at, "data": happened.data,
            "ask": ask.as_ref().map(view)});
        Ok(Some(event(Some(self.tail.resume(happened.id)), &happened.kind, &data)))
    }
}

fn event(resume: Option<i64>, kind: &str, data: &Value) -> (Event, usize) {
    // JSON has no line breaks of its own.
    let data = data.to_string();
    let bytes = data.len();
    let event = Event::default().event(kind).data(data);
    let event = match resume {
        Some(id) => event.id(id.to_string()),
        None => event,
    };
    (event, bytes)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use crate::{
        bridge::weather::{Town, chat::Chat},
        store::engines::on_both,
    };

    #[tokio::test]
    async fn a_damaged_ask_ends_no_stream_of_events() {
        on_both(async |store| {
            let town = Town::open(&store, &Arc::new(Chat::default())).await;
            let (bad, _good) = (town.ask("bad", None).await, town.ask("good", None).await);
            store.damage(&bad.id, "push origin bad", "push origin worse").await;
            let (gate, tail) = (town.gate.clone(), Tail::after(0));
            let mut live = Live::new(gate, Turns::default(), tail, Backlog::From(None));
            let mut told = Vec::new();
            for _ in 0..3 {
                let (event, next) = live.next().await.unwrap();
                told.push(format!("{event:?}"));
                live = next;
            }
            let kinds = ["event: ask", "event: asked", "event: asked"];
            assert!(told.iter().zip(kinds).all(|(told, kind)| told.contains(kind)), "{told:?}");
            assert!(live.next.is_empty(), "the other one is open, both were asked");
        })
        .await;
    }
}
