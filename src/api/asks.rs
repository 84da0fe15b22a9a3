//! `/v1/asks`: reading asks, waiting for them, answering them, taking them back.

use super::{
    fault::{Fault, json},
    handle::Handle,
    state::Api,
    view::{state, view, view_for_agent},
    wait::longest,
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
use countersign_protocol::{
    AnswerReply, AnswerRequest, AskView, AsksPage, AsksQuery, CancelReason, CancelRequest,
    WaitQuery,
};

pub(super) async fn list(
    State(api): State<Api>,
    query: Result<Query<AsksQuery>, QueryRejection>,
) -> Result<Response, Fault> {
    let Query(query) = query?;
    let state = query.state.as_deref().unwrap_or("open");
    if !["open", "answered", "expired", "cancelled"].contains(&state) {
        return Err(Fault::bad_request(format!(
            "`{state}` is no state; say open, answered, expired or cancelled"
        )));
    }
    let after = match &query.after {
        Some(id) => Some(api.store.ask(id).await?.ok_or_else(|| no_such(id))?),
        None => None,
    };
    let after = after.map(|ask| Place::behind(&ask, state));
    let turn = api.turns.take().await?;
    let Listed { asks, next } = api.store.asks_in(state, after.as_ref()).await?;
    let one = |ask: &Ask| if query.card { with_card(&api, ask, view(ask)) } else { view(ask) };
    let (asks, next) = (asks.iter().map(one).collect(), next.map(|next| next.id().to_owned()));
    Ok(turn.held_by(&AsksPage { asks, next }))
}

pub(super) async fn get(
    State(api): State<Api>,
    Extension(handle): Extension<Handle>,
    Path(id): Path<String>,
    query: Result<Query<WaitQuery>, QueryRejection>,
) -> Result<Response, Fault> {
    let Query(query) = query?;
    let id = found(&api, &id).await?;
    if !longest(&query).is_zero() {
        // An agent that waits here counts as its caller, an approver that watches does not.
        let waited = match handle {
            Handle::Agent => {
                let mut caller = api.gate.attach(&id);
                let waited = caller.wait(longest(&query)).await;
                caller.leave();
                waited
            }
            Handle::Approver => api.gate.wait(&id, longest(&query)).await,
        };
        waited?;
    }
    let turn = api.turns.take().await?;
    let ask = api.store.ask(&id).await?.ok_or_else(|| no_such(&id))?;
    let view = view_for_agent(&api.gate, &ask);
    let view = if query.card { with_card(&api, &ask, view) } else { view };
    Ok(turn.held_by(&view))
}

/// The ask with what people see of it.
fn with_card(api: &Api, ask: &Ask, view: AskView) -> AskView {
    AskView { card: Some((api.card)(ask)), ..view }
}

pub(super) async fn answer(
    State(api): State<Api>,
    Extension(handle): Extension<Handle>,
    Path(id): Path<String>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Fault> {
    let who = handle.answerer()?;
    let action = action(json(&body?)?)?;
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
    let reply = AnswerReply {
        applied: reply.told == Told::Applied,
        state: state(&ask.state),
        by: ask.answer().map(|answer| answer.by.clone()),
        message: reply.sentence,
    };
    Ok(Json(reply).into_response())
}

pub(super) async fn cancel(
    State(api): State<Api>,
    Path(id): Path<String>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<AskView>, Fault> {
    let body = body?;
    let given = if body.is_empty() { CancelRequest::default() } else { json(&body)? };
    let reason = given.reason.map(|word| word.parse::<CancelReason>()).transpose();
    let why = match reason.map_err(Fault::bad_request)? {
        None | Some(CancelReason::Aborted) => "the agent that asked went away",
        Some(CancelReason::AnsweredElsewhere) => "it was answered elsewhere",
        Some(CancelReason::SessionEnded) => "its session ended",
    };
    let ask = find(&api, &id).await?;
    let ask = api.gate.cancel(&ask.id, why).await?.unwrap_or(ask);
    Ok(Json(view(&ask)))
}

/// What the answer asks for.
fn action(given: AnswerRequest) -> Result<Action, Fault> {
    match (given.decision, given.answers) {
        (Decision::Deny, Some(_)) => {
            Err(Fault::bad_request("`answers` belongs to an approval; a denial gives none"))
        }
        (Decision::Deny, None) if given.scope.is_some_and(|scope| scope != Scope::Once) => {
            Err(Fault::bad_request("a denial has no scope; it is for this call only"))
        }
        (Decision::Deny, None) => {
            let then = match (given.stop, given.explain) {
                (false, false) => None,
                (true, false) => Some(OnDeny::Stop),
                (false, true) => Some(OnDeny::Explain),
                (true, true) => {
                    return Err(Fault::bad_request("`stop` and `explain` exclude each other"));
                }
            };
            Ok(Action::Deny { reason: given.reason, then })
        }
        (Decision::Approve | Decision::Answer, _) if given.stop || given.explain => {
            Err(Fault::bad_request("`stop` and `explain` belong to a denial"))
        }
        (Decision::Approve | Decision::Answer, Some(answers)) => Ok(Action::Answers(answers)),
        (Decision::Answer, None) => {
            Err(Fault::bad_request("`answer` needs `answers`, by the questions' texts"))
        }
        (Decision::Approve, None) => {
            Ok(Action::Approve { scope: given.scope.unwrap_or(Scope::Once) })
        }
    }
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
