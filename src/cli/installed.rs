//! How far countersign is set up on this machine: config, daemon, agents, phone.

use super::Context;
use crate::{
    config::{ClientSettings, Config, Server},
    platforms::guided,
};
use countersign_agents::{AGENTS, HookAgent};
use countersign_client::Client;
use countersign_domain::wire::ReadyReply;
use std::{fs, path::PathBuf, time::Duration};

/// How long the daemon has to say that it is ready.
const SOON: Duration = Duration::from_secs(2);

/// How far countersign is set up on this machine.
pub(super) struct Installed {
    /// The config in force.
    pub(super) config: ConfigState,
    /// The running daemon.
    pub(super) daemon: Option<ReadyReply>,
    /// The agents with our hooks.
    pub(super) connected: Vec<&'static dyn HookAgent>,
    /// The agents that are here without our hooks.
    pub(super) found: Vec<&'static dyn HookAgent>,
}

/// The config of this user.
pub(super) enum ConfigState {
    /// There is none at this path.
    Missing(PathBuf),
    /// It has mistakes, one a line.
    Broken(String),
    /// It can be used.
    Good(Box<Config>),
}

impl Installed {
    /// Looks, and changes nothing.
    pub(super) async fn look(context: &Context) -> anyhow::Result<Self> {
        let file = Config::file(context.flag.as_deref())?;
        let config = match context.config() {
            _ if !file.exists() => ConfigState::Missing(file),
            Ok(config) => ConfigState::Good(Box::new(config)),
            Err(error) => ConfigState::Broken(format!("{error:#}")),
        };
        let daemon = match &config {
            ConfigState::Good(config) => ready(config).await,
            _ => None,
        };
        let agents = AGENTS.iter().copied();
        let (connected, rest): (Vec<&'static dyn HookAgent>, Vec<_>) =
            agents.partition(|agent| has_hooks(*agent));
        let found = rest.into_iter().filter(|agent| agent.detect()).collect();
        Ok(Self { config, daemon, connected, found })
    }

    /// The chats in the config.
    pub(super) fn chats(&self) -> Vec<&str> {
        match &self.config {
            ConfigState::Good(config) => config.chats.iter().map(|chat| chat.name()).collect(),
            _ => Vec::new(),
        }
    }

    /// The chat to connect, if there is none.
    pub(super) fn phone_to_offer(&self) -> Option<&'static str> {
        guided().next().filter(|_| self.chats().is_empty())
    }
}

/// The daemon of this config, if it runs: at its own socket where it runs on this machine.
pub(super) async fn ready(config: &Config) -> Option<ReadyReply> {
    let client = match config.serves_here() {
        // Only the daemon's user can create the socket, so nobody else can answer there.
        true => {
            let url = vec![Server::Unix(config.daemon.socket.clone())];
            Client::new(&ClientSettings { url, token: None, ..config.client.clone() }, SOON)
        }
        false => Client::new(&config.client, SOON),
    };
    client.ok()?.ready().await.ok()
}

fn has_hooks(agent: &dyn HookAgent) -> bool {
    let text = agent.settings_file().ok().and_then(|file| fs::read_to_string(file).ok());
    text.is_some_and(|text| matches!(agent.installed(&text), Ok(Some(_))))
}
