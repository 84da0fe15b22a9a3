//! `/v1/asks`: lists, reads, awaits, answers and cancels asks.

use super::{
    error::{ApiError, json},
    handle::Handle,
    reader::AskReader,
    state::Api,
    view::{edit_view, state, view, view_for_agent},
    wait::longest,
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
use countersign_domain::wire::{
    AnswerReply, AnswerRequest, AskView, AsksPage, AsksQuery, CancelReason, CancelRequest,
    WaitQuery,
};
use countersign_gate::{
    Told,
    ask::{Ask, Decision, Scope},
};
use countersign_people::{
    answer::{Action, EditStep, TextPurpose},
    approvers::Who,
};
use countersign_profiles::OnDeny;
use countersign_store::{ListCursor, Listed};

pub(super) async fn list(
    State(api): State<Api>,
    reader: AskReader,
    query: Result<Query<AsksQuery>, QueryRejection>,
) -> Result<Response, ApiError> {
    let Query(query) = query?;
    let state = query.state.as_deref().unwrap_or("open");
    if !["open", "answered", "expired", "cancelled"].contains(&state) {
        return Err(ApiError::bad_request(format!(
            "`{state}` is not a valid state; use open, answered, expired or cancelled"
        )));
    }
    let after = match &query.after {
        // No ask is read through it, so it may be the last of a page without any of the reader's.
        Some(id) => Some(api.store.ask(id).await?.ok_or_else(|| no_such(id))?),
        None => None,
    };
    let after = after.map(|ask| ListCursor::behind(&ask, state));
    // The turn is taken before the read, so that the asks of only so many replies are in memory at
    // once.
    let turn = api.turns.take().await?;
    let Listed { asks, next } = api.store.asks_in(state, after.as_ref()).await?;
    let one = |ask: &Ask| if query.card { with_card(&api, ask, view(ask)) } else { view(ask) };
    let asks = asks.iter().filter(|ask| reader.may_read(ask)).map(one).collect();
    let next = next.map(|next| next.id().to_owned());
    Ok(turn.held_by(&AsksPage { asks, next }))
}

pub(super) async fn get(
    State(api): State<Api>,
    reader: AskReader,
    Path(id): Path<String>,
    query: Result<Query<WaitQuery>, QueryRejection>,
) -> Result<Response, ApiError> {
    let Query(query) = query?;
    let (id, is_caller) = {
        // No ask is held while its answer is awaited.
        let _turn = api.turns.take().await?;
        let ask = find(&api, &id, &reader).await?;
        (ask.id.clone(), reader.is_caller_of(&ask))
    };
    if !longest(&query).is_zero() {
        // An agent that waits here counts as its ask's caller; who only watches does not.
        // `leave` is reached only if the wait ends by itself: if the client disconnects, `caller`
        // is dropped, which cancels the ask after a grace time.
        let waited = match is_caller {
            true => {
                let mut caller = api.gate.attach(&id);
                let waited = caller.wait(longest(&query)).await;
                caller.leave();
                waited
            }
            false => api.gate.wait(&id, longest(&query)).await,
        };
        waited?;
    }
    let turn = api.turns.take().await?;
    let ask = api.store.ask(&id).await?.ok_or_else(|| no_such(&id))?;
    let view = view_for_agent(&api.gate, &ask);
    let view = if query.card { with_card(&api, &ask, view) } else { view };
    Ok(turn.held_by(&view))
}

/// Adds the card that people see to the ask.
fn with_card(api: &Api, ask: &Ask, view: AskView) -> AskView {
    AskView { card: Some((api.card)(ask)), ..view }
}

pub(super) async fn answer(
    State(api): State<Api>,
    Extension(handle): Extension<Handle>,
    reader: AskReader,
    Path(id): Path<String>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let who = handle.answerer()?;
    let given = json(&body?)?;
    let ask = find(&api, &id, &reader).await?;
    let action = action(given, &ask)?;
    act(&api, ask, who, action).await
}

pub(super) async fn undo(
    State(api): State<Api>,
    Extension(handle): Extension<Handle>,
    reader: AskReader,
    Path(id): Path<String>,
) -> Result<Response, ApiError> {
    let who = handle.answerer()?;
    let ask = find(&api, &id, &reader).await?;
    act(&api, ask, who, Action::Undo).await
}

/// What an approver does to an ask, and what becomes of it.
async fn act(api: &Api, ask: Ask, who: Who, action: Action) -> Result<Response, ApiError> {
    let reply = api.gate.answer(ask.clone(), who, action).await;
    let status = match reply.told {
        // A late or repeated answer is 200 with `applied: false`: the request was valid, and the
        // reply shows who answered.
        Told::Applied | Told::Noted | Told::Voted | Told::TextWanted => StatusCode::OK,
        Told::Already | Told::Expired | Told::Cancelled => StatusCode::OK,
        Told::NotAllowed => StatusCode::FORBIDDEN,
        Told::Unknown => StatusCode::NOT_FOUND,
        Told::Unfit => StatusCode::UNPROCESSABLE_ENTITY,
        Told::Fault => StatusCode::SERVICE_UNAVAILABLE,
    };
    if !status.is_success() {
        return Err(ApiError::new(status, reply.sentence));
    }
    let ask = reply.ask.unwrap_or(ask);
    let reply = AnswerReply {
        applied: reply.told == Told::Applied,
        state: state(&ask.state),
        by: ask.answer().map(|answer| answer.by.clone()),
        message: reply.sentence,
        edit: ask.progress.edit.as_ref().filter(|_| ask.is_open()).map(edit_view),
    };
    Ok(Json(reply).into_response())
}

pub(super) async fn cancel(
    State(api): State<Api>,
    reader: AskReader,
    Path(id): Path<String>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<AskView>, ApiError> {
    let body = body?;
    let given = if body.is_empty() { CancelRequest::default() } else { json(&body)? };
    let reason = given.reason.map(|word| word.parse::<CancelReason>()).transpose();
    let reason = reason.map_err(ApiError::bad_request)?;
    let ask = find(&api, &id, &reader).await?;
    if !reader.may_cancel(&ask) {
        return Err(ApiError::forbidden("an agent cancels only what it asked itself"));
    }
    let now = match reason {
        Some(CancelReason::AnsweredElsewhere) => api.gate.answered_elsewhere(&ask.id).await?,
        Some(CancelReason::SessionEnded) => api.gate.cancel(&ask.id, "its session ended").await?,
        None | Some(CancelReason::Aborted) => {
            api.gate.cancel(&ask.id, "the agent that asked went away").await?
        }
    };
    let ask = now.unwrap_or(ask);
    Ok(Json(view(&ask)))
}

/// The action that an answer requests.
fn action(given: AnswerRequest, ask: &Ask) -> Result<Action, ApiError> {
    if given.decision != Decision::Edit && (given.edit.is_some() || given.digest.is_some()) {
        return Err(ApiError::bad_request("`edit` and `digest` belong to the decision `edit`"));
    }
    match (given.decision, given.answers) {
        (Decision::Deny | Decision::Answer | Decision::Edit, _) if given.rules.is_some() => {
            Err(ApiError::bad_request("`rules` belongs to an approval of a call"))
        }
        (Decision::Approve, Some(_)) if given.rules.is_some() => {
            Err(ApiError::bad_request("`rules` belongs to an approval of a call"))
        }
        (Decision::Edit, Some(_)) => Err(ApiError::bad_request("`answers` belongs to a question")),
        (Decision::Edit, None) => match (given.edit, given.digest) {
            (Some(text), None) => Ok(Action::Words { wanted: TextPurpose::Edit, text: Some(text) }),
            (None, Some(digest)) => {
                let edit = ask.progress.edit.as_ref().filter(|edit| edit.digest == digest);
                // Naming the digest of a critical one is the second step.
                let step = EditStep::Confirm;
                let nth = edit.map_or(0, |edit| edit.nth);
                Ok(Action::Edit { nth, step })
            }
            _ => Err(ApiError::bad_request(
                "`edit` proposes a text, and then `digest` approves it; give one of them",
            )),
        },
        (Decision::Deny, Some(_)) => {
            Err(ApiError::bad_request("`answers` belongs to an approval; a denial gives none"))
        }
        // A denial with a scope would look like a rule for later calls, which only the rules file
        // can hold.
        (Decision::Deny, None) if given.scope.is_some_and(|scope| scope != Scope::Once) => {
            Err(ApiError::bad_request("a denial has no scope; it is for this call only"))
        }
        (Decision::Deny, None) => {
            let then = match (given.stop, given.explain, given.skip) {
                (false, false, false) => None,
                (true, false, false) => Some(OnDeny::Stop),
                (false, true, false) => Some(OnDeny::Explain),
                (false, false, true) => Some(OnDeny::GoOn),
                _ => {
                    let why = "`stop`, `explain` and `skip` exclude each other";
                    return Err(ApiError::bad_request(why));
                }
            };
            Ok(Action::Deny { reason: given.reason, then })
        }
        (Decision::Approve | Decision::Answer, _) if given.stop || given.explain || given.skip => {
            Err(ApiError::bad_request("`stop`, `explain` and `skip` belong to a denial"))
        }
        (Decision::Approve | Decision::Answer, Some(answers)) => Ok(Action::Answers(answers)),
        (Decision::Answer, None) => {
            Err(ApiError::bad_request("`answer` needs `answers`, by the questions' texts"))
        }
        (Decision::Approve, None) if given.rules.is_some() => {
            if given.scope != Some(Scope::Always) || given.reason.is_some() {
                return Err(ApiError::bad_request("`rules` belongs to the scope `always`, alone"));
            }
            let places = given.rules.unwrap_or_default();
            let places: Option<Vec<_>> = places.iter().map(|at| at.checked_sub(1)).collect();
            places
                .map(Action::ApproveParts)
                .ok_or_else(|| ApiError::bad_request("the places of `rules` are counted from 1"))
        }
        (Decision::Approve, None) => {
            let scope = given.scope.unwrap_or(Scope::Once);
            match given.reason.filter(|note| !note.trim().is_empty()) {
                None => Ok(Action::Approve { scope }),
                note if scope == Scope::Once => {
                    Ok(Action::Words { wanted: TextPurpose::Note, text: note })
                }
                Some(_) => Err(ApiError::bad_request(
                    "a note (`reason`) goes with an approval of this call alone",
                )),
            }
        }
    }
}

/// The ask with this id, or the only one whose id starts with it, of those that this reader may
/// read.
// SECURITY: to who may not read an ask, it does not exist.
pub(super) async fn find(api: &Api, id: &str, reader: &AskReader) -> Result<Ask, ApiError> {
    let ids = api.store.ids_like(id).await?;
    // A whole id means itself, even if a longer one starts with it.
    let ids = if ids.iter().any(|found| found == id) { vec![id.to_owned()] } else { ids };
    let mut found = Vec::new();
    for id in &ids {
        // A row that cannot be read is an error where it is the only one that may be meant.
        match api.store.ask(id).await {
            Ok(ask) => found.extend(ask.filter(|ask| reader.may_read(ask))),
            Err(error) if ids.len() == 1 => return Err(error.into()),
            Err(error) => tracing::debug!(%error, "an ask is passed over"),
        }
    }
    match (found.pop(), found.len()) {
        (Some(found), 0) if id.len() >= 3 => Ok(found),
        (Some(_), 1..) => {
            Err(ApiError::bad_request(format!("`{id}` begins several asks; say more of it")))
        }
        _ => Err(no_such(id)),
    }
}

pub(super) fn no_such(id: &str) -> ApiError {
    ApiError::not_found(format!("there is no ask `{id}`"))
}
