//! The board as server-sent events.

use crate::{
    error::ApiError,
    inbox::{
        Core, InboxState, Shared,
        board::{BoardCard, BoardPage},
        guard::Visitor,
        proof::{self, Proven},
        session::{AccessResult, Session},
    },
    request::Reply,
};
use axum::{
    Extension,
    extract::State,
    response::{
        IntoResponse, Sse,
        sse::{Event, KeepAlive},
    },
};
use countersign_tokens::clock;
use futures::{Stream, StreamExt, stream};
use serde_json::{Value, json};
use std::{
    collections::VecDeque,
    convert::Infallible,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::watch;

/// A page that hears nothing for longer than two of these takes the connection for dead.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// An event's name and data.
type NamedEvent = (&'static str, Value);

/// First `board` events with all cards and what people have to know of the bridge itself, `more`
/// saying whether another follows, then a `card` event for each card that changes and a `notice`
/// event when the notice changes. Ends when the daemon stops; the page then comes back by itself.
pub(crate) async fn events(
    State(inbox): Shared,
    Extension(proven): Extension<Proven>,
    visitor: Visitor,
) -> Reply {
    if matches!(*inbox.core.borrow(), Core::Stopped) {
        return Err(ApiError::unavailable("countersign is stopping."));
    }
    let keep_alive = KeepAlive::new().interval(KEEP_ALIVE);
    Ok(Sse::new(follow(inbox, proven, visitor)).keep_alive(keep_alive).into_response())
}

/// How far a page has been told. A card's text is read when it is its turn, and no sooner: a page
/// that does not read holds no more than one.
struct Follower {
    inbox: Arc<InboxState>,
    visitor: Visitor,
    /// Behind which place the next part of the board begins, until all of it is told.
    place: Option<u64>,
    /// The version that the board had at first, and then the one that was told last.
    seen: u64,
    /// What has changed since, to be told first.
    changed: VecDeque<BoardCard>,
    /// The large cards of the board.
    large: VecDeque<BoardCard>,
    notice: watch::Receiver<Vec<String>>,
}

fn follow(
    inbox: Arc<InboxState>,
    proven: Proven,
    visitor: Visitor,
) -> impl Stream<Item = Result<Event, Infallible>> {
    let seen = inbox.board.version();
    let changed = VecDeque::new();
    let large = VecDeque::new();
    let place = Some(0);
    let notice = inbox.notice.subscribe();
    let follows = inbox.clone();
    let who = visitor.clone();
    let follower = Follower { inbox: follows, visitor, place, seen, changed, large, notice };
    let told = stream::unfold(follower, Follower::next).enumerate();
    told.map(move |(number, told)| Ok(event(who.session(&inbox), &proven, number, told)))
}

impl Follower {
    async fn next(mut self) -> Option<(NamedEvent, Self)> {
        loop {
            // FAIL-CLOSED: who has signed out, or left the config, is shown nothing more.
            if self.visitor.stays(&self.inbox) == AccessResult::Refused {
                return None;
            }
            if let Some(place) = self.place {
                let BoardPage { cards, next } = self.inbox.board.page(place, self.seen);
                let notice = self.notice.borrow_and_update().clone();
                let more = next.is_some();
                let now = clock::machine_ms();
                let (name, minutes) = clock::zone(now);
                let zone = json!({ "name": name, "minutes": minutes });
                let told = json!({
                    "now": now, "zone": zone, "cards": cards, "more": more, "notice": notice,
                });
                self.place = next;
                self.large.extend(cards.into_iter().filter(|card| card.elsewhere().is_some()));
                return Some((("board", told), self));
            }
            if self.notice.has_changed().ok()? {
                let notice = json!({ "notice": *self.notice.borrow_and_update() });
                return Some((("notice", notice), self));
            }
            // Nobody waits for what is new until all that is large has been read.
            if self.changed.is_empty() && self.inbox.board.version() > self.seen {
                let (changed, version) = self.inbox.board.since(self.seen);
                (self.changed, self.seen) = (changed.into(), version);
            }
            if let Some(kept) = self.changed.pop_front().or_else(|| self.large.pop_front()) {
                let whole = whole(&self.inbox, kept).await;
                let told = json!({ "now": clock::machine_ms(), "card": whole });
                return Some((("card", told), self));
            }
            let until = self.visitor.until();
            changed(&self.inbox, (self.seen, until), &mut self.notice).await?;
        }
    }
}

/// The card with its text.
async fn whole(inbox: &InboxState, kept: BoardCard) -> BoardCard {
    let Some(id) = kept.elsewhere() else { return kept };
    let Some(core) = inbox.connected() else { return kept };
    match core.card(id, None).await {
        Some(card) => kept.with(&card),
        None => kept,
    }
}

/// Waits for changes after a version of the board, of the notice, or of who is signed in, and no
/// longer than `until`; `None` when the daemon stops.
async fn changed(
    inbox: &InboxState,
    (seen, until): (u64, Option<Instant>),
    notice: &mut watch::Receiver<Vec<String>>,
) -> Option<()> {
    let mut versions = inbox.board.follow();
    let mut core = inbox.core.subscribe();
    let mut sign_ins = inbox.sign_ins.follow();
    tokio::select! {
        ended = sign_ins.changed() => ended.ok(),
        () = over(until) => Some(()),
        stopped = core.wait_for(|core| matches!(core, Core::Stopped)) => {
            drop(stopped);
            None
        }
        grown = versions.wait_for(|version| *version > seen) => {
            grown.ok().map(drop)
        }
        changed = notice.changed() => {
            notice.mark_changed();
            changed.ok()
        }
    }
}

async fn over(until: Option<Instant>) {
    match until {
        Some(until) => tokio::time::sleep_until(until.into()).await,
        None => std::future::pending().await,
    }
}

/// The event with the daemon's proof as its id: nobody in between can change, add or leave out one.
fn event(session: &Session, proven: &Proven, number: usize, (name, data): NamedEvent) -> Event {
    let data = data.to_string();
    let number = number.to_string();
    let lines = ["event", &proven.0, &number, name, &data];
    let proof = session.key().and_then(|key| proof::proof(key, &lines));
    Event::default().event(name).id(proof.unwrap_or_default()).data(data)
}
