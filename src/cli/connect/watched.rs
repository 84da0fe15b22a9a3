//! Lets the daemon watch the server of an agent, or no longer: a key of the config.

use super::{
    agent_file::AgentFile,
    setup::{ConfigChange, Setup},
};
use crate::{
    cli::{Context, say, token, wait},
    config::{Config, edit},
};
use anyhow::{Context as _, Result};
use countersign_agents::{HookAgent, HookFile};
use toml::Value;

/// The section of the config that names the agents.
const SECTION: &str = "agents";

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

/// Has it watched no longer, and gives the config back as it was.
pub(super) fn end(context: &Context, agent: &dyn HookAgent) -> Result<()> {
    if agent.watched_home().is_none()
        || !Config::file(context.flag.as_deref()).is_ok_and(|file| file.exists())
    {
        return Ok(());
    }
    let config = context.config()?;
    let Some(home) = config.agents.watched(agent.name()) else { return Ok(()) };
    let mut setup = Setup::open(context)?;
    let (text, name) = (setup.text()?, agent.name());
    // What was there before, where it is certain that nothing else has changed since.
    let value = Value::String(home.display().to_string());
    let file = AgentFile::new(setup.file.clone(), HookFile::Shared)?;
    let connected = |earlier: &String| {
        edit::set(earlier, SECTION, name, &value).is_ok_and(|connected| connected == text)
    };
    match file.earlier().find(connected) {
        Some(earlier) => setup.restore(&earlier)?,
        None => {
            let without = edit::remove(&text, SECTION, name);
            setup.replace(&without.with_context(|| setup.file.display().to_string())?)?;
        }
    }
    file.drop_backups()?;
    say::out(&format!("Removed [{SECTION}] {name} from {}.", setup.file.display()))?;
    reload(context)
}

fn set(context: &Context, agent: &dyn HookAgent, folder: &str) -> Result<()> {
    let mut setup = Setup::open(context)?;
    let value = Value::String(folder.to_owned());
    setup.write(&[ConfigChange::Set { section: SECTION, key: agent.name(), value }])?;
    let file = setup.file.display();
    say::out(&format!("Set [{SECTION}] {} = {folder:?} in {file}.", agent.name()))?;
    reload(context)
}

/// A daemon that does not run takes it when it starts.
fn reload(context: &Context) -> Result<()> {
    let reloaded =
        context.approver().and_then(|client| wait(async { Ok(client.reload().await?) }));
    match reloaded {
        Ok(_) => say::out("The running daemon has taken it."),
        Err(_) => say::out("`countersign serve`, or `countersign reload` where it runs, takes it."),
    }
}
