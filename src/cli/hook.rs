//! `countersign hook AGENT`: the agent's own hook contract on stdin and stdout.
//!
//! FAIL-CLOSED: whatever goes wrong, nothing is printed and the exit code is 0, so that the agent's
//! own prompt stays and decides. Where the hook is installed under an event that has no prompt
//! behind it, it blocks instead.

use super::{Context, Exit, agent, asking::InterruptSignals, caller, say, wait};
use crate::{
    agents::{HookAgent, HookEvent, HookReply, HookRequest},
    client::{Client, Submitted},
    ids,
    protocol::CancelReason,
};
use anyhow::{Context as _, Result, anyhow};
use std::{
    io::Read,
    path::{Path, PathBuf},
    time::Duration,
};

/// How long a daemon may take to accept a connection. The agent's prompt waits beside it.
const CONNECT: Duration = Duration::from_millis(300);

/// The most that an agent says in one event; bytes.
const LARGEST: u64 = 16 << 20;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Agents start this; `countersign connect claude-code` sets it up. To see what it would do:
  countersign hook claude-code -v < event.json")]
pub(super) struct HookArgs {
    /// Whose hook to be
    #[arg(value_parser = agent::parser())]
    agent: &'static dyn HookAgent,
    /// Say on stderr what it waits for, and why there is no decision
    #[arg(short, long)]
    verbose: bool,
}

pub(super) fn run(context: &Context, args: &HookArgs) -> Exit {
    let (reply, problem) = match wait(hook(context, args)) {
        Ok(reply) => (reply, None),
        Err(error) => (args.agent.undecided(&format!("{error:#}")), Some(error)),
    };
    let printed = match reply {
        HookReply::Print(decision) => say::out(&decision.to_string()),
        HookReply::Nothing => Ok(()),
        HookReply::Block(why) => {
            say::aside(&why);
            // What agents take for a denial, wherever an event can be denied.
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
    // From the first moment: a signal must not end the process before the ask is taken back.
    let (mut signals, parent) = (InterruptSignals::new()?, Parent::new(agent.process_variable()));
    let event = agent.decode(&stdin()?).map_err(anyhow::Error::msg)?;
    if let HookEvent::Misplaced { message, .. } = event {
        return Ok(HookReply::Block(message));
    }
    let settings = context.config()?.client;
    let client = Client::new(&settings, CONNECT)?;
    match &event {
        HookEvent::Wants(request) => {
            let opened = |id: &str| {
                if verbose {
                    say::aside(&format!("waiting for an answer to {id}"));
                }
            };
            return decide(&client, request.as_ref(), (&mut signals, &parent), opened).await;
        }
        HookEvent::Ran { .. } | HookEvent::Stopped { .. } => {
            for id in event.closes(agent.name(), &client.pending().await?) {
                client.cancel(id, CancelReason::AnsweredElsewhere).await?;
            }
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
    let submitted = tokio::select! {
        submitted = client.submit(&call) => submitted?,
        () = signals.any() => return Ok(HookReply::Nothing),
    };
    let id = match submitted {
        Submitted::Decided(decided) => return Ok(request.reply(&decided)),
        Submitted::Ask(id) => id,
    };
    opened_as(&id);
    tokio::select! {
        decided = client.decided(&call, &id) => Ok(request.reply(&decided?)),
        () = signals.any() => {
            client.cancel(&id, CancelReason::AnsweredElsewhere).await?;
            Ok(HookReply::Nothing)
        }
        () = parent.gone() => {
            client.cancel(&id, CancelReason::SessionEnded).await?;
            Err(anyhow!("the agent went away"))
        }
    }
}

/// The process that started this one, remembered from the first moment: it may be gone at the next.
struct Parent {
    id: u32,
    /// A shell may stand between: some agents also name themselves.
    agent: Option<PathBuf>,
}

impl Parent {
    fn new(variable: Option<&str>) -> Self {
        let agent = variable.and_then(|name| std::env::var(name).ok());
        let agent = agent.map(|pid| Path::new("/proc").join(pid));
        let agent = agent.filter(|process| process.exists());
        Self { id: std::os::unix::process::parent_id(), agent }
    }

    /// Returns when the agent is gone, such as one that was killed.
    async fn gone(&self) {
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

/// What the agent says; the beginning, where that is more than is taken.
fn stdin() -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(LARGEST).read_to_end(&mut bytes);
    read.context("stdin cannot be read")?;
    Ok(bytes)
}
