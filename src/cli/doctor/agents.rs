//! Checks the agents of this machine: which are there, and whether each has our hooks as `connect`
//! writes them.

use super::{
    finding::{DoctorCheck, fail, ok, warn},
    fix::Repair,
};
use crate::cli::{Context, say};
use countersign_agents::{AGENTS, HookAgent, HookFile, HookMode, Hooks};
use futures::future::join_all;
use std::{
    env, fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};
use tokio::{process::Command, time::timeout};

/// What says more about the settings of agents.
const DOCS: &str = "docs/connect.md";

/// How long an agent has to tell its version.
const VERSION: Duration = Duration::from_secs(3);

/// Checks the agents that are installed here.
pub(super) async fn all(context: &Context) -> Vec<DoctorCheck> {
    let each = AGENTS.iter().map(|agent| async move { (*agent, version(*agent).await) });
    let found = join_all(each).await.into_iter();
    let found = found.filter(|(agent, version)| agent.detect() || version.is_some());
    let checks: Vec<_> =
        found.flat_map(|(agent, version)| hooks(context, agent, version)).collect();
    if checks.is_empty() {
        let names: Vec<_> = AGENTS.iter().map(|agent| agent.name()).collect();
        let says = format!("none of these is found here: {}", names.join(", "));
        return vec![warn("agents", says, "countersign connect AGENT, once it is installed")];
    }
    checks
}

fn hooks(
    context: &Context,
    agent: &'static dyn HookAgent,
    version: Option<String>,
) -> Vec<DoctorCheck> {
    let name = agent.name();
    let title = agent.title();
    let connect = format!("countersign connect {name}");
    let file = match agent.settings_file() {
        Ok(file) => file,
        Err(error) => return vec![warn(name, error, connect)],
    };
    let text = fs::read_to_string(&file).unwrap_or_default();
    let version = version.map(|version| format!(", {version}")).unwrap_or_default();
    let hooks = match agent.installed(&text) {
        Err(why) => return vec![fail(name, format!("{}:{why}", file.display()), "edit it")],
        Ok(None) => {
            let says = format!("{}{version} is not connected", title.name);
            return vec![warn(name, says, connect)];
        }
        Ok(Some(hooks)) => hooks,
    };
    if let Some(says) = wrong(agent, &file, &text, &hooks) {
        let repair = Repair::Reconnect(agent, hooks.command, hooks.mode);
        return vec![fail(name, says, connect).repaired_by(repair)];
    }
    let what = match hooks.mode {
        HookMode::Prompts => "asks here",
        HookMode::EveryCall => "has every call decided here",
    };
    let program = program(&hooks.command).unwrap_or_default();
    let says = format!("{what} through {program}{}{version}", named(context));
    let mut todo: Vec<_> = agent
        .still_to_do(&file)
        .map(|todo| warn(name, todo, "codex, then /hooks"))
        .into_iter()
        .collect();
    let watches = context
        .config()
        .is_ok_and(|config| !config.serves_here() || config.agents.watched(name).is_some());
    if agent.watched_home().is_some() && !watches {
        let says = format!("the daemon does not watch the server of {}", title.name);
        todo.push(warn(name, says, &connect));
    }
    let folder = env::current_dir().unwrap_or_default();
    if let Some(off) = agent.switched_off(&file, &folder) {
        let fix = format!("remove it; managed settings cannot be switched off like this ({DOCS})");
        todo.push(warn(name, off, fix));
    }
    let first = agent.others(&text).into_iter().map(|other| {
        let says =
            format!("`{}` may answer {} before a person does", say::literal(&other), title.name);
        warn(name, says, format!("look at {}", file.display()))
    });
    [ok(name, says)].into_iter().chain(todo).chain(first).collect()
}

/// What is wrong with our hooks.
fn wrong(agent: &dyn HookAgent, file: &Path, text: &str, hooks: &Hooks) -> Option<String> {
    let name = agent.title().name;
    let is_there = program(&hooks.command).is_some_and(|program| Path::new(&program).exists());
    if !is_there {
        return Some(format!("`{}` is not there any more", hooks.command));
    }
    if !hooks.complete {
        return Some(format!("some hooks of {name} are missing"));
    }
    // As `connect` would leave them: time limits and options too.
    if agent.connect(text, &hooks.command, hooks.mode).as_deref() != Ok(text) {
        return Some(format!("the hooks of {name} are not as `connect` writes them"));
    }
    let runs = fs::metadata(file).is_ok_and(|it| it.permissions().mode() & 0o100 != 0);
    (agent.hook_file() == HookFile::OwnProgram && !runs)
        .then(|| format!("{} cannot be run", file.display()))
}

fn program(command: &str) -> Option<String> {
    shlex::split(command)?.into_iter().next()
}

/// The version that the agent's program tells of itself.
async fn version(agent: &dyn HookAgent) -> Option<String> {
    let program = on_path(agent.program()?)?;
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let output = timeout(VERSION, command.output()).await.ok()?.ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().next()?.trim();
    Some(say::literal(&line.chars().take(60).collect::<String>())).filter(|it| !it.is_empty())
}

/// A program on the path, where only absolute folders count.
fn on_path(name: &str) -> Option<PathBuf> {
    let folders = env::var_os("PATH")?;
    let places = env::split_paths(&folders).filter(|folder| folder.is_absolute());
    places.map(|folder| folder.join(name)).find(|program| program.is_file())
}

fn named(context: &Context) -> String {
    match context.named() {
        Some(file) => format!(" (checked against {})", file.display()),
        None => String::new(),
    }
}
