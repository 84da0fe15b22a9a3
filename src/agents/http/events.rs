//! `GET /v1/events`: what happens, as server-sent events.
//!
//! A new reader gets every open ask first; one that comes back with `Last-Event-ID` gets what it missed.
//! The `id:` of an event is where its reader goes on, and not always its own: on PostgreSQL an earlier
//! event may still turn up. The event's own id is in its data.

use super::{Api, Fault, view::view};
use crate::{
    gate::{Gate, ask::Ask},
    store::{Event as Happened, Store, StoreError, Tail},
};
use axum::{
    extract::State,
    http::HeaderMap,
    response::sse::{Event, KeepAlive, Sse},
};
use futures::{Stream, StreamExt, stream};
use serde_json::json;
use std::{convert::Infallible, sync::Arc};
use tokio::sync::watch;

pub(super) async fn stream(
    State(api): State<Api>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Fault> {
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let (tail, backlog) = match last {
        Some(after) => (Tail::after(after), None),
        // The tail first: what is closed between the two is told.
        None => (Tail::of_now(api.gate.store()).await?, Some(Page::First)),
    };
    let live = Live { changes: api.gate.changes(), gate: api.gate.clone(), tail, backlog };
    let events = stream::unfold(live, Live::next).flatten().map(Ok);
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}

struct Live {
    gate: Arc<Gate>,
    changes: watch::Receiver<u64>,
    tail: Tail,
    /// What a new reader is to get of the open asks before anything else.
    backlog: Option<Page>,
}

/// A page of the open asks.
enum Page {
    First,
    Behind(Box<Ask>),
}

impl Live {
    /// The next events, waiting for them if need be; `None` ends the stream, its reader comes back.
    async fn next(mut self) -> Option<(impl Stream<Item = Event>, Self)> {
        loop {
            self.changes.mark_unchanged();
            // Half of them are none: their reader comes back for all of them.
            let (events, quiet) = match self.backlog.take() {
                Some(page) => (self.open(page).await.ok()?, false),
                None => (self.happened().await.ok()?, true),
            };
            if !events.is_empty() {
                return Some((stream::iter(events), self));
            }
            if quiet {
                tokio::select! {
                    changed = self.changes.changed() => changed.ok()?,
                    () = self.gate.stopped() => return None,
                }
            }
        }
    }

    async fn open(&mut self, page: Page) -> Result<Vec<Event>, StoreError> {
        let after = match &page {
            Page::First => None,
            Page::Behind(ask) => Some(&**ask),
        };
        let mut asks = self.gate.store().asks_in("open", after).await?;
        let events = asks.iter().filter_map(|ask| event(None, "ask", &view(ask))).collect();
        let more = asks.len() == Store::PAGE;
        self.backlog = asks.pop().filter(|_| more).map(|last| Page::Behind(Box::new(last)));
        Ok(events)
    }

    async fn happened(&mut self) -> Result<Vec<Event>, StoreError> {
        let happened = self.tail.next(self.gate.store()).await?;
        let mut events = Vec::with_capacity(happened.len());
        for one in happened {
            events.extend(self.tell(one).await?);
        }
        Ok(events)
    }

    async fn tell(&self, happened: Happened) -> Result<Option<Event>, StoreError> {
        let ask = match &happened.ask {
            Some(id) => self.gate.store().whole_ask(id).await?,
            None => None,
        };
        let data = json!({"id": happened.id, "at": happened.at, "data": happened.data,
            "ask": ask.as_ref().map(view)});
        Ok(event(Some(self.tail.resume(happened.id)), &happened.kind, &data))
    }
}

fn event(resume: Option<i64>, kind: &str, data: &serde_json::Value) -> Option<Event> {
    let event = Event::default().event(kind).json_data(data).ok()?;
    Some(match resume {
        Some(id) => event.id(id.to_string()),
        None => event,
    })
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
            let (gate, changes) = (town.gate.clone(), town.gate.changes());
            let live = Live { gate, changes, tail: Tail::after(0), backlog: Some(Page::First) };
            let (open, live) = live.next().await.unwrap();
            assert_eq!(open.count().await, 1, "the other one is open");
            let (asked, _) = live.next().await.unwrap();
            assert_eq!(asked.count().await, 2, "both were asked");
        })
        .await;
    }
}
