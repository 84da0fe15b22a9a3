//! `GET /v1/molf/events?sessionId=S`: approvals as molf's clients see them, as server-sent events.
//! Who connects, and who comes back, gets every open approval first.

use super::{Api, Fault, only_with_molf};
use crate::{
    agents::http::{Turn, Turns},
    gate::{
        Gate, SESSION_ENDED, WORKER_GONE, approval_id,
        ask::{Ask, Decision, State as AskState},
    },
    store::{Place, StoreError, Tail},
};
use axum::{
    extract::{Query, State, rejection::QueryRejection},
    response::sse::{Event, KeepAlive, Sse},
};
use futures::{Stream, StreamExt, stream};
use serde::{Deserialize, Serialize};
use std::{
    collections::{HashSet, VecDeque},
    convert::Infallible,
    sync::Arc,
};
use tokio::sync::watch;

/// What happens to an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
enum Happened {
    ToolApprovalRequired {
        approval_id: String,
        tool_name: String,
        /// The call's arguments as a JSON text.
        arguments: String,
        session_id: String,
        /// What Always would store; empty where it is not offered. molf's own event has no such
        /// field.
        always: Vec<String>,
    },
    ToolApprovalResolved {
        approval_id: String,
        outcome: Outcome,
        session_id: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Outcome {
    Approved,
    Denied,
    Cancelled,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Which {
    session_id: Option<String>,
}

pub(super) async fn stream(
    State(api): State<Api>,
    which: Result<Query<Which>, QueryRejection>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Fault> {
    only_with_molf(&api)?;
    let Query(Which { session_id }) = which?;
    let tail = Tail::of_now(api.gate.store()).await?;
    let live = Live::new(api.gate.clone(), api.turns.clone(), tail, session_id);
    let events = stream::unfold(live, Live::next);
    Ok(Sse::new(events.map(Ok)).keep_alive(KeepAlive::default()))
}

struct Live {
    gate: Arc<Gate>,
    turns: Turns,
    changes: watch::Receiver<u64>,
    tail: Tail,
    /// Only this session's.
    session: Option<String>,
    /// The approvals that the reader believes to be open.
    open: HashSet<String>,
    /// Where the open asks go on that the reader gets first; `None` when it has them.
    backlog: Option<Option<Place>>,
    /// The asks to be looked at next: a body is read when it is its turn, and no sooner.
    next: VecDeque<String>,
    /// Held as long as the event that was told last is not taken, where that is large.
    turn: Option<Turn>,
}

impl Live {
    fn new(gate: Arc<Gate>, turns: Turns, tail: Tail, session: Option<String>) -> Self {
        let (changes, open, next) = (gate.changes(), HashSet::new(), VecDeque::new());
        let backlog = Some(None);
        Self { gate, turns, changes, tail, session, open, backlog, next, turn: None }
    }

    /// The next event, waiting for it if need be; `None` ends the stream, its reader comes back.
    async fn next(mut self) -> Option<(Event, Self)> {
        self.turn = None;
        loop {
            while let Some(id) = self.next.pop_front() {
                let turn = self.turns.of_stream().await?;
                let ask = self.gate.store().whole_ask(&id).await.ok()?;
                if let Some((event, bytes)) = ask.and_then(|ask| self.tell(&ask)) {
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

    /// Looks for asks that something happened to; whether there may be any.
    async fn look(&mut self) -> Result<bool, StoreError> {
        let store = self.gate.store();
        if let Some(place) = self.backlog.take() {
            let (open, next) = store.open_ids(place.as_ref()).await?;
            self.backlog = next.map(Some);
            self.next.extend(open);
            return Ok(true);
        }
        let happened = self.tail.next(store).await?;
        let any = !happened.is_empty();
        self.next.extend(happened.into_iter().filter_map(|one| one.ask));
        Ok(any)
    }

    /// What is new about the ask for the reader.
    fn tell(&mut self, ask: &Ask) -> Option<(Event, usize)> {
        let session = &ask.body.call.session;
        if ask.is_question() || self.session.as_ref().is_some_and(|only| only != session) {
            return None;
        }
        let happened = match (outcome(ask), self.open.contains(&ask.id)) {
            (None, false) => {
                self.open.insert(ask.id.clone());
                required(ask)
            }
            (Some(outcome), true) => {
                self.open.remove(&ask.id);
                let session_id = session.clone();
                Happened::ToolApprovalResolved {
                    approval_id: approval_id(ask),
                    outcome,
                    session_id,
                }
            }
            (None, true) | (Some(_), false) => return None,
        };
        let data = serde_json::to_string(&happened).ok()?;
        let bytes = data.len();
        Some((Event::default().data(data), bytes))
    }
}

fn required(ask: &Ask) -> Happened {
    let call = &ask.body.call;
    Happened::ToolApprovalRequired {
        approval_id: approval_id(ask),
        tool_name: call.tool.clone(),
        arguments: call.args.to_string(),
        session_id: call.session.clone(),
        always: ask.body.always.iter().map(ToString::to_string).collect(),
    }
}

/// How the approval ended; `None` while it is open.
fn outcome(ask: &Ask) -> Option<Outcome> {
    let answer = ask.answer()?;
    Some(match (&ask.state, answer.decision) {
        (_, Decision::Approve) => Outcome::Approved,
        // A question is none of molf's approvals.
        (_, Decision::Answer) => Outcome::Cancelled,
        (AskState::Cancelled(answer), _) => match answer.reason.as_deref() {
            Some(SESSION_ENDED | WORKER_GONE) => Outcome::Denied,
            _ => Outcome::Cancelled,
        },
        (_, Decision::Deny) => Outcome::Denied,
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
    use serde_json::json;

    #[tokio::test]
    async fn a_damaged_ask_ends_no_stream_of_approvals() {
        on_both(async |store| {
            let town = Town::open(&store, &Arc::new(Chat::default())).await;
            let (bad, _good) = (town.ask("bad", None).await, town.ask("good", None).await);
            store.damage(&bad.id, "push origin bad", "push origin worse").await;
            let live = Live::new(town.gate.clone(), Turns::default(), Tail::after(0), None);
            let (required, _) = live.next().await.unwrap();
            let required = format!("{required:?}");
            assert!(required.contains("push origin good"), "{required}");
        })
        .await;
    }

    #[test]
    fn events_have_the_fields_that_molfs_clients_read() {
        let required = Happened::ToolApprovalRequired {
            approval_id: "s:00000001".into(),
            tool_name: "shell_exec".into(),
            arguments: "{\"command\":\"python script.py\"}".into(),
            session_id: "s".into(),
            always: vec![],
        };
        assert_eq!(
            serde_json::to_value(required).unwrap(),
            json!({"type": "tool_approval_required", "approvalId": "s:00000001",
                "toolName": "shell_exec", "arguments": "{\"command\":\"python script.py\"}",
                "sessionId": "s", "always": []})
        );
        let resolved = Happened::ToolApprovalResolved {
            approval_id: "s:00000001".into(),
            outcome: Outcome::Cancelled,
            session_id: "s".into(),
        };
        assert_eq!(
            serde_json::to_value(resolved).unwrap(),
            json!({"type": "tool_approval_resolved", "approvalId": "s:00000001",
                "outcome": "cancelled", "sessionId": "s"})
        );
    }
}
