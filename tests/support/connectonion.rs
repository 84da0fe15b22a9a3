//! An agent of ConnectOnion, which behaves like its tool approval plugin, and a client, both over a
//! WebSocket.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests fail by panicking, and each uses only a part"
)]

use crate::daemon::{Daemon, LONG};
use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::{Message, client::IntoClientRequest};

/// A byte stream over TCP or a unix socket.
pub trait Line: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Line for T {}

/// A connection to `/v1/connectonion`.
pub struct Wire {
    socket: WebSocketStream<Box<dyn Line>>,
}

impl Wire {
    /// Connects with a token; `query` names agent and session.
    pub async fn connect(daemon: &Daemon, token: &str, query: &str) -> Self {
        let address = daemon.url.strip_prefix("http://").unwrap();
        let line = TcpStream::connect(address).await.unwrap();
        Self::over(Box::new(line), Some(token), query).await
    }

    /// Connects over the unix socket, which needs no token.
    pub async fn connect_here(daemon: &Daemon, query: &str) -> Self {
        let line = UnixStream::connect(daemon.dir.path().join("countersign.sock")).await.unwrap();
        Self::over(Box::new(line), None, query).await
    }

    async fn over(line: Box<dyn Line>, token: Option<&str>, query: &str) -> Self {
        let url = format!("ws://localhost/v1/connectonion?{query}");
        let mut request = url.into_client_request().unwrap();
        if let Some(token) = token {
            let bearer = format!("Bearer {token}").parse().unwrap();
            request.headers_mut().insert("authorization", bearer);
        }
        let (socket, _) = tokio_tungstenite::client_async(request, line).await.unwrap();
        Self { socket }
    }

    pub async fn send(&mut self, frame: &Value) {
        self.send_text(&frame.to_string()).await;
    }

    pub async fn send_text(&mut self, text: &str) {
        self.socket.send(Message::Text(text.into())).await.unwrap();
    }

    /// Receives the next frame.
    pub async fn next(&mut self) -> Value {
        let frame = tokio::time::timeout(LONG, self.socket.next()).await;
        match frame.expect("a frame in time").expect("an open connection").unwrap() {
            Message::Text(text) => serde_json::from_str(&text).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    /// Drops the connection without a close frame, as a killed process does.
    pub fn drop_line(self) {
        drop(self.socket);
    }
}

/// A call of a batch, with its id.
pub fn call(id: &str, tool: &str, args: Value) -> Value {
    json!({ "id": id, "tool": tool, "args": args })
}

/// The result of a batch.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Ran {
    /// The ids of the calls that ran.
    pub ran: Vec<String>,
    /// The ids of the calls that were asked about.
    pub asked: Vec<String>,
    /// The feedback of each call that a person rejected.
    pub feedback: Vec<String>,
    /// Whether the model gets another turn.
    pub goes_on: bool,
}

/// The plugin's loop over a batch: it asks about every call whose tool is not approved for the
/// session, and stops after a hard rejection.
pub async fn batch(wire: &mut Wire, calls: &[Value]) -> Ran {
    let mut ran = Ran { goes_on: true, ..Ran::default() };
    let mut approved: Vec<Value> = Vec::new();
    for (at, call) in calls.iter().enumerate() {
        if !ran.goes_on {
            continue;
        }
        let id = call["id"].as_str().unwrap().to_owned();
        if approved.contains(&call["tool"]) {
            ran.ran.push(id);
            continue;
        }
        wire.send(&wanted(call, &calls[at + 1..])).await;
        ran.asked.push(id.clone());
        let answer = wire.next().await;
        assert_eq!(
            (&answer["type"], &answer["tool_call_id"]),
            (&json!("APPROVAL_RESPONSE"), &call["id"])
        );
        if answer["approved"] == true {
            // As the real plugin: after this it never asks about the tool again.
            if answer["scope"] == "session" {
                approved.push(call["tool"].clone());
            }
            ran.ran.push(id);
        } else {
            ran.goes_on = answer["mode"] != "reject_hard";
            ran.feedback.push(answer["feedback"].as_str().unwrap().to_owned());
        }
    }
    ran
}

/// The plugin's frame for a call, with the remaining calls of its batch.
pub fn wanted(call: &Value, behind: &[Value]) -> Value {
    let mut frame = json!({
        "type": "approval_needed", "tool_call_id": call["id"], "tool": call["tool"],
        "arguments": call["args"], "description": call["args"]["description"].as_str().unwrap_or(""),
    });
    if !behind.is_empty() {
        let behind = behind
            .iter()
            .map(|call| json!({ "tool": call["tool"], "arguments": call["args"].to_string() }));
        frame["batch_remaining"] = behind.collect();
    }
    frame
}
