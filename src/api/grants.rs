//! `/v1/grants`: lists and revokes grants.

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
use countersign_protocol::{GrantReach, GrantView, GrantsPage, RevokeReply};

/// Lists grants: approvers see every grant; agents see those that may cover their calls.
pub(super) async fn list(
    State(api): State<Api>,
    Extension(handle): Extension<Handle>,
    Extension(owner): Extension<Owner>,
) -> Result<Json<GrantsPage>, Fault> {
    let mut grants = api.store.grants(clock::now_ms()).await?;
    grants.retain(|grant| {
        handle.sees_all()
            || grant.scope == GrantScope::Always
            || grant.owner.as_ref() == Some(&owner)
    });
    let missing = api.gate.missing_rules(&grants);
    let one = |(grant, missing)| GrantView { missing, ..view(grant) };
    Ok(Json(GrantsPage { grants: grants.iter().zip(missing).map(one).collect() }))
}

pub(super) async fn revoke(
    State(api): State<Api>,
    Extension(handle): Extension<Handle>,
    Path(id): Path<String>,
) -> Result<Json<RevokeReply>, Fault> {
    let who = handle.answerer()?;
    match api.gate.revoke(&id, who).await? {
        Revoked::Done(grant) => Ok(Json(RevokeReply { revoked: view(&grant) })),
        // 409: the grant is revoked in the store, but the rules file still allows the call. A plain
        // success would be false.
        Revoked::FileKeepsIt(_, problem) => Err(Fault::new(
            StatusCode::CONFLICT,
            format!("the rule still stands in the rules file: {problem}"),
        )),
        Revoked::Unknown => Err(Fault::not_found(format!("there is no grant `{id}` in force"))),
        Revoked::NotAllowed(stranger) => Err(Fault::forbidden(stranger.0)),
    }
}

fn view(grant: &Grant) -> GrantView {
    GrantView {
        id: grant.id.clone(),
        ask: grant.ask.clone(),
        tool: grant.rule.tool.clone(),
        pattern: grant.rule.pattern.clone(),
        verdict: grant.rule.verdict.to_string(),
        scope: match grant.scope {
            GrantScope::Session => GrantReach::Session,
            GrantScope::Timed => GrantReach::Timed,
            GrantScope::Always => GrantReach::Always,
        },
        agent: grant.agent.clone(),
        session: grant.session.clone(),
        by: grant.by.clone(),
        created_at: clock::rfc3339(grant.created_at),
        expires_at: grant.expires_at.map(clock::rfc3339),
        rule: grant.rule.to_string(),
        missing: None,
    }
}
