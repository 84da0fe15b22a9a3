//! `/v1/reload`: puts a changed config in force.

use super::{error::ApiError, handle::Handle, state::Api};
use axum::{Extension, Json, extract::State, http::StatusCode};
use countersign_domain::wire::ReloadReply;

// SECURITY: an agent's handle does not reload. The approver's does, even where it may not answer: a
// reload grants nothing to its caller, and it must work after local answering was switched off.
pub(super) async fn reload(
    State(api): State<Api>,
    Extension(handle): Extension<Handle>,
) -> Result<Json<ReloadReply>, ApiError> {
    handle.answerer()?;
    let reloaded = (api.reload)().await;
    reloaded.map(Json).map_err(|why| ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, why))
}
