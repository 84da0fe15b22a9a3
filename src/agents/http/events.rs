//! `GET /v1/events`: what happens, as server-sent events.
//!
//! A new reader gets every open ask first; one that comes back with `Last-Event-ID` gets what it missed.

use super::{Api, Fault, view::view};
use crate::{
    gate::Gate,
    store::{Event as Happened, StoreError, Tail},
};
use axum::{
    extract::State,
    http::HeaderMap,
    response::sse::{Event, KeepAlive, Sse},
};
use futures::{Stream, stream};
use serde_json::json;
use std::{convert::Infallible, sync::Arc};
use tokio::sync::watch;

pub(super) async fn stream(
    State(api): State<Api>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Fault> {
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let store = api.gate.store().clone();
    let mut backlog = Vec::new();
    let after = match last {
        Some(after) => after,
        None => {
            let after = store.last_event().await?;
            for ask in store.asks_in("open", 500).await? {
                backlog.extend(event(None, "ask", &view(&ask)));
            }
            after
        }
    };
    let live =
        Live { changes: api.gate.changes(), gate: api.gate.clone(), tail: Tail::after(after) };
    let events = futures::StreamExt::chain(
        stream::iter(backlog),
        futures::StreamExt::flatten(stream::unfold(live, Live::next)),
    );
    Ok(Sse::new(futures::StreamExt::map(events, Ok)).keep_alive(KeepAlive::default()))
}

struct Live {
    gate: Arc<Gate>,
    changes: watch::Receiver<u64>,
    tail: Tail,
}

impl Live {
    /// The next events, waiting for them if need be; `None` ends the stream, its reader comes back.
    async fn next(mut self) -> Option<(impl Stream<Item = Event>, Self)> {
        loop {
            self.changes.mark_unchanged();
            let happened = self.tail.next(self.gate.store()).await.ok()?;
            if !happened.is_empty() {
                let mut events = Vec::with_capacity(happened.len());
                for one in happened {
                    // Half an event is none: its reader comes back for the whole of it.
                    events.extend(self.tell(one).await.ok()?);
                }
                return Some((stream::iter(events), self));
            }
            tokio::select! {
                changed = self.changes.changed() => changed.ok()?,
                () = self.gate.stopped() => return None,
            }
        }
    }

    async fn tell(&self, happened: Happened) -> Result<Option<Event>, StoreError> {
        let ask = match &happened.ask {
            Some(id) => self.gate.store().ask(id).await?,
            None => None,
        };
        let data = json!({"at": happened.at, "data": happened.data, "ask": ask.as_ref().map(view)});
        Ok(event(Some(happened.id), &happened.kind, &data))
    }
}

fn event(id: Option<i64>, kind: &str, data: &serde_json::Value) -> Option<Event> {
    let event = Event::default().event(kind).json_data(data).ok()?;
    Some(match id {
        Some(id) => event.id(id.to_string()),
        None => event,
    })
}
