//! `/v1/pairings`: begins a pairing, and says who sent its code.

use super::{
    error::{ApiError, json},
    handle::Handle,
    state::Api,
    wait::longest,
};
use axum::{
    Extension, Json,
    body::Bytes,
    extract::{
        Path, Query, State,
        rejection::{BytesRejection, QueryRejection},
    },
};
use countersign_domain::wire::{
    PairingKnock, PairingProgress, PairingReply, PairingRequest, PairingView, WaitQuery,
};
use countersign_gate::{Knocker, PairingState};
use countersign_port::{PAIRING_PREFIX, line};
use countersign_tokens::{clock, ids};

pub(super) async fn begin(
    State(api): State<Api>,
    Extension(handle): Extension<Handle>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<PairingReply>, ApiError> {
    may_pair(handle)?;
    let PairingRequest { platform } = json(&body?)?;
    let known = api.adapters.borrow().iter().any(|it| it.name == platform && it.name != "inbox");
    if !known {
        let name = line(&platform);
        return Err(ApiError::not_found(format!(
            "no account on `{name}` is in force; write [{name}] into the config and reload it"
        )));
    }
    let (id, code) = (ids::ask_id(), format!("{PAIRING_PREFIX}{}", ids::nonce()));
    let until = api.gate.pairings.begin(&platform, &id, &code);
    tracing::info!(platform, pairing = id, "a pairing has begun");
    Ok(Json(PairingReply { id, code, expires: clock::rfc3339(until) }))
}

pub(super) async fn get(
    State(api): State<Api>,
    Extension(handle): Extension<Handle>,
    Path(id): Path<String>,
    query: Result<Query<WaitQuery>, QueryRejection>,
) -> Result<Json<PairingView>, ApiError> {
    may_pair(handle)?;
    let Query(query) = query?;
    let none = || ApiError::not_found("there is no such pairing (any more); begin another");
    let state = api.gate.pairings.wait(&id, longest(&query)).await.ok_or_else(none)?;
    let (state, by) = match state {
        PairingState::Waiting => (PairingProgress::Waiting, None),
        PairingState::Expired => (PairingProgress::Expired, None),
        PairingState::Knocked(by) => (PairingProgress::Knocked, Some(knock(by))),
    };
    Ok(Json(PairingView { state, by }))
}

/// Whether a handle may make and read pairings.
// SECURITY: the approver's token alone, even where local answering is off: as a reload, a pairing
// grants nothing to its caller. An agent that read a code could send it to the bot itself.
fn may_pair(handle: Handle) -> Result<(), ApiError> {
    match handle {
        Handle::Approver | Handle::Person(_) => Ok(()),
        Handle::Agent | Handle::Named(_) | Handle::Inbox(_) => {
            Err(ApiError::forbidden("pairing a phone needs the approver's token"))
        }
    }
}

fn knock(by: Knocker) -> PairingKnock {
    let Knocker { id, name, target, place } = by;
    PairingKnock { id, name, target, place }
}
