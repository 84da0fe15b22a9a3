//! One connection of the wire: whose it is, and the frames that come and go.

use crate::ask::owner::Owner;
use axum::extract::ws;
use serde::Deserialize;
use serde_json::Value;

/// Who connects, from the query: `?agent=shop-bot&session=7`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ConnectionParams {
    /// The agent's name on cards.
    #[serde(default = "nameless")]
    pub(super) agent: String,
    /// The session of frames that name none.
    pub(super) session: Option<String>,
    /// The folder that the agent works in.
    pub(super) cwd: Option<String>,
    /// How far the agent's host trusts whoever it works for.
    pub(super) requester: Option<String>,
    /// The owner of this connection's sessions.
    #[serde(skip)]
    pub(super) owner: Option<Owner>,
}

fn nameless() -> String {
    "connectonion".to_owned()
}

/// What came in on a connection.
pub(super) enum Incoming {
    /// A frame of the wire.
    Frame(Value),
    /// Something that is none; the sentence says why.
    Malformed(String),
    /// Nothing to act on.
    Idle,
    /// The end.
    Closed,
}

/// What a message of the socket comes to.
pub(super) fn incoming(message: Option<Result<ws::Message, axum::Error>>) -> Incoming {
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
pub(super) fn text(frame: &Value) -> ws::Message {
    ws::Message::Text(frame.to_string().into())
}
