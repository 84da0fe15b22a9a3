//! `GET /v1/digest`: what was asked in a time, and which rules would have saved asks.

use crate::{
    Api,
    error::ApiError,
    handle::Handle,
    history::time,
    request::{Params, Reply},
};
use countersign_domain::wire::DigestQuery;
use countersign_gate::digests::DigestScope;
use countersign_tokens::clock;

const WEEK_MS: i64 = 7 * 86_400_000;

// SECURITY: for approvers: it tells what every agent asked, and what a rule would let through.
pub(super) async fn get(api: Api, handle: Handle, query: Params<DigestQuery>) -> Reply {
    if !handle.sees_all() {
        return Err(ApiError::forbidden("a digest needs the approver's token"));
    }
    let until = clock::now_ms();
    let since = time("since", query.read()?.since).map_err(ApiError::unprocessable)?;
    let since = since.unwrap_or(until - WEEK_MS);
    let turn = api.turns.take().await?;
    let scope = DigestScope { since, until, tells: &|_| true, title: api.title };
    let digest = api.gate.digest(scope).await?;
    Ok(turn.held_by(&digest.reply))
}
