//! Adds our hooks to an agent's settings, or removes them.

use crate::{
    cli::{
        Context, Exit, agent,
        connect::{agent_file::AgentFile, watched},
        exit::Misused,
        policy::outlook,
        prompt::confirmed,
        say::{self, Colour, paint},
    },
    config::{self, Config, SOCKET, Server},
};
use anyhow::{Context as _, Result, anyhow};
use countersign_agents::{AgentTitle, HookAgent, HookMode, Hooks};
use countersign_port::visible;
use similar::{ChangeTag, TextDiff};
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Shows the change first, and keeps everything else in the file as it stands.")]
pub(in crate::cli) struct HooksArgs {
    /// Which agent
    #[arg(value_parser = agent::parser())]
    pub(super) agent: &'static dyn HookAgent,
    /// The settings file [default: the agent's own of this user]
    #[arg(long, value_name = "FILE")]
    pub(super) settings: Option<PathBuf>,
    /// Change it without asking
    #[arg(short, long)]
    pub(super) yes: bool,
    #[arg(skip)]
    pub(super) mode: HookMode,
}

pub(in crate::cli) fn connect(context: &Context, args: &HooksArgs) -> Result<Exit> {
    let agent = args.agent;
    let mode = args.mode(agent)?;
    let command = hook_command(context, agent)?;
    let write = |file: &AgentFile, text: &str| {
        if let Some(copy) = file.back_up()? {
            say::out(&format!("Kept what was there as {}.", copy.display()))?;
        }
        file.write(text)
    };
    let connected = change(args, |text, _| agent.connect(text, &command, mode), write)?;
    let rules = || match outlook::lines(context) {
        Ok(lines) => lines,
        Err(error) => format!("What is asked cannot be told: {error:#}"),
    };
    let AgentTitle { name, connected: note, .. } = agent.title();
    let note = match agent.modes().first() == Some(&mode) {
        true => note,
        false => {
            "Every call is decided here then, in all of its modes: what your rules allow runs \
             without its prompt, and without a daemon or an answer nothing runs."
        }
    };
    if !matches!(connected, Changed::No) && args.settings.is_none() {
        watched::begin(context, agent)?;
    }
    say::out(&match connected {
        Changed::Already => format!("{name} is connected already.\n\n{}", rules()),
        Changed::Done => format!(
            "{name} is connected from its next start on. {note}\n\n{}\n\n\
             Undo it with `countersign disconnect {}`.",
            rules(),
            agent.name()
        ),
        Changed::No => "Nothing was changed.".to_owned(),
    })?;
    let file = args.settings.clone().or_else(|| agent.settings_file().ok());
    match file.and_then(|file| agent.still_to_do(&file)) {
        Some(todo) if !matches!(connected, Changed::No) => say::out(&format!("\n{todo}"))?,
        _ => {}
    }
    Ok(Exit::Good)
}

pub(in crate::cli) fn disconnect(context: &Context, args: &HooksArgs) -> Result<Exit> {
    let agent = args.agent;
    let without = |text: &str, file: &AgentFile| match agent.installed(text)? {
        // What was there before, where it is certain that nothing else has changed since.
        Some(Hooks { command, mode, .. }) => file
            .earlier()
            .find(|earlier| agent.connect(earlier, &command, mode).as_deref() == Ok(text))
            .map_or_else(|| agent.disconnect(text), Ok),
        None => agent.disconnect(text),
    };
    let write = |file: &AgentFile, text: &str| {
        file.write(text)?;
        file.drop_backups()
    };
    let gone = change(args, without, write)?;
    if !matches!(gone, Changed::No) && args.settings.is_none() {
        watched::end(context, agent)?;
    }
    let name = agent.title().name;
    say::out(&match gone {
        Changed::Already => format!("{name} is not connected."),
        Changed::Done => format!("{name} is disconnected from its next start on."),
        Changed::No => "Nothing was changed.".to_owned(),
    })?;
    Ok(Exit::Good)
}

/// Puts all hooks into the agent's settings again, with the arguments of `command` and this
/// program.
pub(in crate::cli) fn reconnect(
    agent: &'static dyn HookAgent,
    command: &str,
    mode: HookMode,
) -> Result<()> {
    let mut words = shlex::split(command).context("the hook's command cannot be read")?;
    let program = text(&std::env::current_exe().context("this program cannot find itself")?)?;
    words.first_mut().map(|first| *first = program).context("the hook has no command")?;
    let command = shlex::try_join(words.iter().map(String::as_str))?;
    let file = agent.settings_file().map_err(anyhow::Error::msg)?;
    let file = AgentFile::new(file, agent.hook_file())?;
    let after = agent.connect(&file.read()?, &command, mode);
    let after = after.map_err(|why| anyhow!("{}:{why}", file.path().display()))?;
    file.back_up()?;
    file.write(&after)
}

enum Changed {
    Already,
    Done,
    No,
}

impl HooksArgs {
    fn mode(&self, agent: &dyn HookAgent) -> Result<HookMode> {
        let modes = agent.modes();
        match self.mode {
            HookMode::EveryCall if !modes.contains(&HookMode::EveryCall) => {
                let name = agent.title().name;
                Err(Misused(format!("{name} cannot have every call decided here: no --gate"))
                    .into())
            }
            HookMode::EveryCall => Ok(HookMode::EveryCall),
            HookMode::Prompts => Ok(modes.first().copied().unwrap_or_default()),
        }
    }
}

fn change(
    args: &HooksArgs,
    edit: impl FnOnce(&str, &AgentFile) -> Result<String, String>,
    write: impl FnOnce(&AgentFile, &str) -> Result<()>,
) -> Result<Changed> {
    let file = match &args.settings {
        Some(file) => file.clone(),
        None => args.agent.settings_file().map_err(anyhow::Error::msg)?,
    };
    let file = AgentFile::new(file, args.agent.hook_file())?;
    let before = file.read()?;
    let name = file.path().display();
    let after = edit(&before, &file).map_err(|why| anyhow!("{name}:{why}"))?;
    if after == before {
        return Ok(Changed::Already);
    }
    say::out(&diff(file.path(), &before, &after))?;
    if !args.yes && !confirmed("Make this change?", "--yes makes it")? {
        return Ok(Changed::No);
    }
    write(&file, &after)?;
    Ok(Changed::Done)
}

fn hook_command(context: &Context, agent: &dyn HookAgent) -> Result<String> {
    // An absolute path, because the agent's PATH may differ from ours.
    let program = std::env::current_exe().context("this program cannot find itself")?;
    let mut words = vec![text(&program)?, "hook".into(), agent.name().into()];
    // The hook gets neither our arguments nor our environment.
    // SECURITY: the default file is named too, and the folder of the socket where the environment
    // chooses it, because the environment of an agent may be that of a project.
    if let Some(config) = config_of_hook(context)? {
        words.extend(["--config".into(), text(&config)?]);
        if let Some(sockets) = sockets(context, &config) {
            words.extend(["--sockets".into(), text(&sockets)?]);
        }
    }
    shlex::try_join(words.iter().map(String::as_str)).context("a path holds a NUL character")
}

/// The config that a hook is told to read. `None` where the environment is the config: a project
/// cannot change a variable that is set.
fn config_of_hook(context: &Context) -> Result<Option<PathBuf>> {
    if let Some(named) = context.named() {
        return Ok(Some(named));
    }
    let file = Config::file(None)?;
    Ok(Some(file).filter(|file| file.exists() || !config::is_in_environment()))
}

/// The folder of the daemon's socket, where a hook with this config would look elsewhere.
fn sockets(context: &Context, config: &Path) -> Option<PathBuf> {
    let ours = context.config().ok()?.client.url;
    let of_hook = Config::load_for_hook(Some(config), None).ok()?.client.url;
    match ours.as_slice() {
        [Server::Unix(socket)] if ours != of_hook && socket.ends_with(SOCKET) => {
            socket.parent().map(Path::to_path_buf)
        }
        _ => None,
    }
}

fn text(path: &Path) -> Result<String> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| anyhow!("{} is not UTF-8, which settings must be", path.display()))
}

fn diff(file: &Path, before: &str, after: &str) -> String {
    let mut text = format!("{}:\n", file.display());
    let diff = TextDiff::from_lines(before, after);
    for group in diff.grouped_ops(2) {
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let (sign, colour) = match change.tag() {
                ChangeTag::Delete => ("-", Colour::Red),
                ChangeTag::Insert => ("+", Colour::Green),
                ChangeTag::Equal => (" ", Colour::Plain),
            };
            let line = visible(change.value().trim_end_matches(['\r', '\n']));
            text.push_str(&paint(colour, &format!("{sign} {line}")));
            text.push('\n');
        }
    }
    text
}
