//! `GET /v1/digest`: what was asked in a time, and which rules would have saved asks.

use crate::{Api, error::ApiError, handle::Handle};
use axum::{
    Extension,
    extract::{Query, State, rejection::QueryRejection},
    http::StatusCode,
    response::Response,
};
use countersign_domain::wire::DigestQuery;
use countersign_gate::digests::DigestScope;
use countersign_tokens::clock;

const WEEK_MS: i64 = 7 * 86_400_000;

// SECURITY: for approvers: it tells what every agent asked, and what a rule would let through.
pub(super) async fn get(
    State(api): State<Api>,
    Extension(handle): Extension<Handle>,
    query: Result<Query<DigestQuery>, QueryRejection>,
) -> Result<Response, ApiError> {
    if !handle.sees_all() {
        return Err(ApiError::forbidden("a digest needs the approver's token"));
    }
    let until = clock::now_ms();
    let since = match query?.0.since {
        None => until - WEEK_MS,
        Some(text) => clock::from_rfc3339(&text).ok_or_else(|| {
            let why = "`since` is not a valid time; use RFC 3339, such as 2026-11-22T18:00:00Z";
            ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, why)
        })?,
    };
    let turn = api.turns.take().await?;
    let scope = DigestScope { since, until, tells: &|_| true, title: api.title };
    let digest = api.gate.digest(scope).await?;
    Ok(turn.held_by(&digest.reply))
}
