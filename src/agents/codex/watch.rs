//! Answers the requests of Codex's app-server, as one more client beside Codex's own terminals.

use super::{
    frame::{self, CodexFrame},
    open_requests::OpenRequests,
    socket::{self, CodexSocket},
};
use anyhow::{Result, bail};
use countersign_client::Client;
use countersign_port::CancellationToken;
use std::{path::PathBuf, time::Duration};
use tokio::time::{Instant, interval, sleep_until};

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
}

impl CodexWatch {
    /// Watches until `stop` is cancelled. Open asks stay open then.
    pub async fn run(self, stop: CancellationToken) {
        let Self { home, client, host } = self;
        let mut requests = OpenRequests::new(client, host);
        let (mut looks, mut lost) = (interval(LOOK), None::<Instant>);
        let mut trouble = None::<String>;
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                // Kept until Codex asks again.
                Some(asked) = requests.next() => drop(requests.decided(asked)),
                _ = looks.tick() => {
                    let served = tokio::select! {
                        () = stop.cancelled() => return,
                        served = serve(&home, &mut requests) => served,
                    };
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
                        requests.forget_all();
                    }
                }
            }
        }
    }
}

/// Serves one connection until it ends; `false` where there was none.
async fn serve(home: &std::path::Path, requests: &mut OpenRequests) -> Result<bool> {
    let Some(mut socket) = CodexSocket::connect(home).await? else { return Ok(false) };
    requests.connected();
    for frame in frame::hello().into_iter().chain([frame::loaded()]) {
        // An app-server that stops still takes connections, and ends them.
        if socket.send(&frame).await.is_err() {
            return Ok(true);
        }
    }
    let mut settled = Some(Instant::now() + GRACE);
    let (mut looks, mut alone, mut had_company) = (interval(LOOK), 0, false);
    loop {
        let frames = tokio::select! {
            // The server goes on without its terminals: nobody would see what an approval runs.
            _ = looks.tick() => {
                let clients = socket::clients(home);
                had_company |= clients.is_some_and(|clients| clients > 1);
                alone = if clients == Some(1) && had_company { alone + 1 } else { 0 };
                if alone == ALONE { requests.abandoned() } else { Vec::new() }
            }
            received = socket.receive() => match received {
                Some(text) => take_in(&text, requests)?,
                None => return Ok(true),
            },
            Some(asked) = requests.next() => requests.decided(asked),
            () = sleep_until(settled.unwrap_or_else(Instant::now)), if settled.is_some() => {
                settled = None;
                requests.forget_older();
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
fn take_in(text: &str, requests: &mut OpenRequests) -> Result<Vec<serde_json::Value>> {
    Ok(match frame::read(text) {
        CodexFrame::Initialized { user_agent } => {
            check(&user_agent)?;
            tracing::info!(user_agent, "connected to Codex's app-server");
            Vec::new()
        }
        CodexFrame::Loaded(threads) => threads.iter().map(|thread| frame::look(thread)).collect(),
        CodexFrame::Thread(thread) => requests.thread(thread),
        CodexFrame::Request(request) => requests.request(&request),
        CodexFrame::Resolved { thread, id } => {
            requests.resolved(&thread, &id);
            Vec::new()
        }
        CodexFrame::Closed { thread } => {
            requests.closed(&thread);
            Vec::new()
        }
        CodexFrame::Said { .. }
        | CodexFrame::TurnEnded { .. }
        | CodexFrame::Refused { .. }
        | CodexFrame::Error { .. }
        | CodexFrame::Other => Vec::new(),
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
