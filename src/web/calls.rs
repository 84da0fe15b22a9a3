//! `POST /v1/calls`: an agent submits a call.

use super::{
    error::{ApiError, unreadable},
    state::Api,
    view::{asked, decided},
    wait::longest,
};
use axum::{
    Extension, Json,
    body::Bytes,
    extract::{
        Query, State,
        rejection::{BytesRejection, QueryRejection},
    },
    http::StatusCode,
    response::{IntoResponse, Response},
};
use countersign_domain::{
    call::Call,
    owner::Owner,
    wire::{AheadQuery, AheadReply, SubmitRequest, WaitQuery},
};
use countersign_gate::{SubmitOutcome, Take, ask::Ask};

pub(super) async fn submit(
    State(api): State<Api>,
    Extension(owner): Extension<Owner>,
    query: Result<Query<WaitQuery>, QueryRejection>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let (Query(query), body) = (query?, body?);
    let call = owned(&api, &owner, &body).await?;
    let longest = longest(&query);
    let (ask, caller) = match api.gate.submit(call.clone(), !longest.is_zero()).await? {
        SubmitOutcome::Ruled(ruling) => {
            let message = api.gate.text_for_denial(&call, &ruling);
            return Ok(Json(decided(&ruling, message)).into_response());
        }
        SubmitOutcome::Asked(ask, caller) => (ask, caller),
    };
    // No wait was requested, so nobody is attached and the open ask is returned at once.
    let Some(mut caller) = caller else { return Ok(reply(&api, &ask)) };
    let id = std::mem::take(&mut { ask }.id);
    let waited = caller.wait(longest).await;
    // An error is a response too: the caller submits again with the same key, so this is no cancel.
    caller.leave();
    let ask = waited?.ok_or_else(|| ApiError::not_found(format!("there is no ask `{id}`")))?;
    Ok(reply(&api, &ask))
}

pub(super) async fn ahead(
    State(api): State<Api>,
    Extension(owner): Extension<Owner>,
    query: Result<Query<AheadQuery>, QueryRejection>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<AheadReply>, ApiError> {
    let (Query(query), body) = (query?, body?);
    let call = owned(&api, &owner, &body).await?;
    let take = if query.spend { Take::Spend } else { Take::Look };
    let approved = api.gate.approved_ahead(call, take).await?;
    Ok(Json(AheadReply { approved }))
}

/// Reads a submitted call, and whose it is.
async fn owned(api: &Api, owner: &Owner, body: &Bytes) -> Result<Call, ApiError> {
    // A large body is parsed outside the runtime's workers, so that it does not delay other
    // requests.
    let read = api.gate.beside(body.len(), || read(body)).await;
    let SubmitRequest { mut call, session_secret } = read?;
    // The handle's owner, narrowed by the session's secret: without the secret, any process with
    // the agent's token could use the session's grants.
    call.owner = Some(session_secret.map_or(owner.clone(), |secret| owner.clone().with(&secret)));
    Ok(call)
}

/// Parses a submitted call. Its session's secret limits that session's grants to holders of it.
fn read(body: &[u8]) -> Result<SubmitRequest, ApiError> {
    let request = SubmitRequest::from_json(body).map_err(|error| unreadable(&error))?;
    let count = request.session_secret.as_ref().map_or(16, |secret| secret.chars().count());
    match (16..=200).contains(&count) {
        true => Ok(request),
        false => Err(ApiError::bad_request(format!(
            "`session_secret` has {count} characters; it is a random text of 16 to 200, the same \
             for every call of a session"
        ))),
    }
}

fn reply(api: &Api, ask: &Ask) -> Response {
    let status = if ask.is_open() { StatusCode::ACCEPTED } else { StatusCode::OK };
    (status, Json(asked(&api.gate, ask))).into_response()
}
