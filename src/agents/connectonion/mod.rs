//! ConnectOnion's wire: `GET /v1/connectonion`, a WebSocket that speaks what the tool approval
//! plugin of its agents speaks to their clients.
//!
//! With the agent's handle it is a client to the agent: what the plugin sends becomes an ask, and
//! what people press goes back. With the approver's handle it is the agent to a client of
//! ConnectOnion's: open asks are sent to it one at a time, and it may answer them.

mod agent;
mod client;
mod heard;
mod wire;

use crate::{
    agents::http::{Api, Handle},
    ask::owner::Owner,
};
use axum::{
    Extension,
    extract::{Query, State, WebSocketUpgrade, ws},
    response::Response,
};
use serde::Deserialize;
use serde_json::Value;

/// The largest frame that is read; bytes.
const LARGEST: usize = 1 << 20;

/// Whose connection it is, from the address: `?agent=shop-bot&session=7`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Whose {
    /// The agent's name on cards.
    #[serde(default = "nameless")]
    agent: String,
    /// The session of frames that name none.
    session: Option<String>,
    /// The folder that the agent works in.
    cwd: Option<String>,
    /// How far the agent's host trusts whoever it works for.
    requester: Option<String>,
    /// Whose the sessions are that this connection speaks of.
    #[serde(skip)]
    owner: Option<Owner>,
}

fn nameless() -> String {
    "connectonion".to_owned()
}

/// Takes the connection.
pub(super) async fn connect(
    State(api): State<Api>,
    Extension(handle): Extension<Handle>,
    Extension(owner): Extension<Owner>,
    Query(whose): Query<Whose>,
    upgrade: WebSocketUpgrade,
) -> Response {
    let whose = Whose { owner: Some(owner), ..whose };
    upgrade.max_message_size(LARGEST).on_upgrade(move |socket| async move {
        match handle.answerer() {
            Ok(who) => client::serve(&api, socket, whose, who).await,
            Err(_) => agent::serve(&api, socket, whose).await,
        }
    })
}

/// What came in on a connection.
enum Incoming {
    /// A frame of the wire.
    Frame(Value),
    /// Something that is none; the sentence says why.
    Malformed(String),
    /// Nothing to act on.
    Idle,
    /// The end.
    Closed,
}

fn incoming(message: Option<Result<ws::Message, axum::Error>>) -> Incoming {
    match message {
        None | Some(Err(_) | Ok(ws::Message::Close(_))) => Incoming::Closed,
        Some(Ok(ws::Message::Ping(_) | ws::Message::Pong(_))) => Incoming::Idle,
        Some(Ok(ws::Message::Binary(_))) => {
            Incoming::Malformed("frames are JSON texts; this one is binary".to_owned())
        }
        Some(Ok(ws::Message::Text(text))) => match serde_json::from_str(&text) {
            Ok(frame @ Value::Object(_)) => Incoming::Frame(frame),
            Ok(_) => Incoming::Malformed("a frame is a JSON object".to_owned()),
            Err(error) => Incoming::Malformed(format!("the frame is no JSON: {error}")),
        },
    }
}

/// A frame on its way out.
fn text(frame: &Value) -> ws::Message {
    ws::Message::Text(frame.to_string().into())
}
