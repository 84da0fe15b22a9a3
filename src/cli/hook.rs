//! `countersign hook AGENT`: implements the agent's hook contract on stdin and stdout.
//!
//! FAIL-CLOSED: after any error nothing is printed and the exit code is 0, so that the agent's own
//! prompt decides. If the hook is installed under an event without a prompt behind it, or with
//! `--gate`, it blocks instead.

mod overtaken;

use super::{Context, Exit, agent, asking::InterruptSignals, caller, say, wait};
use crate::{
    agents::{HookAgent, HookEvent, HookMode, HookReply, HookRequest},
    client::{Client, Submitted},
    ids,
    protocol::CancelReason,
};
use anyhow::{Context as _, Result, anyhow};
use std::{
    io::Read,
    path::{Path, PathBuf},
    pin::pin,
    time::Duration,
};
use tokio::time::timeout;

/// The timeout for a connection to the daemon. The agent's own prompt may wait for us.
const CONNECT: Duration = Duration::from_millis(300);

/// How long a submission may take to tell the id of its ask.
const SUBMISSION: Duration = Duration::from_secs(2);

/// The largest event that is read, in bytes.
const LARGEST: u64 = 16 << 20;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Agents start this; `countersign connect claude-code` sets it up. To see what it would do:
  countersign hook claude-code -v < event.json")]
pub(super) struct HookArgs {
    /// Whose hook to be
    #[arg(value_parser = agent::parser())]
    agent: &'static dyn HookAgent,
    /// Decide on every call, not only on those that the agent would prompt for; without a decision
    /// the call is blocked
    #[arg(long)]
    gate: bool,
    /// Say on stderr what it waits for, and why there is no decision
    #[arg(short, long)]
    verbose: bool,
}

impl HookArgs {
    fn mode(&self) -> HookMode {
        let default = self.agent.modes().first().copied().unwrap_or_default();
        if self.gate { HookMode::EveryCall } else { default }
    }
}

pub(super) fn run(context: &Context, args: &HookArgs) -> Exit {
    let (reply, problem) = match wait(hook(context, args)) {
        Ok(reply) => (reply, None),
        Err(error) => (args.agent.undecided(&format!("{error:#}"), args.mode()), Some(error)),
    };
    let printed = match reply {
        HookReply::Print(decision) => say::out(&decision.to_string()),
        HookReply::Nothing => Ok(()),
        HookReply::Block(why) => {
            say::aside(&why);
            // Exit code 2: agents read it as a denial, for events that can be denied.
            return Exit::Usage;
        }
    };
    if let (Some(error), true) = (problem.or(printed.err()), args.verbose) {
        say::problem(&error.context("no decision"));
    }
    Exit::Good
}

async fn hook(context: &Context, args: &HookArgs) -> Result<HookReply> {
    let (agent, verbose) = (args.agent, args.verbose);
    // Registered first: a signal must not end the process before the ask is cancelled.
    let (mut signals, parent) = (InterruptSignals::new()?, Parent::new(agent.process_variable()));
    let event = agent.decode(&stdin()?, args.mode()).map_err(anyhow::Error::msg)?;
    if let HookEvent::Misplaced { message, .. } = event {
        return Ok(HookReply::Block(message));
    }
    // Loaded after the event is decoded: a broken config must not keep a misplaced event from being
    // blocked.
    let config = context.config_for_hook()?;
    let watched = config.agents.watched(agent.name()).filter(|_| config.serves_here());
    // The daemon answers this prompt as a client of the agent's own server, beside its terminal.
    if args.mode() == HookMode::Prompts && watched.is_some_and(|home| agent.is_watched(home)) {
        return Ok(HookReply::Nothing);
    }
    let client = Client::new(&config.client, CONNECT)?;
    match &event {
        HookEvent::Wants(request) => {
            let opened = |id: &str| {
                if verbose {
                    say::aside(&format!("waiting for an answer to {id}"));
                }
            };
            let reply = decide(&client, request.as_ref(), (&mut signals, &parent), opened).await?;
            // FAIL-CLOSED: a gate that says nothing lets the call run where the agent's mode does.
            return Ok(match reply {
                HookReply::Nothing => agent.undecided("nobody decided", args.mode()),
                reply => reply,
            });
        }
        HookEvent::Ran { .. } | HookEvent::Stopped { .. } => {
            let pending = client.pending().await?;
            let closed = event.closes(agent.name(), &pending);
            for id in &closed {
                client.cancel(id, CancelReason::AnsweredElsewhere).await?;
            }
            if closed.is_empty() {
                overtaken::denial(&client, agent.name(), &event).await?;
            }
        }
        HookEvent::Overtaken { .. } => {
            overtaken::answer(&client, agent.name(), &event).await?;
        }
        HookEvent::Ended { session } => client.end_session(agent.name(), session).await?,
        HookEvent::Notice | HookEvent::Misplaced { .. } => {
            if verbose {
                say::aside("this event decides nothing, and nothing is done about it");
            }
        }
    }
    Ok(HookReply::Nothing)
}

/// Submits the request and waits. A signal means that somebody answered in the terminal.
async fn decide(
    client: &Client,
    request: &dyn HookRequest,
    (signals, parent): (&mut InterruptSignals, &Parent),
    opened_as: impl FnOnce(&str),
) -> Result<HookReply> {
    let call = request.call(ids::nonce(), caller::host()).map_err(anyhow::Error::msg)?;
    let mut submitting = pin!(client.submit_in_turn(&call));
    let submitted = tokio::select! {
        submitted = &mut submitting => submitted?,
        () = signals.any() => {
            // The ask may be there already, and its card says why it is cancelled.
            if let Ok(Ok(Submitted::Ask(id))) = timeout(SUBMISSION, submitting).await {
                client.cancel(&id, CancelReason::AnsweredElsewhere).await?;
            }
            return Ok(HookReply::Nothing);
        }
    };
    let id = match submitted {
        Submitted::Decided(decided) => return Ok(request.reply(&decided)),
        Submitted::Ask(id) => id,
    };
    opened_as(&id);
    tokio::select! {
        // First: once the terminal has answered, the agent takes no reply.
        biased;
        () = signals.any() => {
            client.cancel(&id, CancelReason::AnsweredElsewhere).await?;
            Ok(HookReply::Nothing)
        }
        decided = client.decided(&call, &id) => Ok(request.reply(&decided?)),
        () = parent.gone() => {
            client.cancel(&id, CancelReason::SessionEnded).await?;
            Err(anyhow!("the agent went away"))
        }
    }
}

/// The process that started this one. It is remembered at once, because it may exit at any time.
struct Parent {
    id: u32,
    /// The agent's process, if it names itself: its child may be a shell that starts us.
    agent: Option<PathBuf>,
}

impl Parent {
    fn new(variable: Option<&str>) -> Self {
        let agent = variable.and_then(|name| std::env::var(name).ok());
        let agent = agent.map(|pid| Path::new("/proc").join(pid));
        // Without `/proc` only the parent's id is watched.
        let agent = agent.filter(|process| process.exists());
        Self { id: std::os::unix::process::parent_id(), agent }
    }

    /// Returns when the agent is gone, for example because it was killed.
    async fn gone(&self) {
        // Polled: a process is not notified when its parent exits. A new parent id means that it
        // did.
        let mut ticks = tokio::time::interval(Duration::from_secs(2));
        loop {
            ticks.tick().await;
            let left = self.agent.as_ref().is_some_and(|process| !process.exists());
            if left || std::os::unix::process::parent_id() != self.id {
                return;
            }
        }
    }
}

/// Reads the event from stdin; of a larger one only the beginning, which does not parse.
fn stdin() -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(LARGEST).read_to_end(&mut bytes);
    read.context("stdin cannot be read")?;
    Ok(bytes)
}
