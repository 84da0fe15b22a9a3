//! `countersign doctor --live AGENT`: runs the very command in an agent's settings with
//! a recorded call, and sees the ask arrive. Nothing of the call runs, and the ask is cancelled.

use super::finding::{DoctorCheck, fail, ok, warn};
use crate::cli::{Context, say};
use anyhow::{Context as _, Result, anyhow};
use countersign_agents::{HookAgent, HookMode, Hooks};
use countersign_client::Client;
use countersign_domain::wire::AskState;
use rustix::process::{Pid, Signal, kill_process};
use std::{fs, process::Stdio, time::Duration};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    process::{Child, Command},
    time::{Instant, timeout},
};

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
pub(super) async fn check(context: &Context, agent: &dyn HookAgent) -> DoctorCheck {
    let (name, title) = (agent.name(), agent.title().name);
    let connect = format!("countersign connect {name}");
    let hooks = match installed(agent) {
        Ok(Some(hooks)) => hooks,
        Ok(None) => {
            let says = format!("{title} is not connected, so nothing of it arrives here");
            return fail(LIVE, says, connect);
        }
        Err(error) => return fail(LIVE, format!("{error:#}"), "edit it"),
    };
    let Some(sample) = agent.sample(SESSION, hooks.mode) else {
        return fail(LIVE, format!("there is no recorded call of {title} to try"), "ask it to act");
    };
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
    let (mut child, outcome) = start(agent, hooks, sample).await?;
    let took = since.elapsed().as_millis();
    let finding = match outcome {
        TrialOutcome::Waits(id) => {
            let seen = client.ask(&id).await;
            end(&mut child).await?;
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
            end(&mut child).await?;
            let says =
                format!("the hook of {title} neither asks nor ends within {} s", ARRIVAL.as_secs());
            fail(LIVE, says, "look at what the daemon says")
        }
    };
    Ok(finding)
}

/// Starts the hook with the call, and waits until it asks or ends.
async fn start(
    agent: &dyn HookAgent,
    hooks: &Hooks,
    sample: &str,
) -> Result<(Child, TrialOutcome)> {
    let words = shlex::split(&hooks.command).context("it cannot be read")?;
    let (program, args) = words.split_first().context("it is empty")?;
    let mut command = Command::new(program);
    command.args(args).arg("-v");
    if hooks.mode == HookMode::EveryCall && agent.modes().first() != Some(&HookMode::EveryCall) {
        command.arg("--gate");
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
        (..) => TrialOutcome::Undecided(format!("its hook says nothing and ends with {ended}")),
    })
}

/// Ends the hook as the agent does when somebody answers in the terminal.
async fn end(child: &mut Child) -> Result<()> {
    let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    if let Some(id) = id {
        kill_process(id, Signal::TERM).context("its hook cannot be ended")?;
    }
    let ended = timeout(END, child.wait()).await;
    ended.map_err(|_| anyhow!("its hook does not end")).and_then(|it| Ok(it.map(drop)?))
}

fn installed(agent: &dyn HookAgent) -> Result<Option<Hooks>> {
    let file = agent.settings_file().map_err(anyhow::Error::msg)?;
    let text = fs::read_to_string(&file).unwrap_or_default();
    agent.installed(&text).map_err(|why| anyhow!("{}:{why}", file.display()))
}
