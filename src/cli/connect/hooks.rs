//! Adds our hooks to an agent's settings, or removes them.

use crate::{
    agents::{AgentTitle, HookAgent, HookMode},
    cli::{
        Context, Exit, agent,
        connect::agreed::agreed,
        files,
        policy::outlook,
        say::{self, Colour, paint},
    },
    text::visible,
};
use anyhow::{Context as _, Result, anyhow};
use similar::{ChangeTag, TextDiff};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

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
    let command = hook_command(context, args.agent)?;
    let connected = change(args, |text| args.agent.connect(text, &command, args.mode))?;
    let rules = || match outlook::lines(context) {
        Ok(lines) => lines,
        Err(error) => format!("What is asked cannot be told: {error:#}"),
    };
    let AgentTitle { name, connected: note, .. } = args.agent.title();
    let note = match args.mode {
        HookMode::Prompts => note,
        HookMode::EveryCall => {
            "Every call is decided here then, in all of its modes: what your rules allow runs \
             without its prompt, and without a daemon or an answer nothing runs."
        }
    };
    say::out(&match connected {
        Changed::Already => format!("{name} is connected already.\n\n{}", rules()),
        Changed::Done => format!(
            "{name} is connected from its next start on. {note}\n\n{}\n\n\
             Undo it with `countersign disconnect {}`.",
            rules(),
            args.agent.name()
        ),
        Changed::No => "Nothing was changed.".to_owned(),
    })?;
    Ok(Exit::Good)
}

pub(in crate::cli) fn disconnect(args: &HooksArgs) -> Result<Exit> {
    let gone = change(args, |text| args.agent.disconnect(text))?;
    let name = args.agent.title().name;
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
    let settings = read(&file)?;
    let after = agent.connect(&settings, &command, mode);
    files::replace(&file, &after.map_err(|why| anyhow!("{}:{why}", file.display()))?)
}

enum Changed {
    Already,
    Done,
    No,
}

fn change(args: &HooksArgs, edit: impl FnOnce(&str) -> Result<String, String>) -> Result<Changed> {
    let file = match &args.settings {
        Some(file) => file.clone(),
        None => args.agent.settings_file().map_err(anyhow::Error::msg)?,
    };
    let before = read(&file)?;
    let after = edit(&before).map_err(|why| anyhow!("{}:{why}", file.display()))?;
    if after == before {
        return Ok(Changed::Already);
    }
    say::out(&diff(&file, &before, &after))?;
    if !args.yes && !agreed("Make this change?")? {
        return Ok(Changed::No);
    }
    files::replace(&file, &after)?;
    Ok(Changed::Done)
}

/// The settings; empty where there are none yet.
fn read(file: &Path) -> Result<String> {
    match fs::read_to_string(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        read => read.with_context(|| file.display().to_string()),
    }
}

fn hook_command(context: &Context, agent: &dyn HookAgent) -> Result<String> {
    // An absolute path, because the agent's PATH may differ from ours.
    let program = std::env::current_exe().context("this program cannot find itself")?;
    let mut words = vec![text(&program)?, "hook".into(), agent.name().into()];
    // The hook gets neither our arguments nor our environment.
    if let Some(config) = context.named() {
        words.extend(["--config".into(), text(&config)?]);
    }
    shlex::try_join(words.iter().map(String::as_str)).context("a path holds a NUL character")
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
