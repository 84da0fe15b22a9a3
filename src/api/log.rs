//! `GET /v1/log`: the log as an export has it, page by page.

use super::{error::ApiError, handle::Handle, state::Api};
use crate::store::LogPage;
use axum::{
    Extension, Json,
    extract::{Query, State, rejection::QueryRejection},
};
use countersign_protocol::{LogQuery, LogReply};

// SECURITY: for approvers: it tells what every agent did.
pub(super) async fn page(
    State(api): State<Api>,
    Extension(handle): Extension<Handle>,
    query: Result<Query<LogQuery>, QueryRejection>,
) -> Result<Json<LogReply>, ApiError> {
    if handle.answerer().is_err() {
        return Err(ApiError::forbidden("the log is for approvers: it needs the approver's token"));
    }
    let Query(LogQuery { after, until }) = query?;
    // A store that takes no writes now can still be read.
    if until.is_none()
        && let Err(error) = api.log.seal().await
    {
        tracing::debug!(%error, "the newest events are not in this export");
    }
    let page = api.store.log_page(after.unwrap_or_default(), until).await?;
    let none = || ApiError::not_found("nothing is signed yet; try again in a second");
    let LogPage { header, lines, next } = page.ok_or_else(none)?;
    let lines = lines.iter().map(crate::audit::LogLine::line).collect();
    Ok(Json(LogReply { header: header.line(), lines, next, key: api.log.public().to_string() }))
}
