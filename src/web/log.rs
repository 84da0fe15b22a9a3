//! `GET /v1/log`: the log as an export has it, page by page; and the key that signs it.

use crate::{
    Api,
    error::ApiError,
    handle::Handle,
    request::{Body, JsonReply, Params},
};
use axum::Json;
use countersign_domain::wire::{LogKeyChange, LogKeyReply, LogKeyRequest, LogQuery, LogReply};
use countersign_people::answer::person;
use countersign_store::LogPage;

// SECURITY: for approvers: it tells what every agent did.
pub(super) async fn page(api: Api, handle: Handle, query: Params<LogQuery>) -> JsonReply<LogReply> {
    if handle.answerer().is_err() {
        return Err(ApiError::forbidden("the log is for approvers: it needs the approver's token"));
    }
    let LogQuery { after, until } = query.read()?;
    // A store that takes no writes now can still be read.
    if until.is_none()
        && let Err(error) = api.log.seal().await
    {
        tracing::debug!(%error, "the newest events are not in this export");
    }
    let page = api.store.log_page(after.unwrap_or_default(), until).await?;
    let none = || ApiError::not_found("nothing is signed yet; try again in a second");
    let LogPage { header, lines, next } = page.ok_or_else(none)?;
    let lines = lines.iter().map(countersign_domain::log::LogLine::line).collect();
    Ok(Json(LogReply { header: header.line(), lines, next, key: api.log.public().to_string() }))
}

/// Rotates the key, or accepts the one that signs.
// SECURITY: for approvers that the config knows now, and the log says who it was.
pub(super) async fn change_key(api: Api, handle: Handle, body: Body) -> JsonReply<LogKeyReply> {
    let approver = api.gate.admit(handle.answerer()?);
    let approver = approver.map_err(|stranger| ApiError::forbidden(stranger.0))?;
    let by = serde_json::json!(person(&approver));
    let LogKeyRequest { change } = body.json()?;
    // To its end: a caller that leaves does not leave half a rotation behind.
    let log = api.log.clone();
    let changing = tokio::spawn(async move {
        match change {
            LogKeyChange::Rotate => log.rotate(&by).await,
            LogKeyChange::Accept => log.accept(&by).await,
        }
    });
    let changed = changing.await.map_err(|_| ApiError::unavailable("the daemon is stopping"))?;
    Ok(Json(LogKeyReply { key: changed?.to_string() }))
}
