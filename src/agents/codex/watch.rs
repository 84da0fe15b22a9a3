//! Answers the requests of Codex's app-server, as one more client beside Codex's own terminals.

use crate::codex::{
    frame::{self, CodexFrame},
    open_requests::OpenRequests,
    reviews::Reviews,
};
use anyhow::{Result, bail};
use countersign_client::Client;
use futures::{SinkExt as _, StreamExt as _};
use serde_json::Value;
use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::{
    net::UnixStream,
    runtime::Handle,
    sync::watch,
    time::{Instant, interval, sleep_until, timeout},
};
use tokio_tungstenite::{
    WebSocketStream, client_async_with_config,
    tungstenite::{Message, protocol::WebSocketConfig},
};
use tokio_util::sync::CancellationToken;

/// Between two looks for an app-server, which nobody announces.
const LOOK: Duration = Duration::from_secs(2);

/// The time for an app-server to come back, and for its requests to come again, before their asks
/// are cancelled.
const GRACE: Duration = Duration::from_secs(10);

/// How often nobody but us is seen at an app-server before its terminals count as closed.
const ALONE: u32 = 2;

/// The first version with an app-server that its terminals share.
const OLDEST: (u32, u32) = (0, 157);

/// Watches the app-server of one user's Codex.
#[derive(Debug)]
pub struct CodexWatch {
    /// The folder of Codex's settings.
    pub home: PathBuf,
    /// The daemon that decides.
    pub client: Client,
    /// This machine's name.
    pub host: Option<String>,
    /// Where it keeps what it has changed at the app-server, for the next start.
    pub kept: PathBuf,
    /// Whether it is connected.
    pub connected: watch::Sender<bool>,
}

/// What is open at the app-server.
struct Open {
    requests: OpenRequests,
    reviews: Reviews,
}

impl CodexWatch {
    /// Watches until `stop` is cancelled. Open asks stay open then.
    pub async fn run(self, stop: CancellationToken) {
        let Self { home, client, host, kept, connected } = self;
        let mut open = Open {
            requests: OpenRequests::new(client.clone(), host.clone()),
            reviews: Reviews::new(client, host, kept),
        };
        let mut looks = interval(LOOK);
        let mut lost = None::<Instant>;
        let mut trouble = None::<String>;
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                // Kept until Codex asks again.
                Some(asked) = open.requests.next() => drop(open.requests.decided(asked)),
                _ = looks.tick() => {
                    let served = serve(&home, &mut open, &connected, &stop).await;
                    connected.send_replace(false);
                    if stop.is_cancelled() {
                        return;
                    }
                    match served {
                        Ok(true) => (lost, trouble) = (Some(Instant::now()), None),
                        Ok(false) => {}
                        Err(error) => {
                            lost.get_or_insert(Instant::now());
                            let why = format!("{error:#}");
                            // Once: it is tried again and again.
                            if trouble.as_ref() != Some(&why) {
                                tracing::warn!(why, "Codex's app-server cannot be used");
                                trouble = Some(why);
                            }
                        }
                    }
                    if lost.is_some_and(|since| since.elapsed() > GRACE) {
                        lost = None;
                        open.requests.forget_all();
                        drop(open.reviews.end(|_| true));
                    }
                }
            }
        }
    }
}

/// Serves one connection until it ends or `stop` is cancelled; `false` where there was none.
async fn serve(
    home: &Path,
    open: &mut Open,
    connected: &watch::Sender<bool>,
    stop: &CancellationToken,
) -> Result<bool> {
    let Some(mut socket) = CodexSocket::connect(home).await? else { return Ok(false) };
    open.requests.connected();
    let back = open.reviews.connected();
    for frame in frame::hello().into_iter().chain(back).chain([frame::loaded()]) {
        // An app-server that stops still takes connections, and ends them.
        if socket.send(&frame).await.is_err() {
            return Ok(true);
        }
    }
    let mut settled = Some(Instant::now() + GRACE);
    let mut looks = interval(LOOK);
    let mut alone = 0;
    let mut had_company = false;
    loop {
        let frames = tokio::select! {
            () = stop.cancelled() => {
                for frame in open.reviews.restored() {
                    // What fails is done by the next start.
                    let _ = socket.send(&frame).await;
                }
                return Ok(true);
            }
            // The server goes on without its terminals: nobody would see what an approval runs.
            _ = looks.tick() => {
                let clients = clients(home);
                had_company |= clients.is_some_and(|clients| clients > 1);
                alone = if clients == Some(1) && had_company { alone + 1 } else { 0 };
                let mut frames = open.reviews.tick();
                if alone == ALONE {
                    frames.extend(open.reviews.end(|_| true));
                    frames.extend(open.requests.abandoned());
                }
                frames
            }
            received = socket.receive() => match received {
                Some(text) => take_in(&text, open, connected)?,
                None => return Ok(true),
            },
            Some(asked) = open.requests.next() => open.requests.decided(asked),
            Some(asked) = open.reviews.next() => open.reviews.decided(asked),
            () = sleep_until(settled.unwrap_or_else(Instant::now)), if settled.is_some() => {
                settled = None;
                open.requests.forget_older();
                Vec::new()
            }
        };
        for frame in frames {
            if socket.send(&frame).await.is_err() {
                return Ok(true);
            }
        }
    }
}

/// Takes in a frame; returns those to send.
fn take_in(text: &str, open: &mut Open, connected: &watch::Sender<bool>) -> Result<Vec<Value>> {
    let Open { requests, reviews } = open;
    Ok(match frame::read(text) {
        CodexFrame::Initialized { user_agent } => {
            check(&user_agent)?;
            tracing::info!(user_agent, "connected to Codex's app-server");
            connected.send_replace(true);
            Vec::new()
        }
        CodexFrame::Loaded(threads) => {
            let looks = threads.iter().map(|thread| frame::look(thread));
            reviews.loaded(&threads).into_iter().chain(looks).collect()
        }
        CodexFrame::Thread(thread) => {
            if thread.runs == Some(false) {
                reviews.turn_ended(&thread.id);
            }
            requests.thread(thread)
        }
        CodexFrame::Request(request) => requests.request(&request),
        CodexFrame::Resolved { thread, id } => {
            let call = requests.call_of(&thread, &id);
            requests.resolved(&thread, &id);
            call.map_or_else(Vec::new, |call| reviews.retried(&call))
        }
        CodexFrame::Closed { thread } => {
            requests.closed(&thread);
            reviews.end(|review| review.is_of(&thread))
        }
        CodexFrame::Reviewed(review) => {
            let (thread, item) = review.item();
            let known = requests.known_of(thread, item);
            reviews.reviewed(review.of_item(known));
            Vec::new()
        }
        CodexFrame::Taken { asked, result } => reviews.replied(&asked, Ok(&result)),
        CodexFrame::Refused { asked, why } => reviews.replied(&asked, Err(&why)),
        CodexFrame::TurnEnded { thread, .. } => {
            reviews.turn_ended(&thread);
            Vec::new()
        }
        CodexFrame::Said { .. } | CodexFrame::Error { .. } | CodexFrame::Other => Vec::new(),
    })
}

/// Checks the version in `NAME/0.169.0 (…)`.
fn check(user_agent: &str) -> Result<()> {
    let version = user_agent.split_once('/').map_or("", |(_, rest)| rest);
    let mut numbers = version.split('.').map(str::parse::<u32>);
    let (Some(Ok(major)), Some(Ok(minor))) = (numbers.next(), numbers.next()) else {
        bail!("it names no version: {user_agent:?}");
    };
    if (major, minor) < OLDEST {
        bail!("it is version {major}.{minor}; 0.157 or newer is needed");
    }
    Ok(())
}

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
        let theirs = stream.peer_cred()?.uid();
        let ours = rustix::process::geteuid().as_raw();
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
    async fn receive(&mut self) -> Option<String> {
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
