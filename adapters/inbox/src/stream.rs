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
use tokio::sync::watch;

/// A page that hears nothing for longer than two of these takes the line for dead.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// An event's name and data.
type Told = (&'static str, Value);

/// First one `board` event with all cards and what people have to know of the bridge itself, then a `card`
/// event for each card that changes and a `notice` event when the notice changes. Ends when the daemon
/// stops; the page then comes back by itself.
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
    let mut notice = inbox.notice.subscribe();
    let (cards, version) = inbox.board.all();
    let said = notice.borrow_and_update().clone();
    let first = ("board", json!({ "now": now(), "cards": cards, "notice": said }));
    let start = (inbox.clone(), version, notice);
    let changes = stream::unfold(start, |(inbox, seen, mut notice)| async move {
        let (told, version) = changed(&inbox, seen, &mut notice).await?;
        Some((stream::iter(told), (inbox, version, notice)))
    });
    let told = stream::iter([first]).chain(changes.flatten()).enumerate();
    told.map(move |(number, told)| Ok(event(&inbox, &proven, number, told)))
}

/// Waits for changes after a version of the board, or of the notice; `None` when the daemon stops.
async fn changed(
    inbox: &Shared,
    seen: u64,
    notice: &mut watch::Receiver<Vec<String>>,
) -> Option<(Vec<Told>, u64)> {
    let mut versions = inbox.board.follow();
    let mut line = inbox.line.subscribe();
    tokio::select! {
        closed = line.wait_for(|line| matches!(line, Line::Closed)) => {
            drop(closed);
            None
        }
        grown = versions.wait_for(|version| *version > seen) => {
            drop(grown.ok()?);
            let (cards, version) = inbox.board.since(seen);
            Some((cards.into_iter().map(card_event).collect(), version))
        }
        changed = notice.changed() => {
            changed.ok()?;
            Some((vec![notice_event(&notice.borrow_and_update())], seen))
        }
    }
}

fn notice_event(sentences: &[String]) -> Told {
    ("notice", json!({ "notice": sentences }))
}

fn card_event(standing: Standing) -> Told {
    ("card", json!({ "now": now(), "card": standing }))
}

/// The event with the daemon's proof as its id: nobody in between can change, add or leave out one.
fn event(inbox: &Shared, proven: &Proven, number: usize, (name, data): Told) -> Event {
    let data = data.to_string();
    let number = u64::try_from(number).unwrap_or(u64::MAX);
    let proof = proof::of_event(&inbox.session, &proven.0, (number, name, &data));
    Event::default().event(name).id(proof.unwrap_or_default()).data(data)
}
