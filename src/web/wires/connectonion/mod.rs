//! ConnectOnion's wire: `GET /v1/connectonion`, a WebSocket with the protocol between the tool
//! approval plugin of its agents and their clients.
//!
//! With the agent's handle, the daemon acts as a client towards the agent: a call of the plugin
//! becomes an ask, and the answer is sent back. With the approver's handle, it acts as the agent
//! towards a client: open asks are sent one at a time, and the client may answer them.

mod agent;
mod client;
mod connection;
mod receive;
mod wire;

use crate::{handle::Handle, state::Api};
use axum::{
    Extension, Router,
    extract::{Query, State, WebSocketUpgrade},
    response::Response,
    routing::get,
};
use connection::ConnectionParams;
use countersign_domain::owner::Owner;

/// The largest frame, in bytes.
const LARGEST: usize = 1 << 20;

/// The route of the wire.
pub(super) fn routes() -> Router<Api> {
    Router::new().route("/v1/connectonion", get(connect))
}

/// Upgrades the request to a WebSocket.
async fn connect(
    State(api): State<Api>,
    Extension(handle): Extension<Handle>,
    Extension(owner): Extension<Owner>,
    Query(whose): Query<ConnectionParams>,
    upgrade: WebSocketUpgrade,
) -> Response {
    let whose = ConnectionParams { owner: Some(owner), ..whose };
    // The router's limit covers bodies of requests, not messages of a WebSocket.
    upgrade.max_message_size(LARGEST).on_upgrade(move |socket| async move {
        match handle.answerer() {
            Ok(who) => client::serve(&api, socket, whose, who).await,
            Err(_) => agent::serve(&api, socket, whose).await,
        }
    })
}
