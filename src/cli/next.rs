//! `countersign` without a command: says how far it is set up on this machine, and what to do next.

use super::{Context, VERSION, doctor::installed, program, say, step};
use crate::{
    config::{ClientSettings, Config, Server},
    platforms::guided,
};
use anyhow::Result;
use countersign_agents::{AGENTS, HookAgent};
use countersign_client::Client;
use countersign_domain::wire::ReadyReply;
use std::{path::PathBuf, time::Duration};

pub(super) async fn run(context: &Context) -> Result<()> {
    let installed = Installed::look(context).await?;
    let lines = [format!("countersign {VERSION}"), String::new()];
    let lines = lines.into_iter().chain(state(&installed));
    let lines = lines.chain([String::new(), "Next:".to_owned()]);
    let steps = next(&installed).into_iter().map(|(words, what)| step(&words, what));
    let help = format!("\n`{} --help` lists every command.", program());
    say::out(&lines.chain(steps).chain([help]).collect::<Vec<_>>().join("\n"))
}

/// One line for each part.
fn state(installed: &Installed) -> Vec<String> {
    let config = match &installed.config {
        ConfigState::Missing(file) => format!("none yet; it will be {}", file.display()),
        ConfigState::Broken(mistakes) => say::literal(mistakes),
        ConfigState::Good(config) => config
            .path
            .as_ref()
            .map_or_else(|| "defaults".to_owned(), |at| at.display().to_string()),
    };
    let daemon = match installed.daemon.as_ref().map(|ready| ready.waiting.as_ref()) {
        None => "does not run".to_owned(),
        Some(Some(waiting)) if waiting.asks == 1 => "runs; 1 ask waits".to_owned(),
        Some(Some(waiting)) if waiting.asks > 0 => format!("runs; {} asks wait", waiting.asks),
        Some(_) => "runs; nothing waits".to_owned(),
    };
    let phone = installed.chats();
    let list =
        |names: Vec<&str>| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    vec![
        format!("config    {config}"),
        format!("daemon    {daemon}"),
        format!("agents    {}", list(names(&installed.connected))),
        format!("phone     {}", list(phone)),
    ]
}

fn names(agents: &[&'static dyn HookAgent]) -> Vec<&'static str> {
    agents.iter().map(|agent| agent.title().name).collect()
}

/// The commands that lead on from here, the first one first.
fn next(installed: &Installed) -> Vec<(String, &'static str)> {
    let is = |words: &str, what| (words.to_owned(), what);
    if matches!(installed.config, ConfigState::Broken(_)) {
        return vec![is("doctor", "see each mistake in the config")];
    }
    if installed.daemon.is_none() {
        return vec![
            is("up", "set everything up, step by step; it can be repeated"),
            is("serve --demo", "or run the daemon here, with a first ask to press"),
        ];
    }
    let mut steps = Vec::new();
    if installed.connected.is_empty() {
        let name = installed.found.first().map_or("claude-code", |agent| agent.name());
        steps.push((format!("connect {name}"), "let this agent ask here"));
    }
    if let Some(chat) = installed.phone_to_offer() {
        steps.push((format!("connect {chat}"), "be asked on your phone"));
    }
    steps.push(is("open", "open the inbox in the browser"));
    steps.push(is("watch", "see what waits, here"));
    steps
}

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
            agents.partition(|agent| matches!(installed(*agent), Ok(Some(_))));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn installed(config: ConfigState) -> Installed {
        Installed { config, daemon: None, connected: Vec::new(), found: Vec::new() }
    }

    #[test]
    fn each_state_has_one_command_that_leads_on() {
        let first = |installed: &Installed| next(installed).first().map(|(it, _)| it.clone());
        let missing = installed(ConfigState::Missing("/c.toml".into()));
        assert_eq!(first(&missing).as_deref(), Some("up"));
        let broken = installed(ConfigState::Broken("c.toml:1:1: unknown key".into()));
        assert_eq!(first(&broken).as_deref(), Some("doctor"));
        let wanted = ["config    none yet; it will be /c.toml", "daemon    does not run"];
        assert_eq!(state(&missing).get(..2), Some(&wanted.map(str::to_owned)[..]));
    }
}
