//! `countersign hook AGENT`: the agent's own hook contract on stdin and stdout.
//!
//! FAIL-CLOSED: whatever goes wrong, nothing is printed and the exit code is 0, so that the agent's
//! own prompt stays and decides.

use super::{Context, Exit, asking::Signals, caller, connect::Agent, say, wait};
use crate::{
    agents::claude_code::{self, Event, Request},
    client::{Client, Opened},
    ids,
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

pub(super) fn run(context: &Context, args: &Args) -> Exit {
    let Agent::ClaudeCode = args.agent;
    let answered = wait(claude(context, args.verbose));
    let printed = answered.and_then(|decision| match decision {
        Some(decision) => say::out(&decision.to_string()),
        None => Ok(()),
    });
    if let (Err(error), true) = (printed, args.verbose) {
        say::problem(&error.context("no decision"));
    }
    Exit::Good
}

async fn claude(context: &Context, verbose: bool) -> Result<Option<Value>> {
    // From the first moment: a signal must not end the process before the ask is taken back.
    let (mut signals, parent) = (Signals::new()?, Parent::new());
    let event = claude_code::read(&stdin()?).map_err(anyhow::Error::msg)?;
    let settings = context.config()?.client;
    let client = Client::new(&settings, CONNECT)?;
    match event {
        Event::Wants(request) => {
            let opened = |id: &str| {
                if verbose {
                    say::aside(&format!("waiting for an answer to {id}"));
                }
            };
            decide(&client, &request, (&mut signals, &parent), opened).await
        }
        Event::Ran { .. } | Event::Stopped { .. } => {
            for id in claude_code::closed_by(&event, &client.pending().await?) {
                client.cancel(id, "answered_elsewhere").await?;
            }
            Ok(None)
        }
        Event::Ended { session } => {
            client.end_session(claude_code::AGENT, &session).await?;
            Ok(None)
        }
        Event::Other => Ok(None),
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
    let opened = tokio::select! {
        opened = client.open(&call) => opened?,
        () = signals.any() => return Ok(None),
    };
    let id = match opened {
        Opened::Decided(decided) => return Ok(request.decision(&decided)),
        Opened::Ask(id) => id,
    };
    opened_as(&id);
    tokio::select! {
        decided = client.decided(&call, &id) => Ok(request.decision(&decided?)),
        () = signals.any() => {
            client.cancel(&id, "answered_elsewhere").await?;
            Ok(None)
        }
        () = parent.gone() => {
            client.cancel(&id, "session_ended").await?;
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

fn stdin() -> Result<String> {
    let mut text = String::new();
    let read = std::io::stdin().lock().take(LARGEST + 1).read_to_string(&mut text);
    let length = read.context("stdin cannot be read")?;
    if u64::try_from(length).is_ok_and(|length| length > LARGEST) {
        return Err(anyhow!("stdin holds more than 16 MiB"));
    }
    Ok(text)
}
