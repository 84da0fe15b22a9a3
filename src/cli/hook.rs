//! `countersign hook AGENT`: the agent's own hook contract on stdin and stdout.
//!
//! FAIL-CLOSED: whatever goes wrong, nothing is printed and the exit code is 0, so that the agent's
//! own prompt stays and decides. Where the hook is installed under an event that has no prompt
//! behind it, it blocks instead.

use super::{Context, Exit, asking::Signals, caller, connect::Agent, say, wait};
use crate::{
    agents::claude_code::{self, Event, Request},
    client::{Client, Submitted},
    ids,
    protocol::CancelReason,
};
use anyhow::{Context as _, Result, anyhow};
use serde_json::Value;
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
pub(super) struct Args {
    /// Whose hook to be
    #[arg(value_enum)]
    agent: Agent,
    /// Say on stderr what it waits for, and why there is no decision
    #[arg(short, long)]
    verbose: bool,
}

/// What the hook says.
enum Said {
    /// This, on stdout.
    Decision(Value),
    /// Nothing.
    Nothing,
    /// That it cannot decide where it was asked to, on stderr.
    Blocked(String),
}

pub(super) fn run(context: &Context, args: &Args) -> Exit {
    let Agent::ClaudeCode = args.agent;
    let printed = match wait(claude(context, args.verbose)) {
        Ok(Said::Decision(decision)) => say::out(&decision.to_string()),
        Ok(Said::Nothing) => Ok(()),
        Ok(Said::Blocked(why)) => {
            say::aside(&why);
            // What Claude Code takes for a denial, wherever an event can be denied.
            return Exit::Usage;
        }
        Err(error) => Err(error),
    };
    if let (Err(error), true) = (printed, args.verbose) {
        say::problem(&error.context("no decision"));
    }
    Exit::Good
}

async fn claude(context: &Context, verbose: bool) -> Result<Said> {
    // From the first moment: a signal must not end the process before the ask is taken back.
    let (mut signals, parent) = (Signals::new()?, Parent::new());
    let event = claude_code::read(&stdin()?).map_err(anyhow::Error::msg)?;
    if let Event::Misplaced { event } = &event {
        return Ok(Said::Blocked(claude_code::misplaced(event)));
    }
    let settings = context.config()?.client;
    let client = Client::new(&settings, CONNECT)?;
    match event {
        Event::Wants(request) => {
            let opened = |id: &str| {
                if verbose {
                    say::aside(&format!("waiting for an answer to {id}"));
                }
            };
            let decision = decide(&client, &request, (&mut signals, &parent), opened).await?;
            Ok(decision.map_or(Said::Nothing, Said::Decision))
        }
        Event::Ran { .. } | Event::Stopped { .. } => {
            for id in claude_code::closed_by(&event, &client.pending().await?) {
                client.cancel(id, CancelReason::AnsweredElsewhere).await?;
            }
            Ok(Said::Nothing)
        }
        Event::Ended { session } => {
            client.end_session(claude_code::AGENT, &session).await?;
            Ok(Said::Nothing)
        }
        Event::Tells | Event::Misplaced { .. } => {
            if verbose {
                say::aside("this event decides nothing, and nothing is done about it");
            }
            Ok(Said::Nothing)
        }
    }
}

/// Hands the request in and waits. A signal means that somebody answered in the terminal.
async fn decide(
    client: &Client,
    request: &Request,
    (signals, parent): (&mut Signals, &Parent),
    opened_as: impl FnOnce(&str),
) -> Result<Option<Value>> {
    let call = request.call(ids::nonce(), caller::host()).map_err(anyhow::Error::msg)?;
    let submitted = tokio::select! {
        submitted = client.submit(&call) => submitted?,
        () = signals.any() => return Ok(None),
    };
    let id = match submitted {
        Submitted::Decided(decided) => return Ok(request.decision(&decided)),
        Submitted::Ask(id) => id,
    };
    opened_as(&id);
    tokio::select! {
        decided = client.decided(&call, &id) => Ok(request.decision(&decided?)),
        () = signals.any() => {
            client.cancel(&id, CancelReason::AnsweredElsewhere).await?;
            Ok(None)
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
    /// A shell may stand between: Claude Code also names itself.
    claude: Option<PathBuf>,
}

impl Parent {
    fn new() -> Self {
        let claude = std::env::var("CLAUDE_PID").ok().map(|pid| Path::new("/proc").join(pid));
        let claude = claude.filter(|process| process.exists());
        Self { id: std::os::unix::process::parent_id(), claude }
    }

    /// Returns when the agent is gone, such as one that was killed.
    async fn gone(&self) {
        let mut ticks = tokio::time::interval(Duration::from_secs(2));
        loop {
            ticks.tick().await;
            let left = self.claude.as_ref().is_some_and(|process| !process.exists());
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
