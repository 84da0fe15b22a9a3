//! Adds our hooks to an agent's settings, or removes them, and lets the daemon watch its server.

use super::setup::{ConfigChange, Setup};
use crate::{
    cli::{
        Context, Misused,
        doctor::start_of,
        files, policy,
        prompt::confirmed,
        say::{self, Colour, paint},
    },
    config::{self, Config, SOCKET, Server, edit},
};
use anyhow::{Context as _, Result, anyhow, bail};
use countersign_agents::{AgentStart, HookAgent, HookFile, HookMode, Hooks};
use countersign_port::visible;
use countersign_tokens::file;
use similar::{ChangeTag, TextDiff};
use std::{
    fs, io,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};
use toml::Value;

/// Whose hooks, in which file.
pub(super) struct HooksArgs {
    pub(super) agent: &'static dyn HookAgent,
    /// `None` is the agent's own file of this user.
    pub(super) settings: Option<PathBuf>,
    /// Change it without asking.
    pub(super) yes: bool,
    pub(super) mode: HookMode,
}

pub(super) async fn connect(context: &Context, args: &HooksArgs) -> Result<()> {
    let agent = args.agent;
    let mode = args.mode(agent)?;
    if let Some(file) = &args.settings
        && let Some(why) = agent.unfit(file, mode)
    {
        return Err(anyhow!("{}: {why}", file.display()));
    }
    let command = hook_command(context, agent)?;
    let write = |file: &AgentFile, text: &str| {
        if let Some(copy) = file.back_up()? {
            say::out(&format!("Saved a backup: {}.", copy.display()))?;
        }
        file.write(text)
    };
    let connected = change(args, |text, _| agent.connect(text, &command, mode), write)?;
    if matches!(connected, Changed::No) {
        return say::out("Nothing was changed.");
    }
    if args.settings.is_none() {
        begin_watching(context, agent).await?;
    }
    let rules = policy::outlook(context)
        .unwrap_or_else(|error| format!("The rules cannot be read: {error:#}"));
    let name = agent.title().name;
    say::out(&match connected {
        Changed::Already => format!("{name} is connected already.\n\n{rules}"),
        Changed::Done | Changed::No => format!(
            "{name} is connected from its next start on. {}\n\n{rules}\n\n\
             Undo it with `countersign disconnect {}`.",
            effect(agent, mode),
            agent.name()
        ),
    })?;
    let file = args.settings.clone().or_else(|| agent.settings_file().ok());
    if let Some(todo) = file.and_then(|file| agent.still_to_do(&file)) {
        say::out(&format!("\n{todo}"))?;
    }
    if let Some(AgentStart { mode, decides, advice, .. }) = start_of(agent, mode).await {
        say::out(format!("\n{name} {mode}.\n{decides}\n{advice}").trim_end())?;
    }
    Ok(())
}

/// What changes for the agent's user.
fn effect(agent: &dyn HookAgent, mode: HookMode) -> &'static str {
    match mode {
        _ if agent.modes().first() == Some(&mode) => agent.title().connected,
        HookMode::EveryCall => {
            "Every call is decided here then, in all of its modes: what your rules allow runs \
             without its prompt, and without a daemon or an answer nothing runs."
        }
        HookMode::RuledCalls => {
            "What your rules ask for or deny is decided here then, in all of its modes; its own \
             judge, or its prompt, has the rest. Without a daemon nothing runs."
        }
        HookMode::Dialogs => {
            "Every call is decided here then, in all of its modes. The price: each call, also one \
             that only reads, is a dialog in the terminal until it is decided. Without a daemon or \
             an answer that dialog decides."
        }
        HookMode::Prompts | HookMode::Blocks => {
            "Only what its own judge blocks comes here then; without a daemon or an answer it stays \
             blocked."
        }
    }
}

pub(super) async fn disconnect(context: &Context, args: &HooksArgs) -> Result<()> {
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
        end_watching(context, agent).await?;
    }
    let name = agent.title().name;
    say::out(&match gone {
        Changed::Already => format!("{name} is not connected."),
        Changed::Done => format!("{name} is disconnected from its next start on."),
        Changed::No => "Nothing was changed.".to_owned(),
    })
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
    let after = after.map_err(|why| anyhow!("{}:{why}", file.path.display()))?;
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
        match self.mode.option() {
            Some(option) if !modes.contains(&self.mode) => {
                let name = agent.title().name;
                Err(Misused(format!("{name} cannot be connected with {option}")).into())
            }
            Some(_) => Ok(self.mode),
            None => Ok(modes.first().copied().unwrap_or_default()),
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
    let name = file.path.display();
    let after = edit(&before, &file).map_err(|why| anyhow!("{name}:{why}"))?;
    if after == before {
        return Ok(Changed::Already);
    }
    say::out(&diff(&file.path, &before, &after))?;
    if !args.yes && !confirmed("Make this change?", "--yes makes it")? {
        return Ok(Changed::No);
    }
    write(&file, &after)?;
    Ok(Changed::Done)
}

/// The command line of an agent's hook.
pub(in crate::cli) fn hook_command(context: &Context, agent: &dyn HookAgent) -> Result<String> {
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

/// The section of the config that names the agents.
const SECTION: &str = "agents";

/// Has the server of this agent watched, if it has one and a daemon runs here.
async fn begin_watching(context: &Context, agent: &dyn HookAgent) -> Result<()> {
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
    set_watched(context, agent, &home.display().to_string()).await
}

/// Has it watched no longer, and gives the config back as it was.
async fn end_watching(context: &Context, agent: &dyn HookAgent) -> Result<()> {
    if agent.watched_home().is_none()
        || !Config::file(context.flag.as_deref()).is_ok_and(|file| file.exists())
    {
        return Ok(());
    }
    let config = context.config()?;
    let Some(home) = config.agents.watched(agent.name()) else { return Ok(()) };
    let mut setup = Setup::open(context)?;
    let text = setup.text()?;
    let name = agent.name();
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
    reload_daemon(context).await
}

async fn set_watched(context: &Context, agent: &dyn HookAgent, folder: &str) -> Result<()> {
    let mut setup = Setup::open(context)?;
    let value = Value::String(folder.to_owned());
    setup.write(&[ConfigChange::Set { section: SECTION, key: agent.name(), value }])?;
    let file = setup.file.display();
    say::out(&format!("Set [{SECTION}] {} = {folder:?} in {file}.", agent.name()))?;
    reload_daemon(context).await
}

/// A daemon that does not run takes it when it starts.
async fn reload_daemon(context: &Context) -> Result<()> {
    let is_reloaded = match context.approver() {
        Ok(client) => client.reload().await.is_ok(),
        Err(_) => false,
    };
    say::out(if is_reloaded {
        "The running daemon uses it."
    } else {
        "`countersign serve` applies it, or `countersign reload` where it runs."
    })
}

/// A file that `connect` may change.
#[derive(Debug)]
struct AgentFile {
    path: PathBuf,
    kind: HookFile,
}

impl AgentFile {
    /// # Errors
    /// A sentence, where the file is not ours to write.
    // SECURITY: a link or a file of somebody else would make us write where nobody expects it.
    fn new(path: PathBuf, kind: HookFile) -> Result<Self> {
        let name = path.display();
        let is_link = fs::symlink_metadata(&path).is_ok_and(|it| it.file_type().is_symlink());
        if is_link && kind != HookFile::Shared {
            bail!("{name} is a link, and not the file that countersign makes; remove it first");
        }
        match fs::metadata(&path) {
            Ok(there) if !there.is_file() => bail!("{name} is not a file; remove it first"),
            Ok(there) if !is_mine(there.uid()) => {
                bail!("{name} belongs to another user; run this as that user, or chown it first")
            }
            Ok(there) if there.permissions().mode() & 0o200 == 0 => {
                bail!("{name} is read-only; `chmod u+w` it first, or edit what makes it");
            }
            Ok(_) => {}
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(error).with_context(|| name.to_string());
            }
            Err(_) if is_link => bail!("{name} is a link to a file that is not there; remove it"),
            // As root in somebody's home, new files would be root's.
            Err(_) if rustix::process::geteuid().is_root() && !is_mine(folder_owner(&path)) => {
                bail!("the folder of {name} belongs to another user; run this as that user");
            }
            Err(_) => {}
        }
        Ok(Self { path, kind })
    }

    /// Its text; empty where there is none yet.
    fn read(&self) -> Result<String> {
        let text = file::read(&self.path).with_context(|| self.path.display().to_string())?;
        Ok(text.unwrap_or_default())
    }

    /// Copies what is there before it changes; the copy, unless the newest one is the same.
    fn back_up(&self) -> Result<Option<PathBuf>> {
        let text = self.read()?;
        let newest = self.backups().pop();
        if newest.is_some_and(|newest| fs::read_to_string(newest).is_ok_and(|it| it == text)) {
            Ok(None)
        } else {
            files::back_up(&self.path)
        }
    }

    /// The texts that may have been there before: no file at all, and the backups, latest first.
    fn earlier(&self) -> impl Iterator<Item = String> {
        let backups = self.backups().into_iter().rev();
        let backups = backups.filter_map(|backup| fs::read_to_string(backup).ok());
        std::iter::once(String::new()).chain(backups)
    }

    /// Replaces the text. A file without a text is removed.
    fn write(&self, text: &str) -> Result<()> {
        if text.is_empty() {
            let removed = fs::remove_file(&self.path);
            return removed.with_context(|| format!("cannot remove {}", self.path.display()));
        }
        files::replace(&self.path, text)?;
        if self.kind == HookFile::OwnProgram {
            let runnable = fs::set_permissions(&self.path, fs::Permissions::from_mode(0o700));
            runnable.with_context(|| format!("cannot make {} runnable", self.path.display()))?;
        }
        Ok(())
    }

    /// Removes the backups that hold nothing but what is there now.
    fn drop_backups(&self) -> Result<()> {
        let text = self.read()?;
        if text.is_empty() {
            return Ok(());
        }
        for backup in self.backups() {
            if fs::read_to_string(&backup).is_ok_and(|it| it == text) {
                let removed = fs::remove_file(&backup);
                removed.map_err(|error| anyhow!("cannot remove {}: {error}", backup.display()))?;
            }
        }
        Ok(())
    }

    fn backups(&self) -> Vec<PathBuf> {
        files::backups(&self.path).take_while(|backup| backup.exists()).collect()
    }
}

/// The owner of the nearest folder that is there.
fn folder_owner(path: &Path) -> u32 {
    let folder = path.ancestors().skip(1).find_map(|folder| fs::metadata(folder).ok());
    folder.map_or_else(|| rustix::process::geteuid().as_raw(), |folder| folder.uid())
}

fn is_mine(owner: u32) -> bool {
    rustix::process::geteuid().as_raw() == owner
}
