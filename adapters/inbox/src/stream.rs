//! The board as server-sent events.

use crate::{
    Line, Shared,
    board::{Standing, now},
    guard::refusal,
    proof::{self, Proven},
};
use axum::{
    Extension,
    extract::State,
    http::StatusCode,
    response::{
        IntoResponse, Response, Sse,
        sse::{Event, KeepAlive},
    },
};
use futures::{Stream, StreamExt, stream};
use serde_json::{Value, json};
use std::{convert::Infallible, sync::Arc, time::Duration};

/// A page that hears nothing for longer than two of these takes the line for dead.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// First one `board` event with all cards, then a `card` event for each card that changes. Ends when the
/// daemon stops; the page then comes back by itself.
pub(crate) async fn events(
    State(inbox): State<Arc<Shared>>,
    Extension(proven): Extension<Proven>,
) -> Response {
    if matches!(*inbox.line.borrow(), Line::Closed) {
        return refusal(StatusCode::SERVICE_UNAVAILABLE, "countersign is stopping.");
    }
    let keep_alive = KeepAlive::new().interval(KEEP_ALIVE);
    Sse::new(follow(inbox, proven)).keep_alive(keep_alive).into_response()
}

fn follow(inbox: Arc<Shared>, proven: Proven) -> impl Stream<Item = Result<Event, Infallible>> {
    let (cards, version) = inbox.board.all();
    let first = ("board", json!({ "now": now(), "cards": cards }));
    let changes = stream::unfold((inbox.clone(), version), |(inbox, seen)| async move {
        let (cards, version) = changed(&inbox, seen).await?;
        Some((stream::iter(cards.into_iter().map(card_event)), (inbox, version)))
    });
    let told = stream::iter([first]).chain(changes.flatten()).enumerate();
    told.map(move |(number, told)| Ok(event(&inbox, &proven, number, told)))
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

fn card_event(standing: Standing) -> (&'static str, Value) {
    ("card", json!({ "now": now(), "card": standing }))
}

/// The event with the daemon's proof as its id: nobody in between can change, add or leave out one.
fn event(inbox: &Shared, proven: &Proven, number: usize, (name, data): (&str, Value)) -> Event {
    let data = data.to_string();
    let number = u64::try_from(number).unwrap_or(u64::MAX);
    let proof = proof::of_event(&inbox.session, &proven.0, (number, name, &data));
    Event::default().event(name).id(proof.unwrap_or_default()).data(data)
}
