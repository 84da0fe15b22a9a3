//! The board as server-sent events.

use crate::{
    Line, Shared,
    board::{Standing, now},
    guard::refusal,
};
use axum::{
    extract::State,
    http::StatusCode,
    response::{
        IntoResponse, Response, Sse,
        sse::{Event, KeepAlive},
    },
};
use futures::{Stream, StreamExt, stream};
use serde_json::json;
use std::{convert::Infallible, sync::Arc, time::Duration};

/// A page that hears nothing for longer than two of these takes the line for dead.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// First one `board` event with all cards, then a `card` event for each card that changes. Ends when the
/// daemon stops; the page then comes back by itself.
pub(crate) async fn events(State(inbox): State<Arc<Shared>>) -> Response {
    if matches!(*inbox.line.borrow(), Line::Closed) {
        return refusal(StatusCode::SERVICE_UNAVAILABLE, "countersign is stopping.");
    }
    let keep_alive = KeepAlive::new().interval(KEEP_ALIVE);
    Sse::new(follow(inbox)).keep_alive(keep_alive).into_response()
}

fn follow(inbox: Arc<Shared>) -> impl Stream<Item = Result<Event, Infallible>> {
    let (cards, version) = inbox.board.all();
    let first = event("board", &json!({ "now": now(), "cards": cards }));
    let changes = stream::unfold((inbox, version), |(inbox, seen)| async move {
        let (cards, version) = changed(&inbox, seen).await?;
        Some((stream::iter(cards.into_iter().map(card_event)), (inbox, version)))
    });
    stream::iter([first]).chain(changes.flatten()).map(Ok)
}

/// Waits for changes after a version; `None` when the daemon stops.
async fn changed(inbox: &Shared, seen: u64) -> Option<(Vec<Standing>, u64)> {
    let mut versions = inbox.board.follow();
    let mut line = inbox.line.subscribe();
    tokio::select! {
        closed = line.wait_for(|line| matches!(line, Line::Closed)) => {
            drop(closed);
            None
        }
        grown = versions.wait_for(|version| *version > seen) => {
            drop(grown.ok()?);
            Some(inbox.board.since(seen))
        }
    }
}

fn card_event(standing: Standing) -> Event {
    event("card", &json!({ "now": now(), "card": standing }))
}

fn event(name: &str, data: &serde_json::Value) -> Event {
    Event::default().event(name).data(data.to_string())
}
