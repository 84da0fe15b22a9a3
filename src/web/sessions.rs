//! `/v1/sessions`: lists sessions; sets one's mode, aborts it, or ends it; `/v1/pause` and
//! `/v1/resume`.

use crate::{
    Api,
    error::{ApiError, json},
    handle::Handle,
};
use axum::{
    Extension, Json,
    body::Bytes,
    extract::{Path, State, rejection::BytesRejection},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use countersign_domain::{
    deadline::Pause,
    wire::{
        CancelledReply, ModeReply, ModeRequest, PauseReply, PauseRequest, PauseView,
        SessionRequest, SessionView, SessionsPage,
    },
};
use countersign_gate::{ModeError, ModeSet, PauseOutcome, SESSION_ENDED, call::is_name};
use countersign_store::{KnownSession, Store, StoreError};
use countersign_tokens::clock;

/// Lists the sessions of all agents.
// SECURITY: for approvers: it names every agent's folders and asks.
pub(super) async fn list(
    State(api): State<Api>,
    Extension(handle): Extension<Handle>,
) -> Result<Response, ApiError> {
    if !handle.sees_all() {
        return Err(ApiError::forbidden("listing sessions needs the approver's token"));
    }
    let turn = api.turns.take().await?;
    let (known, more) = api.store.known_sessions().await?;
    let mut sessions = Vec::with_capacity(known.len());
    for session in known {
        sessions.push(view(&api.store, session).await?);
    }
    Ok(turn.held_by(&SessionsPage { sessions, more }))
}

/// The session with the machine and folder of its latest ask, which is read and dropped: a body may
/// be large.
async fn view(store: &Store, known: KnownSession) -> Result<SessionView, StoreError> {
    let KnownSession { agent, session, mode, open, asks, latest, last_seen } = known;
    let ask = match latest {
        Some(id) => store.whole_ask(&id).await?,
        None => None,
    };
    let (host, cwd) = ask.map(|ask| (ask.body.call.host, ask.body.call.cwd)).unwrap_or_default();
    let last_seen = clock::rfc3339(last_seen);
    Ok(SessionView { agent, session, host, cwd, mode, open, asks, last_seen })
}

pub(super) async fn act(
    State(api): State<Api>,
    Extension(handle): Extension<Handle>,
    Path((session, act)): Path<(String, String)>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let body = body?;
    let named = |agent: &str| -> Result<(), ApiError> {
        let agent = is_name("agent", agent, 100);
        agent
            .and_then(|()| is_name("session", &session, 200))
            .map_err(|no| ApiError::bad_request(no.0))
    };
    match act.as_str() {
        "abort" => {
            let SessionRequest { agent } = json(&body)?;
            named(&agent)?;
            let agent = handle.acts_as(&api, agent).await?;
            let why = "its session was aborted";
            let cancelled = api.gate.abort_session(&agent, &session, why).await?;
            Ok(Json(CancelledReply { cancelled }).into_response())
        }
        "end" => {
            let SessionRequest { agent } = json(&body)?;
            named(&agent)?;
            let agent = handle.acts_as(&api, agent).await?;
            let cancelled = api.gate.end_session(&agent, &session, SESSION_ENDED).await?;
            Ok(Json(CancelledReply { cancelled }).into_response())
        }
        "mode" => {
            let ModeRequest { agent, mode } = json(&body)?;
            named(&agent)?;
            let agent = handle.acts_as(&api, agent).await?;
            // An agent's handle is no error here: it may set the session back to the configured
            // mode.
            let who = handle.answerer().ok();
            match api.gate.set_mode(&agent, &session, &mode, who).await {
                Ok(ModeSet::Set(mode)) => Ok(Json(ModeReply { mode }).into_response()),
                Ok(ModeSet::NotAllowed(why)) => Err(ApiError::forbidden(why)),
                Err(error @ ModeError::Unknown(_)) => {
                    Err(ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, error.to_string()))
                }
                Err(ModeError::Store(error)) => Err(error.into()),
            }
        }
        _ => Err(ApiError::not_found("a session can be sent `mode`, `abort` and `end`")),
    }
}

// `/v1/pause` and `/v1/resume`: the kill switch, for approvers.

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
pub(super) fn pause_view(pause: &Pause) -> PauseView {
    PauseView { mode: pause.mode, by: pause.by.clone(), since: clock::rfc3339(pause.since) }
}
