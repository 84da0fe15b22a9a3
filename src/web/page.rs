//! What the inbox's page reads: routes of the API under `/inbox/api`, without a token.

use super::{Api, ApiError, approvers, grants, handle::Handle, health, history, rules, sessions};
use axum::{
    Extension, Router,
    extract::Request,
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{delete, get, post},
};
use countersign_domain::owner::Owner;
use countersign_port::Presser;

/// The routes for the inbox's page.
// SECURITY: they take no token, so the inbox puts them behind the guard of its own page.
pub fn page_router(api: Api) -> Router {
    Router::new()
        .route("/inbox/api/history", get(history::list))
        .route("/inbox/api/history/{id}", get(history::get))
        .route("/inbox/api/grants", get(grants::list))
        .route("/inbox/api/grants/{id}", delete(grants::revoke))
        .route("/inbox/api/rules/explain", post(rules::explain))
        .route("/inbox/api/approvers/explain", post(approvers::explain))
        .route("/inbox/api/asks/{id}/approvers", get(approvers::of_ask))
        .route("/inbox/api/rules/try", post(rules::try_rule))
        .route("/inbox/api/rules/save", post(rules::save))
        .route("/inbox/api/sessions", get(sessions::list))
        .route("/inbox/api/status", get(health::readyz))
        .layer(middleware::from_fn(by_visitor))
        .layer(Extension(Owner::by("inbox")))
        .with_state(api)
}

/// Gives a request the handle of the person at the page, as the inbox vouches for them.
// FAIL-CLOSED: a request of nobody has no handle.
async fn by_visitor(mut request: Request, next: Next) -> Response {
    let Some(presser) = request.extensions().get::<Presser>().cloned() else {
        return ApiError::forbidden("the inbox does not vouch for this request").into_response();
    };
    request.extensions_mut().insert(Handle::Inbox(presser));
    next.run(request).await
}
