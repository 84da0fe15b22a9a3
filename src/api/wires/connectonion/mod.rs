//! ConnectOnion's wire: `GET /v1/connectonion`, a WebSocket that speaks what the tool approval
//! plugin of its agents speaks to their clients.
//!
//! With the agent's handle it is a client to the agent: what the plugin sends becomes an ask, and
//! what people press goes back. With the approver's handle it is the agent to a client of
//! ConnectOnion's: open asks are sent to it one at a time, and it may answer them.

mod agent;
mod client;
mod connection;
mod receive;
mod wire;

use crate::{
    api::{handle::Handle, state::Api},
    ask::owner::Owner,
};
use axum::{
    Extension, Router,
    extract::{Query, State, WebSocketUpgrade},
    response::Response,
    routing::get,
};
use connection::ConnectionParams;

/// The largest frame that is read; bytes.
const LARGEST: usize = 1 << 20;

/// The route of the wire.
pub(super) fn routes() -> Router<Api> {
    Router::new().route("/v1/connectonion", get(connect))
}

/// Takes the connection.
async fn connect(
    State(api): State<Api>,
    Extension(handle): Extension<Handle>,
    Extension(owner): Extension<Owner>,
    Query(whose): Query<ConnectionParams>,
    upgrade: WebSocketUpgrade,
) -> Response {
    let whose = ConnectionParams { owner: Some(owner), ..whose };
    upgrade.max_message_size(LARGEST).on_upgrade(move |socket| async move {
        match handle.answerer() {
            Ok(who) => client::serve(&api, socket, whose, who).await,
            Err(_) => agent::serve(&api, socket, whose).await,
        }
    })
}
