//! The HTTP API: JSON over the unix socket and over TCP, and the wires of other systems' plugins on
//! the same server.
//!
//! Two handles: the agent's may open asks and read their answers; only the approver's may answer.

mod asks;
mod authenticate;
mod calls;
mod events;
mod fault;
mod grants;
mod handle;
mod health;
mod live;
mod sessions;
mod state;
mod token_proof;
mod turns;
mod view;
mod wait;
mod wires;

pub use fault::Fault;
pub use handle::{Handle, Keys, Surface};
pub use state::Api;
pub use turns::Turns;
pub use view::view;

use axum::{
    Router,
    extract::DefaultBodyLimit,
    middleware,
    routing::{delete, get, post},
};

/// The routes as they are served on one surface.
pub fn router(api: Api, surface: Surface) -> Router {
    let routes = Router::new()
        .route("/v1/calls", post(calls::submit))
        .route("/v1/asks", get(asks::list))
        .route("/v1/asks/{id}", get(asks::get))
        .route("/v1/asks/{id}/answer", post(asks::answer))
        .route("/v1/asks/{id}/cancel", post(asks::cancel))
        .route("/v1/events", get(events::stream))
        .route("/v1/sessions/{id}/{act}", post(sessions::act))
        .route("/v1/grants", get(grants::list))
        .route("/v1/grants/{id}", delete(grants::revoke))
        .merge(wires::routes())
        .route("/v1/{*rest}", axum::routing::any(no_such_route))
        .route_layer(middleware::from_fn_with_state(
            (api.keys.clone(), surface),
            authenticate::authenticate,
        ));
    routes
        .route("/v1/nonce", get(token_proof::nonce))
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/metrics", get(health::metrics))
        .layer(DefaultBodyLimit::max(state::LARGEST))
        .with_state(api)
}

async fn no_such_route() -> Fault {
    Fault::not_found("there is no such route; docs/api.md lists them all")
}
