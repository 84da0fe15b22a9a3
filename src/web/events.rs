//! `GET /v1/events`: the event log as server-sent events.
//!
//! A new reader gets every open ask first, or with `last` so many of the latest events. A reader
//! that resumes with `Last-Event-ID` gets what it missed. If those events are no longer stored, it
//! gets one event `forgotten` and starts again.
//!
//! The `id:` of an event is the id to resume after, which is not always the event's own: on
//! PostgreSQL an earlier event may still appear. The event's own id is in its data.

use super::{
    error::ApiError,
    live::{self, Backlog, Feed, News, StreamEnd},
    reader::AskReader,
    state::Api,
    view::view,
};
use axum::{
    extract::{Query, State, rejection::QueryRejection},
    http::HeaderMap,
    response::sse::{Event, Sse},
};
use countersign_domain::wire::{EventView, EventsQuery, ForgottenView};
use countersign_store::{Event as Happened, Resumed, Tail};
use futures::Stream;
use serde::Serialize;
use std::convert::Infallible;

pub(super) async fn stream(
    State(api): State<Api>,
    reader: AskReader,
    query: Result<Query<EventsQuery>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, ApiError> {
    let Query(EventsQuery { last: latest, follow, all }) = query?;
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
    Ok(live::serve_until(end, &api, reader, tail, backlog, feed))
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
                let (id, at, data) = (happened.id, happened.at, happened.data);
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::{live::Live, *};
    use crate::LargeReplies;
    use countersign_bridge::fault_injection::{Scenario, chat::FakeChat};
    use countersign_store::engines::on_both;
    use std::sync::Arc;

    #[tokio::test]
    async fn a_damaged_ask_ends_no_stream_of_events() {
        on_both(async |store| {
            let scenario = Scenario::open(&store, &Arc::new(FakeChat::default())).await;
            let (bad, _good) = (scenario.ask("bad", None).await, scenario.ask("good", None).await);
            store.damage(&bad.id, "push origin bad", "push origin worse").await;
            let (gate, tail) = (scenario.gate.clone(), Tail::after(0));
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
