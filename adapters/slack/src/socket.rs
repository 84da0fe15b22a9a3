//! One connection over which Slack sends what people do.

use crate::problem::ApiProblem;
use countersign_port::{CancellationToken, SendGuard};
use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

/// How long connecting may take, and sending a frame.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between two pings of ours.
const PING: Duration = Duration::from_secs(2);
/// A connection over which nothing came for so long is dead: our pings are answered at once.
const SILENCE: Duration = Duration::from_secs(6);

/// What a connection reports.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SocketNotice {
    /// Slack sends over it from now on.
    Up,
    /// Slack will close it soon and wants another one first.
    Refresh,
    /// Socket Mode was switched off.
    Disabled,
    /// Somebody did something; it is acknowledged already.
    Envelope {
        /// Of which kind.
        kind: String,
        /// What.
        payload: Value,
    },
    /// It ended.
    Down(String),
    /// Slack says not even where to connect.
    Unopened(ApiProblem),
}

type SlackStream = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Keeps a connection to `url` until it ends or `stop` is cancelled, and says why it ended.
pub(crate) async fn serve(
    url: &str,
    guard: &SendGuard,
    stop: &CancellationToken,
    notify: impl Fn(SocketNotice),
) -> String {
    let connected = tokio::select! {
        () = stop.cancelled() => return "the daemon stops".to_owned(),
        connected = timeout(PATIENCE, connect_async(url)) => connected,
    };
    let mut stream = match connected {
        Ok(Ok((stream, _))) => stream,
        // SECURITY: the address is a permission by itself, so only the error's kind is said.
        Ok(Err(error)) => return format!("its connection cannot be opened: {}", kind(&error)),
        Err(_) => return "its connection cannot be opened in 10 s".to_owned(),
    };
    let (mut ping, opened) = (interval(PING), Instant::now());
    let (mut heard, mut greeted) = (opened, false);
    ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let frame = tokio::select! {
            () = stop.cancelled() => {
                let _ = timeout(Duration::from_secs(1), stream.close(None)).await;
                return "the daemon stops".to_owned();
            }
            frame = stream.next() => frame,
            _ = ping.tick() => {
                if heard.elapsed() >= SILENCE || !greeted && opened.elapsed() >= SILENCE {
                    return "its connection does not answer any more".to_owned();
                }
                if let Err(why) = send(&mut stream, Message::Ping(Vec::new())).await {
                    return why;
                }
                continue;
            }
        };
        heard = Instant::now();
        let text = match frame {
            Some(Ok(Message::Text(text))) => text,
            Some(Ok(Message::Close(_))) | None => return "it closed the connection".to_owned(),
            Some(Ok(_)) => continue,
            Some(Err(error)) => return format!("its connection broke: {}", kind(&error)),
        };
        let Ok(frame) = serde_json::from_str::<Value>(&text) else { continue };
        greeted |= frame.get("type").is_some_and(|kind| kind == "hello");
        // INVARIANT: Slack gives up on a press after 3 s, so it is acknowledged before anything is
        // done about it; what became of it is told in another way, after the core has committed.
        if let Some(acknowledgement) = acknowledgement(&frame).filter(|_| guard.is_open())
            && let Err(why) = send(&mut stream, acknowledgement).await
        {
            take(&frame, &notify);
            return why;
        }
        take(&frame, &notify);
    }
}

async fn send(stream: &mut SlackStream, message: Message) -> Result<(), String> {
    match timeout(PATIENCE, stream.send(message)).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(format!("its connection broke: {}", kind(&error))),
        Err(_) => Err("its connection takes nothing any more".to_owned()),
    }
}

fn acknowledgement(frame: &Value) -> Option<Message> {
    let id = frame.get("envelope_id").and_then(Value::as_str)?;
    Some(Message::Text(json!({"envelope_id": id}).to_string()))
}

fn take(frame: &Value, notify: &impl Fn(SocketNotice)) {
    let text = |key| frame.get(key).and_then(Value::as_str);
    let notice = match text("type") {
        Some("hello") => SocketNotice::Up,
        Some("disconnect") if text("reason") == Some("link_disabled") => SocketNotice::Disabled,
        Some("disconnect") => SocketNotice::Refresh,
        Some(kind) if text("envelope_id").is_some() => SocketNotice::Envelope {
            kind: kind.to_owned(),
            payload: frame.get("payload").cloned().unwrap_or_default(),
        },
        _ => return,
    };
    notify(notice);
}

fn kind(error: &tungstenite::Error) -> String {
    match error {
        tungstenite::Error::Io(error) => error.kind().to_string(),
        tungstenite::Error::Http(response) => format!("HTTP {}", response.status().as_u16()),
        tungstenite::Error::Tls(_) => "TLS".to_owned(),
        _ => "not as a WebSocket".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use tokio::io::AsyncReadExt;

    #[tokio::test]
    async fn a_connection_behind_tls_is_opened_in_tls() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("wss://localhost:{}", listener.local_addr().unwrap().port());
        let (stop, guard) = (CancellationToken::new(), SendGuard::default());
        let opening = serve(&url, &guard, &stop, |_| {});
        let dialled = async {
            let (mut dialled, _) = listener.accept().await.unwrap();
            let mut first = [0; 1];
            dialled.read_exact(&mut first).await.unwrap();
            first
        };
        let (why, first) = tokio::join!(opening, dialled);
        assert_eq!(first, [0x16], "a TLS handshake begins with a record of type 22");
        assert!(why.starts_with("its connection cannot be opened"), "{why}");
    }
}
