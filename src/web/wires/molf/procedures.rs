//! `POST /v1/molf/…`: a client of molf answers an approval, or reports that a worker disconnected.

use super::approval::approval_id;
use crate::{
    error::{ApiError, json},
    handle::Handle,
    state::Api,
};
use axum::{
    Extension, Json,
    body::Bytes,
    extract::{State, rejection::BytesRejection},
};
use countersign_gate::{Policy, Told, ask::Scope};
use countersign_people::answer::Action;
use serde::Deserialize;
use serde_json::{Value, json as value};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ToolApprove {
    session_id: String,
    approval_id: String,
    #[serde(default)]
    always: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ToolDeny {
    session_id: String,
    approval_id: String,
    feedback: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WorkerGone {
    agent: String,
    worker_id: String,
}

pub(super) async fn approve(
    State(api): State<Api>,
    Extension(handle): Extension<Handle>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<Value>, ApiError> {
    let ToolApprove { session_id, approval_id, always } = json(&body?)?;
    let scope = if always { Scope::Always } else { Scope::Once };
    reply(&api, handle, &session_id, &approval_id, Action::Approve { scope }).await
}

pub(super) async fn deny(
    State(api): State<Api>,
    Extension(handle): Extension<Handle>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<Value>, ApiError> {
    let ToolDeny { session_id, approval_id, feedback } = json(&body?)?;
    let reason = feedback.filter(|words| !words.is_empty());
    reply(&api, handle, &session_id, &approval_id, Action::Deny { reason, then: None }).await
}

/// Replies `{applied}`: `false` if no open ask of this session has the id.
async fn reply(
    api: &Api,
    handle: Handle,
    session: &str,
    id: &str,
    action: Action,
) -> Result<Json<Value>, ApiError> {
    only_with_molf(api)?;
    let who = handle.answerer()?;
    // molf's ids are derived from ours, so the open asks of the session are compared.
    let Some(ask) = api.gate.open_ask(session, |ask| approval_id(ask) == id).await? else {
        return Ok(Json(value!({"applied": false})));
    };
    let reply = api.gate.answer(ask, who, action).await;
    match reply.told {
        Told::NotAllowed => Err(ApiError::forbidden(reply.sentence)),
        told => Ok(Json(value!({"applied": told == Told::Applied}))),
    }
}

pub(super) async fn worker_disconnected(
    State(api): State<Api>,
    Extension(handle): Extension<Handle>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<Value>, ApiError> {
    only_with_molf(&api)?;
    let WorkerGone { agent, worker_id } = json(&body?)?;
    let agent = handle.acts_as(&api, agent).await?;
    let cancelled = api.gate.worker_gone(&agent, &worker_id).await?;
    Ok(Json(value!({"cancelled": cancelled})))
}

/// Refuses the request unless the profile has workers.
pub(super) fn only_with_molf(api: &Api) -> Result<(), ApiError> {
    match matches!(*api.gate.choices().policy, Policy::Workers(..)) {
        true => Ok(()),
        false => Err(ApiError::not_found(
            "these routes belong to the profile molf; set [policy] profile = \"molf\"",
        )),
    }
}
