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

/// The number of clients that are connected to the app-server there; `None` where only it knows.
/// Linux lists a connection under the name of the socket.
pub(super) fn clients(home: &Path) -> Option<usize> {
    let socket = home.join(SOCKET).canonicalize().ok()?;
    let listed = std::fs::read_to_string("/proc/net/unix").ok()?;
    let is_client = |line: &&str| {
        // Num RefCount Protocol Flags Type St Inode Path; state 03 is a connection.
        let mut fields = line.split_ascii_whitespace();
        let is_connection = fields.nth(5) == Some("03");
        let path = fields.nth(1).map(|path| line.split_at(line.find(path).unwrap_or(0)).1);
        let same = |path: &str| Path::new(path).canonicalize().is_ok_and(|path| path == socket);
        is_connection && path.is_some_and(same)
    };
    Some(listed.lines().filter(is_client).count())
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use std::os::unix::net::{UnixListener, UnixStream};

    #[test]
    fn the_clients_of_an_app_server_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("a home");
        let socket = home.join(SOCKET);
        std::fs::create_dir_all(socket.parent().unwrap()).unwrap();
        let listener = UnixListener::bind(&socket).unwrap();
        let client = || (UnixStream::connect(&socket).unwrap(), listener.accept().unwrap());
        assert_eq!(clients(&home), Some(0));
        let ours = client();
        let terminal = client();
        assert_eq!(clients(&home), Some(2));
        drop(terminal);
        assert_eq!(clients(&home), Some(1));
        drop(ours);
        assert_eq!(clients(&folder.path().join("none")), None);
    }
}
