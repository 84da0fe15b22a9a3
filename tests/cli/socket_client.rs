//! A client of an app-server on a unix socket, as a terminal of Codex is one.

use crate::daemon::LONG;
use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use std::path::Path;
use tokio::{
    net::UnixStream,
    time::{Duration, Instant, sleep, timeout},
};
use tokio_tungstenite::{WebSocketStream, client_async, tungstenite::Message};

/// A connection.
pub struct SocketClient(WebSocketStream<UnixStream>);

impl SocketClient {
    /// Connects once the server listens.
    pub async fn connect(socket: &Path) -> Self {
        let until = Instant::now() + LONG;
        let stream = loop {
            match UnixStream::connect(socket).await {
                Ok(stream) => break stream,
                Err(error) => assert!(Instant::now() < until, "{}: {error}", socket.display()),
            }
            sleep(Duration::from_millis(50)).await;
        };
        Self(client_async("ws://localhost/", stream).await.unwrap().0)
    }

    /// Sends a frame.
    pub async fn send(&mut self, frame: &Value) {
        self.0.send(Message::Text(frame.to_string().into())).await.unwrap();
    }

    /// Sends a request and waits for its result.
    pub async fn request(&mut self, method: &str, params: Value) -> Value {
        self.send(&json!({"method": method, "id": method, "params": params})).await;
        self.until(|frame| frame["id"] == method).await["result"].clone()
    }

    /// Waits for the next request of the server.
    pub async fn asked(&mut self) -> Value {
        self.until(|frame| frame["method"].is_string() && !frame["id"].is_null()).await
    }

    /// Waits for a notification.
    pub async fn told(&mut self, method: &str) -> Value {
        self.until(|frame| frame["method"] == method).await
    }

    async fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        let waiting = async {
            loop {
                if let Message::Text(text) = self.0.next().await.unwrap().unwrap() {
                    let frame: Value = serde_json::from_str(&text).unwrap();
                    if wanted(&frame) {
                        return frame;
                    }
                }
            }
        };
        timeout(LONG * 3, waiting).await.expect("no such frame came")
    }
}
