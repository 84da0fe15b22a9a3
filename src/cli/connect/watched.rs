//! Lets the daemon watch the server of an agent, or no longer: a key of the config.

use super::setup::{ConfigChange, Setup};
use crate::{
    agents::HookAgent,
    cli::{Context, say, token, wait},
    config::Config,
};
use anyhow::Result;
use toml::Value;

/// Has the server of this agent watched, if it has one and a daemon runs here.
pub(super) fn begin(context: &Context, agent: &dyn HookAgent) -> Result<()> {
    let Some(home) = agent.watched_home() else { return Ok(()) };
    let config = context.config()?;
    if !config.serves_here() {
        let title = agent.title().name;
        return say::out(&format!(
            "The daemon is on another machine, so only the hook of {title} asks it."
        ));
    }
    if config.agents.watched(agent.name()) == Some(&*home) {
        return Ok(());
    }
    set(context, agent, &home.display().to_string())
}

/// Has it watched no longer.
pub(super) fn end(context: &Context, agent: &dyn HookAgent) -> Result<()> {
    let is_set = agent.watched_home().is_some()
        && Config::file(context.flag.as_deref()).is_ok_and(|file| file.exists())
        && context.config()?.agents.watched(agent.name()).is_some();
    if is_set { set(context, agent, "") } else { Ok(()) }
}

fn set(context: &Context, agent: &dyn HookAgent, folder: &str) -> Result<()> {
    let mut setup = Setup::open(context)?;
    let value = Value::String(folder.to_owned());
    setup.write(&[ConfigChange::Set { section: "agents", key: agent.name(), value }])?;
    let file = setup.file.display();
    say::out(&format!("Set [agents] {} = {folder:?} in {file}.", agent.name()))?;
    // A daemon that does not run takes it when it starts.
    let reloaded =
        token::approver(context).and_then(|client| wait(async { Ok(client.reload().await?) }));
    match reloaded {
        Ok(_) => say::out("The running daemon has taken it."),
        Err(_) => say::out("`countersign serve`, or `countersign reload` where it runs, takes it."),
    }
}
