//! One connection: its parameters, and its frames in both directions.

use axum::extract::ws;
use countersign_domain::{exact_json, owner::Owner};
use serde::Deserialize;
use serde_json::Value;

/// The parameters of a connection, from the query: `?agent=shop-bot&session=7`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ConnectionParams {
    /// The agent's name on cards.
    #[serde(default = "nameless")]
    pub(super) agent: String,
    /// The session of frames that name none.
    pub(super) session: Option<String>,
    /// The agent's working directory.
    pub(super) cwd: Option<String>,
    /// The trust level of the person for whom the agent works, as its host rates it.
    pub(super) requester: Option<String>,
    /// The owner of this connection's sessions.
    #[serde(skip)]
    pub(super) owner: Option<Owner>,
}

fn nameless() -> String {
    "connectonion".to_owned()
}

/// A message received on a connection.
pub(super) enum IncomingFrame {
    /// A frame.
    Frame(Value),
    /// Not a frame; the sentence gives the reason.
    Malformed(String),
    /// A ping or pong, which needs no action.
    Idle,
    /// The connection is closed.
    Closed,
}

/// Decodes a message of the socket.
pub(super) fn incoming(message: Option<Result<ws::Message, axum::Error>>) -> IncomingFrame {
    match message {
        None | Some(Err(_) | Ok(ws::Message::Close(_))) => IncomingFrame::Closed,
        Some(Ok(ws::Message::Ping(_) | ws::Message::Pong(_))) => IncomingFrame::Idle,
        Some(Ok(ws::Message::Binary(_))) => {
            IncomingFrame::Malformed("frames are JSON texts; this one is binary".to_owned())
        }
        Some(Ok(ws::Message::Text(text))) => match exact_json::from_str(&text) {
            Ok(frame @ Value::Object(_)) => IncomingFrame::Frame(frame),
            Ok(_) => IncomingFrame::Malformed("a frame is a JSON object".to_owned()),
            Err(error) => IncomingFrame::Malformed(format!("the frame is not valid JSON: {error}")),
        },
    }
}

/// Encodes a frame.
pub(super) fn text(frame: &Value) -> ws::Message {
    ws::Message::Text(frame.to_string().into())
}
