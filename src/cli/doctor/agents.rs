//! Checks the agents of this machine: which are there, and whether each has our hooks as `connect`
//! writes them; with `--live` runs the very command in an agent's settings with a recorded call, and
//! sees the ask arrive. Nothing of the call runs, and the ask is cancelled.

use super::{DoctorCheck, Repair, fail, ok, warn};
use crate::cli::{Context, say};
use anyhow::{Context as _, Result, anyhow};
use countersign_agents::{AGENTS, AgentStart, HookAgent, HookFile, HookMode, Hooks};
use countersign_client::Client;
use countersign_domain::wire::AskState;
use futures::future::join_all;
use rustix::process::{Pid, Signal, kill_process};
use std::{
    env, fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    process::{Child, Command},
    time::{Instant, timeout},
};

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
    let of_version = version.as_ref().map(|version| format!(", {version}")).unwrap_or_default();
    let hooks = match agent.installed(&text) {
        Err(why) => return vec![fail(name, format!("{}:{why}", file.display()), "edit it")],
        Ok(None) => {
            let says = format!("{}{of_version} is not connected", title.name);
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
        HookMode::RuledCalls => "has what rules ask for or deny decided here",
        HookMode::Blocks => "appeals here against what its auto mode blocks",
        HookMode::Dialogs => "has every call decided here, as a dialog of its own,",
    };
    let program = program(&hooks.command).unwrap_or_default();
    let says = format!("{what} through {program}{}{of_version}", named(context));
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
    // Without its version nothing tells how it starts.
    let start = version
        .and_then(|version| agent.start(&file, &folder, Some(&version), hooks.mode))
        .filter(|start| start.unseen);
    if let Some(AgentStart { mode, decides, advice, .. }) = start {
        todo.push(warn(name, format!("{} {mode}. {decides}", title.name), advice));
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
        return Some(format!("`{}` no longer exists", hooks.command));
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

/// The mode in which an agent starts in this working directory, with hooks of this mode.
pub(in crate::cli) async fn start_of(agent: &dyn HookAgent, hooks: HookMode) -> Option<AgentStart> {
    let file = agent.settings_file().ok()?;
    let folder = env::current_dir().ok()?;
    // First without its version, which takes a moment to tell.
    let start = agent.start(&file, &folder, None, hooks)?;
    match version(agent).await {
        Some(version) => agent.start(&file, &folder, Some(&version), hooks),
        None => Some(start),
    }
}

/// What the agents here that are connected would run without asking here, once they start.
pub(in crate::cli) async fn unseen() -> Vec<String> {
    let each = AGENTS.iter().map(|agent| async move {
        let hooks = installed(*agent).ok()??;
        on_path(agent.program()?)?;
        let start = start_of(*agent, hooks.mode).await.filter(|start| start.unseen)?;
        Some(format!("{} {}, so calls run without coming here", agent.title().name, start.mode))
    });
    join_all(each).await.into_iter().flatten().collect()
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

/// The name of the check.
const LIVE: &str = "live";
/// How long the hook may take to ask or to decide.
const ARRIVAL: Duration = Duration::from_secs(10);
/// How long the hook may take to end, once it is told to.
const END: Duration = Duration::from_secs(5);
/// The conversation of the call.
const SESSION: &str = "countersign doctor";
/// The start of the line with which the hook names its ask.
const WAITS: &str = "waiting for an answer to ";

/// What became of the call.
enum TrialOutcome {
    /// It waits as this ask.
    Waits(String),
    /// A rule decided it, and the hook printed this.
    Ruled(String),
    /// The hook has no decision, for this reason.
    Undecided(String),
    /// The hook does nothing.
    Silent,
}

/// Tries the hook of an agent.
pub(super) async fn try_hook(context: &Context, agent: &dyn HookAgent) -> DoctorCheck {
    let name = agent.name();
    let title = agent.title().name;
    let connect = format!("countersign connect {name}");
    let hooks = match installed(agent) {
        Ok(Some(hooks)) => hooks,
        Ok(None) => {
            let says = format!("{title} is not connected, so its calls do not arrive here");
            return fail(LIVE, says, connect);
        }
        Err(error) => return fail(LIVE, format!("{error:#}"), "edit it"),
    };
    let sample = agent.sample(SESSION, hooks.mode);
    let client = match context.client() {
        Ok(client) => client,
        Err(error) => return fail(LIVE, format!("{error:#}"), "edit [client]"),
    };
    match tried(&client, agent, &hooks, &sample.to_string()).await {
        Ok(finding) => finding,
        Err(error) => fail(LIVE, format!("`{}`: {error:#}", hooks.command), connect),
    }
}

async fn tried(
    client: &Client,
    agent: &dyn HookAgent,
    hooks: &Hooks,
    sample: &str,
) -> Result<DoctorCheck> {
    let title = agent.title().name;
    let since = Instant::now();
    let (mut child, outcome) = start_hook(agent, hooks, sample).await?;
    let took = since.elapsed().as_millis();
    let finding = match outcome {
        TrialOutcome::Waits(id) => {
            let seen = client.ask(&id).await;
            end_hook(&mut child).await?;
            match seen {
                Ok(_) if client.ask(&id).await.is_ok_and(|ask| ask.state == AskState::Open) => {
                    let says = format!("a prompt of {title} arrived as {id}, and stays open");
                    warn(LIVE, says, format!("countersign deny {id}"))
                }
                Ok(_) => ok(
                    LIVE,
                    format!(
                        "a prompt of {title} arrived as {id} after {took} ms, and was cancelled"
                    ),
                ),
                Err(_) => {
                    let says = format!(
                        "a prompt of {title} arrives at another daemon than this config names"
                    );
                    fail(LIVE, says, format!("countersign connect {}", agent.name()))
                }
            }
        }
        TrialOutcome::Ruled(printed) => ok(
            LIVE,
            format!(
                "a call of {title} arrived, and your rules decided it without a person: {printed}"
            ),
        ),
        TrialOutcome::Undecided(why) => {
            let says = format!("a prompt of {title} does not arrive: {why}");
            fail(LIVE, says, "put that right, and try again")
        }
        TrialOutcome::Silent => {
            end_hook(&mut child).await?;
            let says =
                format!("the hook of {title} neither asks nor ends within {} s", ARRIVAL.as_secs());
            fail(LIVE, says, "check the daemon's log")
        }
    };
    Ok(finding)
}

/// Starts the hook with the call, and waits until it asks or ends.
async fn start_hook(
    agent: &dyn HookAgent,
    hooks: &Hooks,
    sample: &str,
) -> Result<(Child, TrialOutcome)> {
    let words = shlex::split(&hooks.command).context("it cannot be read")?;
    let (program, args) = words.split_first().context("it is empty")?;
    let mut command = Command::new(program);
    command.args(args).arg("-v");
    if agent.modes().first() != Some(&hooks.mode) {
        // Of a gate for some calls too it is tried whether a call arrives.
        let gate = Some(HookMode::EveryCall).filter(|_| hooks.mode.is_gate());
        command.args(gate.unwrap_or(hooks.mode).option());
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().context("it cannot be started")?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(sample.as_bytes()).await.context("it reads no event")?;
    }
    let outcome = timeout(ARRIVAL, outcome(&mut child)).await;
    Ok((child, outcome.unwrap_or(Ok(TrialOutcome::Silent))?))
}

async fn outcome(child: &mut Child) -> Result<TrialOutcome> {
    let stderr = child.stderr.as_mut().context("it has no stderr")?;
    let mut said = Vec::new();
    let mut lines = BufReader::new(stderr).lines();
    while let Some(line) = lines.next_line().await? {
        if let Some(id) = line.strip_prefix(WAITS) {
            return Ok(TrialOutcome::Waits(id.split(';').next().unwrap_or(id).to_owned()));
        }
        said.push(line);
    }
    let mut printed = String::new();
    let stdout = child.stdout.as_mut().context("it has no stdout")?;
    stdout.read_to_string(&mut printed).await?;
    let ended = child.wait().await?;
    let printed = say::literal(printed.trim());
    let why = said.join(" ");
    let why = why.strip_prefix("error: no decision: ").unwrap_or(&why);
    // The hook says on stderr why there is no decision.
    Ok(match (ended.success() && why.is_empty(), printed.is_empty(), why.is_empty()) {
        (true, false, _) => TrialOutcome::Ruled(printed),
        (_, _, false) => TrialOutcome::Undecided(say::literal(why)),
        (..) => TrialOutcome::Undecided(format!("its hook prints nothing and exits with {ended}")),
    })
}

/// Ends the hook as the agent does when somebody answers in the terminal.
async fn end_hook(child: &mut Child) -> Result<()> {
    let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    if let Some(id) = id {
        kill_process(id, Signal::TERM).context("its hook cannot be ended")?;
    }
    let ended = timeout(END, child.wait()).await;
    ended.map_err(|_| anyhow!("its hook does not end")).and_then(|it| Ok(it.map(drop)?))
}

/// Our hooks in the agent's own settings of this user.
pub(in crate::cli) fn installed(agent: &dyn HookAgent) -> Result<Option<Hooks>> {
    let file = agent.settings_file().map_err(anyhow::Error::msg)?;
    let text = fs::read_to_string(&file).unwrap_or_default();
    agent.installed(&text).map_err(|why| anyhow!("{}:{why}", file.display()))
}
