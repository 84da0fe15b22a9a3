//! `countersign` without a command: says what is set up and what to do next.

use super::{
    Context, Exit,
    installed::{ConfigState, Installed},
    say,
    VERSION,
};
use anyhow::Result;
use countersign_agents::HookAgent;

pub(super) async fn run(context: &Context) -> Result<Exit> {
    let installed = Installed::look(context).await?;
    let lines = [format!("countersign {VERSION}"), String::new()];
    let lines = lines.into_iter().chain(state(&installed));
    let lines = lines.chain([String::new(), "Next:".to_owned()]);
    let steps =
        next(&installed).into_iter().map(|(command, what)| format!("  {command:<38}{what}"));
    let help = "\n`countersign --help` lists every command.".to_owned();
    say::out(&lines.chain(steps).chain([help]).collect::<Vec<_>>().join("\n"))?;
    Ok(Exit::Good)
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
    let list = |names: Vec<&str>| match names.is_empty() {
        true => "none".to_owned(),
        false => names.join(", "),
    };
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
    let is = |command: &str, what| (command.to_owned(), what);
    if matches!(installed.config, ConfigState::Broken(_)) {
        return vec![is("countersign doctor", "see each mistake in the config")];
    }
    if installed.daemon.is_none() {
        return vec![
            is("countersign up", "set everything up, step by step; it can be repeated"),
            is("countersign serve --demo", "or run the daemon here, with a first ask to press"),
        ];
    }
    let mut steps = Vec::new();
    if installed.connected.is_empty() {
        let name = installed.found.first().map_or("claude-code", |agent| agent.name());
        steps.push((format!("countersign connect {name}"), "let this agent ask here"));
    }
    if let Some(chat) = installed.phone_to_offer() {
        steps.push((format!("countersign connect {chat}"), "be asked on your phone"));
    }
    steps.push(is("countersign open", "open the inbox in the browser"));
    steps.push(is("countersign watch", "see what waits, here"));
    steps
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
        assert_eq!(first(&missing).as_deref(), Some("countersign up"));
        let broken = installed(ConfigState::Broken("c.toml:1:1: unknown key".into()));
        assert_eq!(first(&broken).as_deref(), Some("countersign doctor"));
        let wanted = ["config    none yet; it will be /c.toml", "daemon    does not run"];
        assert_eq!(state(&missing).get(..2), Some(&wanted.map(str::to_owned)[..]));
    }
}
