//! `GET /v1/molf/events?sessionId=S`: approvals as server-sent events in molf's form. A reader gets
//! every open approval first, also after a reconnect.

use super::{approval::approval_id, procedures::only_with_molf};
use crate::{
    error::ApiError,
    live::{self, Backlog, Feed, News},
    reader::AskReader,
    state::Api,
};
use axum::{
    extract::{Query, State, rejection::QueryRejection},
    response::sse::{Event, Sse},
};
use countersign_gate::{
    SESSION_ENDED, WORKER_GONE,
    ask::{Ask, Decision, State as AskState},
};
use countersign_store::Tail;
use futures::Stream;
use serde::{Deserialize, Serialize};
use std::{collections::HashSet, convert::Infallible};

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
    State(api): State<Api>,
    reader: AskReader,
    which: Result<Query<MolfEventsQuery>, QueryRejection>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, ApiError> {
    only_with_molf(&api)?;
    let Query(MolfEventsQuery { session_id }) = which?;
    // Before the open asks are read, so that no end of one is missed.
    let tail = Tail::of_now(&api.store).await?;
    let approvals = ApprovalFeed { session: session_id, open: HashSet::new() };
    Ok(live::serve(&api, reader, tail, Backlog::From(None), approvals))
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::{live::Live, *};
    use crate::LargeReplies;
    use countersign_bridge::fault_injection::{Scenario, chat::FakeChat};
    use countersign_store::engines::on_both;
    use serde_json::json;
    use std::sync::Arc;

    #[tokio::test]
    async fn a_damaged_ask_ends_no_stream_of_approvals() {
        on_both(async |store| {
            let scenario = Scenario::open(&store, &Arc::new(FakeChat::default())).await;
            let (bad, _good) = (scenario.ask("bad", None).await, scenario.ask("good", None).await);
            store.damage(&bad.id, "push origin bad", "push origin worse").await;
            let (gate, turns, tail) =
                (scenario.gate.clone(), LargeReplies::default(), Tail::after(0));
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
