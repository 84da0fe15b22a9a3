//! The connection to the app-server that Codex's terminals share.

use anyhow::{Result, bail};
use futures::{SinkExt as _, StreamExt as _};
use serde_json::Value;
use std::{io, path::Path, time::Duration};
use tokio::{net::UnixStream, runtime::Handle, time::timeout};
use tokio_tungstenite::{
    WebSocketStream, client_async_with_config,
    tungstenite::{Message, protocol::WebSocketConfig},
};

/// The socket, in the folder of Codex's settings.
const SOCKET: &str = "app-server-control/app-server-control.sock";

/// The time for the server to greet, and to take a frame.
const PATIENCE: Duration = Duration::from_secs(10);

/// The largest frame: a thread with all that it has done.
const LARGEST: usize = 64 << 20;

/// A connection to the app-server.
pub(super) struct CodexSocket(WebSocketStream<UnixStream>);

impl CodexSocket {
    /// Connects; `None` while no app-server runs.
    // SECURITY: another user's program at this place is not Codex.
    pub(super) async fn connect(home: &Path) -> Result<Option<Self>> {
        let stream = match UnixStream::connect(home.join(SOCKET)).await {
            Ok(stream) => stream,
            Err(error) if is_absent(&error) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let (theirs, ours) = (stream.peer_cred()?.uid(), rustix::process::geteuid().as_raw());
        if theirs != ours {
            bail!("the app-server at {} runs as another user ({theirs})", home.display());
        }
        let config = WebSocketConfig::default()
            .max_message_size(Some(LARGEST))
            .max_frame_size(Some(LARGEST));
        let connecting = client_async_with_config("ws://localhost/", stream, Some(config));
        let (socket, _) = timeout(PATIENCE, connecting).await??;
        Ok(Some(Self(socket)))
    }

    /// The next text; `None` when the connection has ended.
    pub(super) async fn receive(&mut self) -> Option<String> {
        loop {
            match self.0.next().await? {
                Ok(Message::Text(text)) => return Some(text.to_string()),
                Ok(Message::Close(_)) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }

    /// Sends a frame.
    pub(super) async fn send(&mut self, frame: &Value) -> Result<()> {
        let message = Message::Text(frame.to_string().into());
        Ok(timeout(PATIENCE, self.0.send(message)).await??)
    }
}

/// Returns whether an app-server runs there, as one of these processes.
pub(super) fn runs(home: &Path, processes: Vec<u32>) -> bool {
    // The standard library does not tell who listens; tokio's streams need a runtime.
    let process = || {
        Handle::try_current().ok()?;
        let stream = std::os::unix::net::UnixStream::connect(home.join(SOCKET)).ok()?;
        stream.set_nonblocking(true).ok()?;
        let peer = UnixStream::from_std(stream).ok()?.peer_cred().ok()?;
        u32::try_from(peer.pid()?).ok()
    };
    process().is_some_and(|process| processes.contains(&process))
}

/// No app-server runs, or it has just ended.
fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused | io::ErrorKind::NotADirectory
    )
}
