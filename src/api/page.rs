//! What the inbox's page reads: routes of the API under `/inbox/api`, without a token.

use super::{Api, grants, handle::Handle, health, history, rules, sessions};
use crate::ask::owner::Owner;
use axum::{
    Extension, Router,
    routing::{delete, get, post},
};

/// The routes for the inbox's page.
// SECURITY: they take no token, so the inbox puts them behind the guard of its own page.
pub fn page_router(api: Api) -> Router {
    Router::new()
        .route("/inbox/api/history", get(history::list))
        .route("/inbox/api/history/{id}", get(history::get))
        .route("/inbox/api/grants", get(grants::list))
        .route("/inbox/api/grants/{id}", delete(grants::revoke))
        .route("/inbox/api/rules/explain", post(rules::explain))
        .route("/inbox/api/rules/try", post(rules::try_rule))
        .route("/inbox/api/sessions", get(sessions::list))
        .route("/inbox/api/status", get(health::readyz))
        .layer(Extension(Handle::Inbox))
        .layer(Extension(Owner::by("inbox")))
        .with_state(api)
}
