//! `/v1/grants`: what has been approved for longer than once.

use super::{fault::Fault, handle::Handle, state::Api};
use crate::{
    ask::owner::Owner,
    clock,
    gate::Revoked,
    store::{Grant, GrantScope},
};
use axum::{
    Extension, Json,
    extract::{Path, State},
    http::StatusCode,
};
use serde_json::{Value, json};

/// Approvers see every grant; agents those that may cover their calls.
pub(super) async fn list(
    State(api): State<Api>,
    Extension(handle): Extension<Handle>,
    Extension(owner): Extension<Owner>,
) -> Result<Json<Value>, Fault> {
    let mut grants = api.store.grants(clock::now_ms()).await?;
    grants.retain(|grant| {
        handle == Handle::Approver
            || grant.scope == GrantScope::Always
            || grant.owner.as_ref() == Some(&owner)
    });
    Ok(Json(json!({"grants": grants.iter().map(view).collect::<Vec<_>>()})))
}

pub(super) async fn revoke(
    State(api): State<Api>,
    Extension(handle): Extension<Handle>,
    Path(id): Path<String>,
) -> Result<Json<Value>, Fault> {
    let who = handle.answerer()?;
    match api.gate.revoke(&id, who).await? {
        Revoked::Done(grant) => Ok(Json(json!({"revoked": view(&grant)}))),
        Revoked::FileKeepsIt(_, problem) => Err(Fault::new(
            StatusCode::CONFLICT,
            format!("the rule still stands in the rules file: {problem}"),
        )),
        Revoked::Unknown => Err(Fault::not_found(format!("there is no grant `{id}` in force"))),
        Revoked::NotAllowed(stranger) => Err(Fault::forbidden(stranger.0)),
    }
}

fn view(grant: &Grant) -> Value {
    let mut value = json!(grant);
    if let Some(map) = value.as_object_mut() {
        map.insert("rule".to_owned(), grant.rule.to_string().into());
        map.insert("created_at".to_owned(), clock::rfc3339(grant.created_at).into());
        if let Some(at) = grant.expires_at {
            map.insert("expires_at".to_owned(), clock::rfc3339(at).into());
        }
    }
    value
}
