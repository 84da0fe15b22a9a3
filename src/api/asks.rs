//! `/v1/asks`: reading asks, waiting for them, answering them, taking them back.

use super::{
    fault::{Fault, json},
    handle::Handle,
    state::Api,
    view::{told, view},
    wait::Wait,
};
use crate::{
    gate::{
        Told,
        answer::Action,
        ask::{Ask, Decision, Scope},
    },
    store::{Listed, Place},
};
use axum::{
    Extension, Json,
    body::Bytes,
    extract::{
        Path, Query, State,
        rejection::{BytesRejection, QueryRejection},
    },
    http::StatusCode,
    response::{IntoResponse, Response},
};
use countersign_profiles::OnDeny;
use serde::Deserialize;
use serde_json::{Map, Value, json as value};

#[derive(Debug, Deserialize)]
pub(super) struct Filter {
    state: Option<String>,
    /// The ask behind which the page begins.
    after: Option<String>,
    /// Whether the asks come with their cards.
    #[serde(default)]
    card: bool,
}

pub(super) async fn list(
    State(api): State<Api>,
    filter: Result<Query<Filter>, QueryRejection>,
) -> Result<Response, Fault> {
    let Query(filter) = filter?;
    let state = filter.state.as_deref().unwrap_or("open");
    if !["open", "answered", "expired", "cancelled"].contains(&state) {
        return Err(Fault::bad_request(format!(
            "`{state}` is no state; say open, answered, expired or cancelled"
        )));
    }
    let after = match &filter.after {
        Some(id) => Some(api.store.ask(id).await?.ok_or_else(|| no_such(id))?),
        None => None,
    };
    let after = after.map(|ask| Place::behind(&ask, state));
    let turn = api.turns.take().await?;
    let Listed { asks, next } = api.store.asks_in(state, after.as_ref()).await?;
    let view = |ask: &Ask| if filter.card { with_card(&api, ask, view(ask)) } else { view(ask) };
    let mut page = value!({"asks": asks.iter().map(view).collect::<Vec<_>>()});
    if let (Some(next), Some(page)) = (next, page.as_object_mut()) {
        page.insert("next".to_owned(), next.id().into());
    }
    Ok(turn.held_by(Json(page)))
}

pub(super) async fn get(
    State(api): State<Api>,
    Extension(handle): Extension<Handle>,
    Path(id): Path<String>,
    wait: Result<Query<Wait>, QueryRejection>,
) -> Result<Response, Fault> {
    let Query(wait) = wait?;
    let id = found(&api, &id).await?;
    if !wait.longest().is_zero() {
        // An agent that waits here counts as its caller, an approver that watches does not.
        let waited = match handle {
            Handle::Agent => {
                let mut caller = api.gate.attend(&id);
                let waited = caller.wait(wait.longest()).await;
                caller.leave();
                waited
            }
            Handle::Approver => api.gate.wait(&id, wait.longest()).await,
        };
        waited?;
    }
    let turn = api.turns.take().await?;
    let ask = api.store.ask(&id).await?.ok_or_else(|| no_such(&id))?;
    let view = told(&api.gate, &ask);
    let view = if wait.card { with_card(&api, &ask, view) } else { view };
    Ok(turn.held_by(Json(view)))
}

/// The ask with what people see of it.
fn with_card(api: &Api, ask: &Ask, mut view: Value) -> Value {
    if let Some(view) = view.as_object_mut() {
        view.insert("card".to_owned(), (api.card)(ask));
    }
    view
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Answered {
    decision: Decision,
    scope: Option<Scope>,
    reason: Option<String>,
    #[serde(default)]
    stop: bool,
    #[serde(default)]
    explain: bool,
    answers: Option<Map<String, Value>>,
}

impl Answered {
    fn action(self) -> Result<Action, Fault> {
        match (self.decision, self.answers) {
            (Decision::Deny, Some(_)) => {
                Err(Fault::bad_request("`answers` belongs to an approval; a denial gives none"))
            }
            (Decision::Deny, None) if self.scope.is_some_and(|scope| scope != Scope::Once) => {
                Err(Fault::bad_request("a denial has no scope; it is for this call only"))
            }
            (Decision::Deny, None) => {
                let then = match (self.stop, self.explain) {
                    (false, false) => None,
                    (true, false) => Some(OnDeny::Stop),
                    (false, true) => Some(OnDeny::Explain),
                    (true, true) => {
                        return Err(Fault::bad_request("`stop` and `explain` exclude each other"));
                    }
                };
                Ok(Action::Deny { reason: self.reason, then })
            }
            (Decision::Approve | Decision::Answer, _) if self.stop || self.explain => {
                Err(Fault::bad_request("`stop` and `explain` belong to a denial"))
            }
            (Decision::Approve | Decision::Answer, Some(answers)) => Ok(Action::Answers(answers)),
            (Decision::Answer, None) => {
                Err(Fault::bad_request("`answer` needs `answers`, by the questions' texts"))
            }
            (Decision::Approve, None) => {
                Ok(Action::Approve { scope: self.scope.unwrap_or(Scope::Once) })
            }
        }
    }
}

pub(super) async fn answer(
    State(api): State<Api>,
    Extension(handle): Extension<Handle>,
    Path(id): Path<String>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Fault> {
    let who = handle.answerer()?;
    let action = json::<Answered>(&body?)?.action()?;
    let ask = find(&api, &id).await?;
    let reply = api.gate.answer(ask.clone(), who, action).await;
    let status = match reply.told {
        Told::Applied | Told::Noted | Told::TextWanted => StatusCode::OK,
        Told::Already | Told::Expired | Told::Cancelled => StatusCode::OK,
        Told::NotAllowed => StatusCode::FORBIDDEN,
        Told::Unknown => StatusCode::NOT_FOUND,
        Told::Unfit => StatusCode::UNPROCESSABLE_ENTITY,
        Told::Fault => StatusCode::SERVICE_UNAVAILABLE,
    };
    if !status.is_success() {
        return Err(Fault::new(status, reply.sentence));
    }
    let ask = reply.ask.unwrap_or(ask);
    let answer = value!({
        "applied": reply.told == Told::Applied,
        "state": ask.state.name(),
        "by": ask.answer().map(|answer| &answer.by),
        "message": reply.sentence,
    });
    Ok(Json(answer).into_response())
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Cancelled {
    reason: Option<String>,
}

pub(super) async fn cancel(
    State(api): State<Api>,
    Path(id): Path<String>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<Value>, Fault> {
    let body = body?;
    let given: Cancelled = if body.is_empty() { Cancelled::default() } else { json(&body)? };
    let why = match given.reason.as_deref() {
        None | Some("aborted") => "the agent that asked went away",
        Some("answered_elsewhere") => "it was answered elsewhere",
        Some("session_ended") => "its session ended",
        Some(other) => {
            return Err(Fault::bad_request(format!(
                "`{other}` is no reason; say answered_elsewhere, session_ended or aborted"
            )));
        }
    };
    let ask = find(&api, &id).await?;
    let ask = api.gate.cancel(&ask.id, why).await?.unwrap_or(ask);
    Ok(Json(view(&ask)))
}

/// The ask with this id, or with the only id that begins so.
async fn find(api: &Api, id: &str) -> Result<Ask, Fault> {
    let id = found(api, id).await?;
    api.store.ask(&id).await?.ok_or_else(|| no_such(&id))
}

/// The whole id of it.
async fn found(api: &Api, id: &str) -> Result<String, Fault> {
    let mut found = api.store.ids_like(id).await?;
    if let Some(exact) = found.iter().position(|found| found == id) {
        return Ok(found.swap_remove(exact));
    }
    match (found.pop(), found.len()) {
        (Some(found), 0) if id.len() >= 3 => Ok(found),
        (Some(_), 1..) => {
            Err(Fault::bad_request(format!("`{id}` begins several asks; say more of it")))
        }
        _ => Err(no_such(id)),
    }
}

fn no_such(id: &str) -> Fault {
    Fault::not_found(format!("there is no ask `{id}`"))
}
