//! `countersign hook AGENT`: implements the agent's hook contract on stdin and stdout.
//!
//! FAIL-CLOSED: after any error nothing is printed and the exit code is 0, so that the agent's own
//! prompt decides. If the hook is installed under an event without a prompt behind it, or with
//! `--gate`, it blocks instead.

mod early_signals;
mod overtaken;

use super::{Context, Exit, agent, asking::InterruptSignals, caller, say, wait};
use crate::{
    agents::{HookAgent, HookEvent, HookMode, HookReply, HookRequest},
    client::{Client, ClientError, ClientSettings, EarlySubmission, Submitted},
    gate::call::Call,
    ids,
    protocol::CancelReason,
};
use anyhow::{Context as _, Result, anyhow};
use early_signals::EarlySignals;
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

/// How long a gate waits for policy before it gets ready to wait for a person.
const POLICY: Duration = Duration::from_millis(100);

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
    /// The folder of the daemon's socket where the config names none; nothing else chooses it then
    #[arg(long, value_name = "FOLDER")]
    sockets: Option<PathBuf>,
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
    let (reply, problem) = match hook(context, args) {
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

fn hook(context: &Context, args: &HookArgs) -> Result<HookReply> {
    let agent = args.agent;
    let early_signals = match args.mode() {
        HookMode::EveryCall => Some(EarlySignals::block()?),
        HookMode::Prompts => None,
    };
    // Remembered first: the agent may exit at any time.
    let parent = Parent::new(agent.process_variable());
    let event = agent.decode(&stdin()?, args.mode()).map_err(anyhow::Error::msg)?;
    if let HookEvent::Misplaced { message, .. } = event {
        return Ok(HookReply::Block(message));
    }
    // Loaded after the event is decoded: a broken config must not keep a misplaced event from being
    // blocked.
    let config = context.config_for_hook(args.sockets.as_deref())?;
    let watched = config.agents.watched(agent.name()).filter(|_| config.serves_here());
    // The daemon answers this prompt as a client of the agent's own server, beside its terminal.
    if args.mode() == HookMode::Prompts && watched.is_some_and(|home| is_watched(agent, home)) {
        return Ok(HookReply::Nothing);
    }
    let HookEvent::Wants(request) = event else {
        wait(report(&config.client, args, &event))?;
        return Ok(match event {
            HookEvent::Notice => agent.noticed(),
            _ => HookReply::Nothing,
        });
    };
    let call = request.call(ids::nonce(), caller::host()).map_err(anyhow::Error::msg)?;
    let (request, verbose) = (request.as_ref(), args.verbose);
    let submission = PromptedCall { request, call, verbose, early_signals };
    let reply = match args.mode() {
        HookMode::EveryCall => submission.decide_fast(&config.client, &parent),
        HookMode::Prompts => wait(submission.decide(&config.client, &parent, None)),
    };
    // FAIL-CLOSED: a gate that says nothing lets the call run where the agent's mode does.
    Ok(match reply? {
        HookReply::Nothing => agent.undecided("nobody decided", args.mode()),
        reply => reply,
    })
}

/// Looks for the agent's own server, whose process is told only within a runtime.
fn is_watched(agent: &dyn HookAgent, home: &Path) -> bool {
    wait(async { Ok(agent.is_watched(home)) }).unwrap_or(false)
}

/// Reports an event that wants no decision.
async fn report(settings: &ClientSettings, args: &HookArgs, event: &HookEvent) -> Result<()> {
    let (client, agent) = (Client::new(settings, CONNECT)?, args.agent);
    match event {
        HookEvent::Ran { .. } | HookEvent::Stopped { .. } => {
            let pending = client.pending().await?;
            let closed = event.closes(agent.name(), &pending);
            for id in &closed {
                client.cancel(id, CancelReason::AnsweredElsewhere).await?;
            }
            if closed.is_empty() {
                overtaken::denial(&client, agent.name(), event).await?;
            }
        }
        HookEvent::Overtaken { .. } => overtaken::answer(&client, agent.name(), event).await?,
        HookEvent::Ended { session } => client.end_session(agent.name(), session).await?,
        HookEvent::Wants(_) | HookEvent::Notice | HookEvent::Misplaced { .. } => {
            if args.verbose {
                say::aside("this event decides nothing, and nothing is done about it");
            }
        }
    }
    Ok(())
}

/// A call that waits for its decision.
struct PromptedCall<'a> {
    request: &'a dyn HookRequest,
    call: Call,
    verbose: bool,
    early_signals: Option<EarlySignals>,
}

impl PromptedCall<'_> {
    /// As [`Self::decide`], for every call of an agent: most are decided by policy, and those need
    /// no runtime.
    fn decide_fast(&self, settings: &ClientSettings, parent: &Parent) -> Result<HookReply> {
        let mut early = EarlySubmission::send(settings, &self.call);
        let at_once = early.as_mut().and_then(|early| early.replied_within(POLICY, &self.call));
        match at_once {
            Some(Submitted::Decided(decided)) => Ok(self.request.reply(&decided)),
            Some(Submitted::Ask(_)) | None => wait(self.decide(settings, parent, early)),
        }
    }

    /// Submits the call, unless it is already, and waits. A signal means that somebody answered in
    /// the terminal.
    async fn decide(
        &self,
        settings: &ClientSettings,
        parent: &Parent,
        early: Option<EarlySubmission>,
    ) -> Result<HookReply> {
        // Registered first: a signal must not end the process before the ask is cancelled.
        let mut signals = InterruptSignals::new()?;
        self.early_signals.iter().for_each(EarlySignals::leave);
        let (client, call) = (&Client::new(settings, CONNECT)?, &self.call);
        let mut submitting = pin!(async {
            let Some(early) = early else { return client.submit_in_turn(call).await };
            if let Some(submitted) = early.replied(call).await {
                return Ok(submitted);
            }
            match client.submit_in_turn(call).await {
                // A daemon had the call: one that was killed since may be on its way back.
                Err(ClientError::Unreachable { .. }) => client.submit_patiently(call).await,
                submitted => submitted,
            }
        });
        let submitted = tokio::select! {
            biased;
            () = signals.any() => {
                // The ask may be there already, and its card says why it is cancelled. A person who
                // answered at the same moment was too late, and the card says that.
                let id = match timeout(SUBMISSION, &mut submitting).await {
                    Ok(Ok(Submitted::Ask(id))) => Some(id),
                    Ok(Ok(Submitted::Decided(decided))) => decided.ask,
                    Ok(Err(_)) | Err(_) => None,
                };
                if let Some(id) = id {
                    client.cancel(&id, CancelReason::AnsweredElsewhere).await?;
                }
                return Ok(HookReply::Nothing);
            }
            submitted = &mut submitting => submitted?,
        };
        let id = match submitted {
            Submitted::Decided(decided) => return Ok(self.request.reply(&decided)),
            Submitted::Ask(id) => id,
        };
        if self.verbose {
            say::aside(&format!("waiting for an answer to {id}"));
        }
        tokio::select! {
            // First: once the terminal has answered, the agent takes no reply.
            biased;
            () = signals.any() => {
                client.cancel(&id, CancelReason::AnsweredElsewhere).await?;
                Ok(HookReply::Nothing)
            }
            decided = client.decided(call, &id) => Ok(self.request.reply(&decided?)),
            () = parent.gone() => {
                client.cancel(&id, CancelReason::SessionEnded).await?;
                Err(anyhow!("the agent went away"))
            }
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
            let left = self.agent.as_ref().is_some_and(|process| !runs(process));
            if left || std::os::unix::process::parent_id() != self.id {
                return;
            }
        }
    }
}

/// Returns whether a process of `/proc` runs. One that ended, and that nobody has waited for, is
/// still listed.
fn runs(process: &Path) -> bool {
    match std::fs::read(process.join("stat")) {
        // The name before the state may hold any character.
        Ok(stat) => {
            let stat = String::from_utf8_lossy(&stat);
            let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
            !matches!(state, Some('Z' | 'X'))
        }
        Err(error) => error.kind() != std::io::ErrorKind::NotFound,
    }
}

/// Reads the event from stdin; of a larger one only the beginning, which does not parse.
fn stdin() -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(LARGEST).read_to_end(&mut bytes);
    read.context("stdin cannot be read")?;
    Ok(bytes)
}
