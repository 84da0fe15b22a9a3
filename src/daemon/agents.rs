//! Watches the servers of agents on this machine.
//!
//! The watch is a client of this daemon's own socket, like every agent: nothing of it goes around
//! the gate.

use crate::config::{AgentSettings, DaemonSettings};
use countersign_agents::CodexWatch;
use countersign_client::{Client, ClientSettings, Server};
use countersign_port::CancellationToken;
use std::{path::PathBuf, time::Duration};
use tokio::{sync::watch, task::JoinHandle};

/// The timeout of a connection to our own socket.
const CONNECT: Duration = Duration::from_secs(2);

/// What the watch of Codex has changed at its server, in the folder of the state.
const REVIEWS: &str = "codex-reviews.json";

/// The watches that run.
pub(super) struct AgentWatches {
    /// Our own socket.
    socket: PathBuf,
    /// Where the watches keep what they have changed.
    state_dir: PathBuf,
    settings: AgentSettings,
    connected: watch::Sender<bool>,
    codex: Option<(CancellationToken, JoinHandle<()>)>,
}

impl AgentWatches {
    /// `connected` is set while the server of Codex is watched.
    pub(super) fn new(daemon: &DaemonSettings, connected: watch::Sender<bool>) -> Self {
        let socket = daemon.socket.clone();
        let state_dir = daemon.state_dir.clone();
        Self { socket, state_dir, settings: AgentSettings::default(), connected, codex: None }
    }

    /// Watches what these settings name from now on, until `stop` is cancelled.
    pub(super) fn watch(&mut self, settings: &AgentSettings, stop: &CancellationToken) {
        if self.settings == *settings {
            return;
        }
        self.settings = settings.clone();
        if let Some((stop, _)) = self.codex.take() {
            stop.cancel();
        }
        let Some(home) = settings.codex.clone() else { return };
        let client = ClientSettings {
            url: vec![Server::Unix(self.socket.clone())],
            token: None,
            insecure_http: false,
            ca_file: None,
        };
        let client = match Client::new(&client, CONNECT) {
            Ok(client) => client,
            Err(error) => {
                tracing::error!(%error, "Codex is not watched");
                return;
            }
        };
        let host = gethostname::gethostname().into_string().ok();
        let kept = self.state_dir.join(REVIEWS);
        let connected = self.connected.clone();
        let watch = CodexWatch { home, client, host, kept, connected };
        let stop = stop.child_token();
        self.codex = Some((stop.clone(), tokio::spawn(watch.run(stop))));
    }

    /// Waits until all have ended.
    pub(super) async fn ended(&mut self) {
        if let Some((_, watch)) = self.codex.take() {
            // A watch that panicked has ended too.
            let _ = watch.await;
        }
    }
}
