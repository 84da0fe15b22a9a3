//! `/v1/pause` and `/v1/resume`: the kill switch, for approvers.

use super::{
    error::{ApiError, json},
    handle::Handle,
    state::Api,
};
use axum::{
    Extension, Json,
    body::Bytes,
    extract::{State, rejection::BytesRejection},
};
use countersign_domain::{
    pause::Pause,
    wire::{PauseReply, PauseRequest, PauseView},
};
use countersign_gate::PauseOutcome;
use countersign_tokens::clock;

// SECURITY: an agent's handle neither pauses nor resumes.
pub(super) async fn pause(
    State(api): State<Api>,
    Extension(handle): Extension<Handle>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<PauseReply>, ApiError> {
    let (who, body) = (handle.answerer()?, body?);
    let PauseRequest { mode } =
        if body.is_empty() { PauseRequest::default() } else { json(&body)? };
    reply(api.gate.pause(mode, who).await?)
}

pub(super) async fn resume(
    State(api): State<Api>,
    Extension(handle): Extension<Handle>,
) -> Result<Json<PauseReply>, ApiError> {
    reply(api.gate.resume(handle.answerer()?).await?)
}

fn reply(outcome: PauseOutcome) -> Result<Json<PauseReply>, ApiError> {
    match outcome {
        PauseOutcome::Switched(message) => Ok(Json(PauseReply { switched: true, message })),
        PauseOutcome::Unchanged(message) => Ok(Json(PauseReply { switched: false, message })),
        PauseOutcome::NotAllowed(stranger) => Err(ApiError::forbidden(stranger.0)),
    }
}

/// A pause as the API shows it.
pub(super) fn view(pause: &Pause) -> PauseView {
    PauseView { mode: pause.mode, by: pause.by.clone(), since: clock::rfc3339(pause.since) }
}
