//! molf's procedures and events, for clients of molf that answer approvals:
//! `POST /v1/molf/tool.approve`, `POST /v1/molf/tool.deny`, `POST /v1/molf/worker.disconnected` and
//! `GET /v1/molf/events`. molf's server submits calls with `POST /v1/calls`.

mod approval;
mod events;
mod procedures;

use crate::state::Api;
use axum::{
    Router,
    routing::{get, post},
};
use procedures::{approve, deny, worker_disconnected};

/// The routes of the profile.
pub(super) fn routes() -> Router<Api> {
    Router::new()
        .route("/v1/molf/tool.approve", post(approve))
        .route("/v1/molf/tool.deny", post(deny))
        .route("/v1/molf/worker.disconnected", post(worker_disconnected))
        .route("/v1/molf/events", get(events::stream))
}
