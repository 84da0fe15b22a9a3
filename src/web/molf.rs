//! molf's procedures and events, for clients of molf that answer approvals:
//! `POST /v1/molf/tool.approve`, `POST /v1/molf/tool.deny`, `POST /v1/molf/worker.disconnected` and
//! `GET /v1/molf/events`. molf's server submits calls with `POST /v1/calls`.

use crate::{
    Api,
    error::ApiError,
    events::{self, Backlog, Feed, News, StreamEnd},
    handle::{AskReader, Handle},
    request::{Body, JsonReply, Params},
};
use axum::{
    Json, Router,
    response::sse::{Event, Sse},
    routing::{get, post},
};
use countersign_gate::{
    Policy, SESSION_ENDED, Told, WORKER_GONE,
    ask::{Ask, Decision, Scope, State as AskState},
};
use countersign_people::answer::Action;
use countersign_profiles::molf;
use countersign_store::Tail;
use countersign_tokens::sha256_hex;
use futures::Stream;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json as value};
use std::{collections::HashSet, convert::Infallible};

/// The routes of the profile.
pub(super) fn routes() -> Router<Api> {
    Router::new()
        .route("/v1/molf/tool.approve", post(approve))
        .route("/v1/molf/tool.deny", post(deny))
        .route("/v1/molf/worker.disconnected", post(worker_disconnected))
        .route("/v1/molf/events", get(stream))
}

// `POST /v1/molf/…`: a client of molf answers an approval, or reports that a worker disconnected.

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ToolApprove {
    session_id: String,
    approval_id: String,
    #[serde(default)]
    always: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ToolDeny {
    session_id: String,
    approval_id: String,
    feedback: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WorkerGone {
    agent: String,
    worker_id: String,
}

pub(super) async fn approve(api: Api, handle: Handle, body: Body) -> JsonReply<Value> {
    let ToolApprove { session_id, approval_id, always } = body.json()?;
    let scope = if always { Scope::Always } else { Scope::Once };
    reply(&api, handle, &session_id, &approval_id, Action::Approve { scope }).await
}

pub(super) async fn deny(api: Api, handle: Handle, body: Body) -> JsonReply<Value> {
    let ToolDeny { session_id, approval_id, feedback } = body.json()?;
    let reason = feedback.filter(|words| !words.is_empty());
    reply(&api, handle, &session_id, &approval_id, Action::Deny { reason, then: None }).await
}

/// Replies `{applied}`: `false` if no open ask of this session has the id.
async fn reply(
    api: &Api,
    handle: Handle,
    session: &str,
    id: &str,
    action: Action,
) -> JsonReply<Value> {
    only_with_molf(api)?;
    let who = handle.answerer()?;
    // molf's ids are derived from ours, so the open asks of the session are compared.
    let Some(ask) = api.gate.open_ask(session, |ask| approval_id(ask) == id).await? else {
        return Ok(Json(value!({"applied": false})));
    };
    let reply = api.gate.answer(ask, who, action).await;
    match reply.told {
        Told::NotAllowed => Err(ApiError::forbidden(reply.sentence)),
        told => Ok(Json(value!({"applied": told == Told::Applied}))),
    }
}

pub(super) async fn worker_disconnected(api: Api, handle: Handle, body: Body) -> JsonReply<Value> {
    only_with_molf(&api)?;
    let WorkerGone { agent, worker_id } = body.json()?;
    let agent = handle.acts_as(&api, agent).await?;
    let cancelled = api.gate.worker_gone(&agent, &worker_id).await?;
    Ok(Json(value!({"cancelled": cancelled})))
}

/// Refuses the request unless the profile has workers.
pub(super) fn only_with_molf(api: &Api) -> Result<(), ApiError> {
    if matches!(*api.gate.choices().policy, Policy::Workers(..)) {
        Ok(())
    } else {
        Err(ApiError::not_found(
            "these routes belong to the profile molf; set [policy] profile = \"molf\"",
        ))
    }
}

// `GET /v1/molf/events?sessionId=S`: approvals as server-sent events in molf's form. A reader gets
// every open approval first, also after a reconnect.

/// An event of an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
enum WireApprovalEvent {
    ToolApprovalRequired {
        approval_id: String,
        tool_name: String,
        /// The call's arguments as a JSON text.
        arguments: String,
        session_id: String,
        /// The rules that Always would store; empty if it is not offered. molf's own event has no
        /// such field.
        always: Vec<String>,
    },
    ToolApprovalResolved {
        approval_id: String,
        outcome: ApprovalEnd,
        session_id: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum ApprovalEnd {
    Approved,
    Denied,
    Cancelled,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct MolfEventsQuery {
    session_id: Option<String>,
}

pub(super) async fn stream(
    api: Api,
    reader: AskReader,
    which: Params<MolfEventsQuery>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, ApiError> {
    only_with_molf(&api)?;
    let MolfEventsQuery { session_id } = which.read()?;
    // Before the open asks are read, so that no end of one is missed.
    let tail = Tail::of_now(&api.store).await?;
    let approvals = ApprovalFeed { session: session_id, open: HashSet::new() };
    Ok(events::serve(StreamEnd::Never, &api, reader, tail, Backlog::From(None), approvals))
}

/// The events of one reader.
struct ApprovalFeed {
    /// Limits the events to this session.
    session: Option<String>,
    /// The asks that the reader knows as open, so that it gets each end once.
    open: HashSet<String>,
}

impl Feed for ApprovalFeed {
    fn event(&mut self, news: News) -> Option<(Event, usize)> {
        match news {
            News::Open(ask) | News::Happened { ask: Some(ask), .. } => self.tell(&ask),
            News::Happened { ask: None, .. } | News::Forgotten => None,
        }
    }
}

impl ApprovalFeed {
    /// The event that brings the reader up to date on this ask, if there is any.
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
                WireApprovalEvent::ToolApprovalResolved {
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

fn required(ask: &Ask) -> WireApprovalEvent {
    let call = &ask.body.call;
    WireApprovalEvent::ToolApprovalRequired {
        approval_id: approval_id(ask),
        tool_name: call.tool.clone(),
        arguments: call.args.to_string(),
        session_id: call.session.clone(),
        always: ask.body.always.iter().map(ToString::to_string).collect(),
    }
}

/// The outcome of the approval; `None` while it is open.
fn outcome(ask: &Ask) -> Option<ApprovalEnd> {
    let answer = ask.answer()?;
    Some(match (&ask.state, answer.decision) {
        (_, Decision::Approve) => ApprovalEnd::Approved,
        // molf has no approvals for questions.
        (_, Decision::Answer) => ApprovalEnd::Cancelled,
        (AskState::Cancelled(answer), _) => match answer.reason.as_deref() {
            Some(SESSION_ENDED | WORKER_GONE) => ApprovalEnd::Denied,
            _ => ApprovalEnd::Cancelled,
        },
        (_, Decision::Edit | Decision::Deny) => ApprovalEnd::Denied,
    })
}

// The ids of asks for molf's clients.

/// The id of an ask for molf's clients. It is derived from our id, so that it needs no column.
pub(super) fn approval_id(ask: &Ask) -> String {
    let digest = sha256_hex(ask.id.as_bytes());
    let number = digest.get(..8).and_then(|hex| u32::from_str_radix(hex, 16).ok());
    molf::approval_id(&ask.body.call.session, number.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use crate::{LargeReplies, events::Live};
    use countersign_bridge::testkit::{Scenario, chat::FakeChat};
    use countersign_store::testkit::engines::on_both;
    use serde_json::json;
    use std::sync::Arc;

    #[tokio::test]
    async fn a_damaged_ask_ends_no_stream_of_approvals() {
        on_both(async |store| {
            let scenario = Scenario::open(&store, &Arc::new(FakeChat::default())).await;
            let bad = scenario.ask("bad", None).await;
            let _good = scenario.ask("good", None).await;
            store.damage(&bad.id, "push origin bad", "push origin worse").await;
            let gate = scenario.gate.clone();
            let turns = LargeReplies::default();
            let tail = Tail::after(0);
            let approvals = ApprovalFeed { session: None, open: HashSet::new() };
            let live = Live::new(gate, store, turns, tail, Backlog::From(None), approvals);
            let (required, _) = live.next().await.unwrap();
            let required = format!("{required:?}");
            assert!(required.contains("push origin good"), "{required}");
        })
        .await;
    }

    #[test]
    fn events_have_the_fields_that_molfs_clients_read() {
        let required = WireApprovalEvent::ToolApprovalRequired {
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
        let resolved = WireApprovalEvent::ToolApprovalResolved {
            approval_id: "s:00000001".into(),
            outcome: ApprovalEnd::Cancelled,
            session_id: "s".into(),
        };
        assert_eq!(
            serde_json::to_value(resolved).unwrap(),
            json!({"type": "tool_approval_resolved", "approvalId": "s:00000001",
                "outcome": "cancelled", "sessionId": "s"})
        );
    }
}
