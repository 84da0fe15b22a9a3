//! `/v1/sessions`: lists sessions; sets one's mode, aborts it, or ends it; `/v1/pause` and
//! `/v1/resume`.

use crate::{
    Api,
    error::ApiError,
    handle::Handle,
    request::{Answering, Body, JsonReply, Reply},
};
use axum::{Json, extract::Path, response::IntoResponse};
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
pub(super) async fn list(api: Api, handle: Handle) -> Reply {
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
    api: Api,
    handle: Handle,
    Path((session, act)): Path<(String, String)>,
    body: Body,
) -> Reply {
    match act.as_str() {
        "abort" | "end" => {
            let SessionRequest { agent } = body.json()?;
            let agent = acting(&api, &handle, agent, &session).await?;
            let cancelled = match act.as_str() {
                "end" => api.gate.end_session(&agent, &session, SESSION_ENDED).await?,
                _ => api.gate.abort_session(&agent, &session, "its session was aborted").await?,
            };
            Ok(Json(CancelledReply { cancelled }).into_response())
        }
        "mode" => {
            let ModeRequest { agent, mode } = body.json()?;
            let agent = acting(&api, &handle, agent, &session).await?;
            // An agent's handle is no error here: it may set the session back to the configured
            // mode.
            let who = handle.answerer().ok();
            match api.gate.set_mode(&agent, &session, &mode, who).await {
                Ok(ModeSet::Set(mode)) => Ok(Json(ModeReply { mode }).into_response()),
                Ok(ModeSet::NotAllowed(why)) => Err(ApiError::forbidden(why)),
                Err(error @ ModeError::Unknown(_)) => {
                    Err(ApiError::unprocessable(error.to_string()))
                }
                Err(ModeError::Store(error)) => Err(error.into()),
            }
        }
        _ => {
            body.bytes()?;
            Err(ApiError::not_found("a session can be sent `mode`, `abort` and `end`"))
        }
    }
}

/// The agent for whom a request acts on this session.
async fn acting(api: &Api, handle: &Handle, agent: String, session: &str) -> Reply<String> {
    let named = is_name("agent", &agent, 100).and_then(|()| is_name("session", session, 200));
    named.map_err(|no| ApiError::bad_request(no.0))?;
    handle.acts_as(api, agent).await
}

// `/v1/pause` and `/v1/resume`: the kill switch, for approvers.

// SECURITY: an agent's handle neither pauses nor resumes.
pub(super) async fn pause(api: Api, handle: Handle, body: Body) -> JsonReply<PauseReply> {
    let who = handle.answerer()?;
    let PauseRequest { mode } = body.json_or_default()?;
    Ok(reply(api.gate.pause(mode, who).await?))
}

pub(super) async fn resume(api: Api, Answering(who): Answering) -> JsonReply<PauseReply> {
    Ok(reply(api.gate.resume(who).await?))
}

fn reply(outcome: PauseOutcome) -> Json<PauseReply> {
    Json(match outcome {
        PauseOutcome::Switched(message) => PauseReply { switched: true, message },
        PauseOutcome::Unchanged(message) => PauseReply { switched: false, message },
    })
}

/// A pause as the API shows it.
pub(super) fn pause_view(pause: &Pause) -> PauseView {
    PauseView { mode: pause.mode, by: pause.by.clone(), since: clock::rfc3339(pause.since) }
}
