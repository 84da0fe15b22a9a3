//! The HTTP API: JSON over the unix socket and over TCP.
//!
//! Two handles: the agent's may open asks and read their answers; only the approver's may answer.

mod asks;
mod calls;
mod events;
mod fault;
mod grants;
mod handle;
mod health;
mod sessions;
mod shown;
mod turns;
mod view;

pub use fault::Fault;
pub(super) use fault::json;
pub use handle::{Handle, Keys, Surface};
pub(super) use turns::Turn;
pub use turns::Turns;
pub use view::view;

use crate::{
    agents::connectonion,
    gate::{Gate, ask::Ask},
};
use axum::{
    Router,
    extract::DefaultBodyLimit,
    middleware,
    routing::{delete, get, post},
};
use countersign_port::Adapter;
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc};

/// The largest request that is read; bytes.
const LARGEST: usize = 1 << 20;

/// What the routes work with.
#[derive(Clone)]
pub struct Api {
    /// The core.
    pub gate: Arc<Gate>,
    /// The adapters, for the health page.
    pub adapters: Arc<[Arc<dyn Adapter>]>,
    /// The tokens, as hashes.
    pub keys: Arc<Keys>,
    /// The leases of the adapters' accounts: who holds one leads.
    pub leases: Arc<BTreeMap<&'static str, String>>,
    /// Who may make a large answer.
    pub turns: Turns,
    /// An ask as people see it, with nothing that could be pressed.
    pub card: fn(&Ask) -> Value,
    /// Where the inbox is, without its token.
    pub inbox: String,
    /// What people have to know, such as a chat whose presses are not received.
    pub notices: fn(&[Arc<dyn Adapter>]) -> Vec<String>,
}

/// The routes as they are served on one surface.
pub fn router(api: Api, surface: Surface) -> Router {
    let routes = Router::new()
        .route("/v1/calls", post(calls::hand_in))
        .route("/v1/asks", get(asks::list))
        .route("/v1/asks/{id}", get(asks::get))
        .route("/v1/asks/{id}/answer", post(asks::answer))
        .route("/v1/asks/{id}/cancel", post(asks::cancel))
        .route("/v1/events", get(events::stream))
        .route("/v1/sessions/{id}/{act}", post(sessions::act))
        .route("/v1/connectonion", get(connectonion::connect))
        .route("/v1/grants", get(grants::list))
        .route("/v1/grants/{id}", delete(grants::revoke))
        .merge(super::molf::routes())
        .route("/v1/{*rest}", axum::routing::any(no_such_route))
        .route_layer(middleware::from_fn_with_state(
            (api.keys.clone(), surface),
            handle::authenticate,
        ));
    routes
        .route("/v1/nonce", get(shown::nonce))
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/metrics", get(health::metrics))
        .layer(DefaultBodyLimit::max(LARGEST))
        .with_state(api)
}

async fn no_such_route() -> Fault {
    Fault::not_found("there is no such route; docs/api.md lists them all")
}
