//! `/v1/grants`: lists and revokes grants.

use crate::{
    Api,
    error::ApiError,
    handle::Handle,
    request::{Answering, JsonReply},
};
use axum::{Extension, Json, extract::Path};
use countersign_domain::{
    GrantScope, Owner,
    wire::{GrantView, GrantsPage, RevokeReply},
};
use countersign_gate::Revoked;
use countersign_store::{Grant, GrantUse, StoreError};
use countersign_tokens::clock;
use std::collections::HashMap;

/// Lists grants: approvers see every grant; agents see those that may cover their calls.
pub(super) async fn list(
    api: Api,
    handle: Handle,
    Extension(owner): Extension<Owner>,
) -> JsonReply<GrantsPage> {
    let mut grants = api.store.grants(clock::now_ms()).await?;
    grants.retain(|grant| {
        handle.sees_all()
            || grant.scope == GrantScope::Always
            || grant.owner.as_ref().is_some_and(|of| of.is_of_handle(&owner))
    });
    // SECURITY: the last call of a grant for always may be another agent's.
    let uses = if handle.sees_all() { uses(&api).await? } else { None };
    let one = |grant: &Grant| {
        let counts = grant.scope != GrantScope::Review;
        let used = uses.as_ref().filter(|_| counts).map(|uses| uses.get(&grant.id));
        let last = used.flatten();
        GrantView {
            used: used.map(|found| found.map_or(0, |found| found.used)),
            last_used_at: last.map(|last| clock::rfc3339(last.last_at)),
            last_call: last.map(|last| last.last_call.clone()),
            ..view(grant)
        }
    };
    Ok(Json(GrantsPage { grants: grants.iter().map(one).collect() }))
}

/// How often each grant was used until now; `None` where that is not counted.
async fn uses(api: &Api) -> Result<Option<HashMap<String, GrantUse>>, StoreError> {
    if !api.gate.counts_uses() {
        return Ok(None);
    }
    // A store that takes no writes now can still be read.
    if let Err(error) = api.gate.uses.write().await {
        tracing::debug!(%error, "the latest uses of grants are not shown");
    }
    api.store.grant_uses().await.map(Some)
}

pub(super) async fn revoke(
    api: Api,
    Path(id): Path<String>,
    Answering(who): Answering,
) -> JsonReply<RevokeReply> {
    match api.gate.revoke(&id, who).await? {
        Revoked::Done(grant) => Ok(Json(RevokeReply { revoked: view(&grant) })),
        // 409: the grant is revoked in the store, but the rules file still allows the call. A plain
        // success would be false.
        Revoked::FileKeepsIt(_, problem) => {
            Err(ApiError::conflict(format!("the rule is still in the rules file: {problem}")))
        }
        Revoked::Unknown => Err(ApiError::not_found(format!("there is no grant `{id}` in force"))),
    }
}

pub(super) fn view(grant: &Grant) -> GrantView {
    GrantView {
        id: grant.id.clone(),
        ask: grant.ask.clone(),
        tool: grant.rule.tool.clone(),
        pattern: grant.rule.pattern.clone(),
        verdict: grant.rule.verdict.to_string(),
        scope: grant.scope,
        agent: grant.agent.clone(),
        session: grant.session.clone(),
        by: grant.by.clone(),
        created_at: clock::rfc3339(grant.created_at),
        expires_at: grant.expires_at.map(clock::rfc3339),
        rule: grant.covers(),
        used: None,
        last_used_at: None,
        last_call: None,
    }
}
