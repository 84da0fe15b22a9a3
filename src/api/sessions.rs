//! `/v1/sessions/ID/…`: sets a session's mode, aborts it, or ends it.

use super::{
    fault::{Fault, json},
    handle::Handle,
    state::Api,
};
use crate::gate::{ModeError, ModeSet, SESSION_ENDED, call::is_name};
use axum::{
    Extension, Json,
    body::Bytes,
    extract::{Path, State, rejection::BytesRejection},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use countersign_protocol::{CancelledReply, ModeReply, ModeRequest, SessionRequest};

pub(super) async fn act(
    State(api): State<Api>,
    Extension(handle): Extension<Handle>,
    Path((session, act)): Path<(String, String)>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Fault> {
    let body = body?;
    let named = |agent: &str| -> Result<(), Fault> {
        let agent = is_name("agent", agent, 100);
        agent
            .and_then(|()| is_name("session", &session, 200))
            .map_err(|no| Fault::bad_request(no.0))
    };
    match act.as_str() {
        "abort" => {
            let SessionRequest { agent } = json(&body)?;
            named(&agent)?;
            let why = "its session was aborted";
            let cancelled = api.gate.abort_session(&agent, &session, why).await?;
            Ok(Json(CancelledReply { cancelled }).into_response())
        }
        "end" => {
            let SessionRequest { agent } = json(&body)?;
            named(&agent)?;
            let cancelled = api.gate.end_session(&agent, &session, SESSION_ENDED).await?;
            Ok(Json(CancelledReply { cancelled }).into_response())
        }
        "mode" => {
            let ModeRequest { agent, mode } = json(&body)?;
            named(&agent)?;
            // An agent's handle is no error here: it may set the session back to the configured
            // mode.
            let who = handle.answerer().ok();
            match api.gate.set_mode(&agent, &session, &mode, who).await {
                Ok(ModeSet::Set(mode)) => Ok(Json(ModeReply { mode }).into_response()),
                Ok(ModeSet::NotAllowed(why)) => Err(Fault::forbidden(why)),
                Err(error @ ModeError::Unknown(_)) => {
                    Err(Fault::new(StatusCode::UNPROCESSABLE_ENTITY, error.to_string()))
                }
                Err(ModeError::Store(error)) => Err(error.into()),
            }
        }
        _ => Err(Fault::not_found("a session can be sent `mode`, `abort` and `end`")),
    }
}
