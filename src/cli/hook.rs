//! `countersign hook AGENT`: implements the agent's hook contract on stdin and stdout.
//!
//! FAIL-CLOSED: after any error nothing is printed and the exit code is 0, so that the agent's own
//! prompt decides. If the hook is installed under an event without a prompt behind it, or with
//! `--gate`, it blocks instead.

mod early_signals;
mod overtaken;

use super::{
    Context, Exit, caller, connect,
    connect::Gate,
    park::{self, Parking, ResumedCall},
    say,
    signals::Signals,
    wait, when,
};
use anyhow::{Context as _, Error, Result, anyhow};
use countersign_agents::{
    Attendance, HookAgent, HookEvent, HookLimit, HookMode, HookReply, HookRequest, PutOff, Retry,
    RetryStep,
};
use countersign_client::{Client, ClientSettings, Decided, Ending, Submitted};
use countersign_domain::{
    call::DIALOG_WAITS,
    parked::{ParkedRun, one_at_a_time},
    wire::{CancelReason, ParkReply, ParkedView},
};
use countersign_gate::call::Call;
use countersign_tokens::ids;
use early_signals::EarlySignals;
use serde_json::Value;
use std::{
    ffi::OsString,
    future::pending,
    io::Read,
    path::{Path, PathBuf},
    pin::pin,
    time::{Duration, Instant},
};
use tokio::time::{sleep, timeout};

/// The timeout for a connection to the daemon. The agent's own prompt may wait for us.
const CONNECT: Duration = Duration::from_millis(300);

/// How long a submission may take to tell the id of its ask.
const SUBMISSION: Duration = Duration::from_secs(2);

/// How long parking a run may take before its ask expires, in seconds.
const PARKS_WITHIN_S: u64 = 300;

/// Between two looks into the agent's journal.
const JOURNAL: Duration = Duration::from_millis(500);

/// A limit below this is told where nobody answered: it may be the reason.
const SHORT_S: u64 = 3600;

/// The largest event that is read, in bytes.
const LARGEST: u64 = 16 << 20;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Agents start this; `countersign connect claude-code` sets it up. To see what it would do:
  countersign hook claude-code -v < event.json")]
pub(super) struct HookArgs {
    /// Whose hook to be
    #[arg(value_parser = connect::agent_parser())]
    agent: &'static dyn HookAgent,
    /// Decide on every call, not only on those that the agent would prompt for; without a decision
    /// the call is blocked. `ask`: leave what no rule asks for to the agent's own judge. `dialog`:
    /// the agent's own prompt decides then
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true,
        default_missing_value = "all")]
    gate: Option<Gate>,
    /// Ask only about what the agent's own judge has blocked
    #[arg(long, conflicts_with = "gate")]
    appeals: bool,
    /// Only let a call run that a person released after the agent's own judge had blocked it
    #[arg(long, hide = true, conflicts_with = "gate")]
    ahead: bool,
    /// Do not hold up the agent's terminal: wake it where a person releases a blocked call
    #[arg(long, hide = true, conflicts_with_all = ["gate", "ahead"])]
    wake: bool,
    /// Park the run of a call that needs a person for too long
    #[arg(long, value_name = "RUN", hide = true, requires = "gate", value_parser = Parking::read)]
    park: Option<Parking>,
    /// The folder of the daemon's socket where the config names none; nothing else chooses it then
    #[arg(long, value_name = "FOLDER")]
    sockets: Option<PathBuf>,
    /// How long the agent waits for this hook, where that is less than it does by default: the
    /// hook replies before that, although nobody answered
    #[arg(long, value_name = "TIME", value_parser = when::seconds)]
    limit: Option<u64>,
    /// Say on stderr what it waits for, and why there is no decision
    #[arg(short, long)]
    verbose: bool,
}

impl HookArgs {
    fn mode(&self) -> HookMode {
        let default = self.agent.modes().first().copied().unwrap_or_default();
        connect::mode(self.gate, self.appeals).unwrap_or(default)
    }

    /// The agent's limit, which an option can only shorten.
    fn limit(&self) -> Option<HookLimit> {
        let limit = self.agent.limit(self.mode())?;
        let given = self.limit.map_or(limit.after, Duration::from_secs);
        Some(HookLimit { after: limit.after.min(given), ..limit })
    }
}

/// What a gate has to do before anything else, even before its command line is read.
///
/// # Errors
/// If signals cannot be received.
pub(super) fn begin(words: &[OsString]) -> Result<Option<EarlySignals>> {
    let has = |option: &str| words.iter().any(|word| word == option);
    let after_hook = words.iter().skip_while(|word| *word != "hook");
    let agent = after_hook.filter_map(|word| word.to_str()).find_map(countersign_agents::find);
    let Some(agent) = agent else { return Ok(None) };
    let is_gate = words.iter().any(|word| HookMode::makes_gate(&word.to_string_lossy()));
    if !is_gate && agent.modes().first() != Some(&HookMode::EveryCall) {
        return Ok(None);
    }
    // A person who reads along is told more below.
    if let Some(last) = agent.last_words().filter(|_| !has("-v") && !has("--verbose")) {
        say::aside(&last.to_string());
    }
    EarlySignals::block().map(Some)
}

pub(super) fn run(context: &Context, args: &HookArgs, signals: Option<EarlySignals>) -> Exit {
    let (reply, problem) = match hook(context, args, signals) {
        Ok(reply) => (reply, None),
        Err(error) => {
            let why = format!("{error:#}");
            let reply = if error.is::<Unanswered>() {
                args.agent.unanswered(&why, args.mode())
            } else {
                args.agent.undecided(&why, args.mode())
            };
            (reply, Some(error))
        }
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

fn hook(context: &Context, args: &HookArgs, signals: Option<EarlySignals>) -> Result<HookReply> {
    let began = Instant::now();
    let agent = args.agent;
    let early_signals = if args.mode().is_gate() {
        Some(signals.map_or_else(EarlySignals::block, Ok)?)
    } else {
        None
    };
    // Remembered first: the agent may exit at any time.
    let parent = Parent::new(agent.process_variable());
    if args.ahead {
        return ahead(context, args, &stdin()?);
    }
    let input = stdin()?;
    let event = agent.decode(&input, args.mode()).map_err(Error::msg)?;
    if let HookEvent::Misplaced(message) = event {
        return Ok(HookReply::Block(message));
    }
    // Loaded after the event is decoded: a broken config must not keep a misplaced event from being
    // blocked.
    let config = context.config_for_hook(args.sockets.as_deref())?;
    let watched = config.agents.watched(agent.name()).filter(|_| config.serves_here());
    // The daemon answers this prompt as a client of the agent's own server, beside its terminal.
    if args.mode() == HookMode::Prompts
        && watched.is_some_and(|home| is_watched(agent, home, &config.client))
    {
        return Ok(HookReply::Nothing);
    }
    let HookEvent::Wants(request) = event else {
        wait(report(&config.client, args, &event))?;
        return Ok(match event {
            HookEvent::Notice => agent.noticed(),
            _ => HookReply::Nothing,
        });
    };
    let mut call = request.call(ids::nonce(), caller::host()).map_err(Error::msg)?;
    call.existing = countersign_agents::existing(&call);
    if config.agents.person_said {
        call.person_said = request.person_said();
    }
    // Both hooks of a blocked call start: where somebody sits at the terminal, the one that does not
    // hold it up asks. A subagent holds nothing up, and only the main agent would be woken (seen with
    // Claude Code 2.1.330).
    let is_attended = agent.attendance() == Attendance::Attended;
    let wakes = call.appeal.is_some() && is_attended && !request.is_of_subagent();
    if args.wake != wakes {
        return Ok(HookReply::Nothing);
    }
    if args.mode().is_gate()
        && let Some(reply) = released_at_terminal(agent, &config.client, &input)
    {
        return Ok(reply);
    }
    let patience = patience(args, request.as_ref(), &mut call, began);
    let request = request.as_ref();
    let verbose = args.verbose;
    let parking = args.park.as_ref().and_then(|parking| Some((parking, request.put_off()?)));
    if let Some((parking, _)) = &parking {
        // The answer comes from the run that goes on, however long that takes.
        call.expires_in_s = Some(parking.run.after_s.saturating_add(PARKS_WITHIN_S));
    }
    let submission =
        PromptedCall { agent, request, call, verbose, wakes, patience, parking, early_signals };
    // FAIL-CLOSED: without a reply to print this is an error, and a gate blocks then.
    wait(submission.decide(&config.client, &parent))
}

/// How long the agent waits for this hook; the call says so too.
fn patience(
    args: &HookArgs,
    request: &dyn HookRequest,
    call: &mut Call,
    began: Instant,
) -> Option<Patience> {
    let is_unattended = args.agent.attendance() == Attendance::Unattended;
    let held = request.holds_dialog().filter(|_| !is_unattended);
    let limit = args.limit().map(|limit| match held {
        Some(longest) => HookLimit { after: limit.after.min(longest), ..limit },
        None => limit,
    });
    if held.is_some()
        && let Some(Value::Object(meta)) = &mut call.meta
    {
        meta.insert(DIALOG_WAITS.to_owned(), true.into());
    }
    let patience = limit.map(|limit| Patience { limit, began });
    // The card says the time that there really is; a second is left for the way of its end.
    call.waits_s = patience.map(|patience| patience.left().as_secs().saturating_sub(1).max(1));
    patience
}

/// Lets the retry of a call run that a person released, and is silent about all others.
// FAIL-CLOSED: an error is silence too, and the agent's own judge decides.
fn ahead(context: &Context, args: &HookArgs, stdin: &[u8]) -> Result<HookReply> {
    let agent = args.agent;
    let Some(Retry { call, at }) = agent.retried(stdin).map_err(Error::msg)? else {
        return Ok(HookReply::Nothing);
    };
    let config = context.config_for_hook(args.sockets.as_deref())?;
    // What brings the call here once more spends it then.
    let spend = at != RetryStep::BeforePrompt;
    let approved = approved_ahead(&config.client, call, spend)?;
    Ok(approved.map_or(HookReply::Nothing, |why| agent.release(&why, at)))
}

/// Has the agent ask for the retry of a released call, where somebody sits at its terminal: our
/// other hook lets it run then. A judge of the agent may go before what a gate allows, and never
/// before what a person was asked for.
// SECURITY: this lets nothing run. Where it fails, the gate decides as on every call.
fn released_at_terminal(
    agent: &dyn HookAgent,
    settings: &ClientSettings,
    input: &[u8],
) -> Option<HookReply> {
    let Retry { call, at } = agent.retried(input).ok()??;
    if at != RetryStep::BeforePrompt || call.agent_mode.as_deref() != Some("auto") {
        return None;
    }
    let approved = approved_ahead(settings, call, false);
    Some(agent.release(&approved.ok()??, at))
}

/// Who approved exactly this call ahead. With `spend` it runs now.
fn approved_ahead(settings: &ClientSettings, call: Call, spend: bool) -> Result<Option<String>> {
    let call = Call { host: caller::host(), ..call };
    wait(async { Ok(Client::new(settings, CONNECT)?.ahead(&call, spend).await?) })
}

/// Whether this hook is one of the agent's own server, and the daemon is connected to that. The
/// process of a server is told only within a runtime.
fn is_watched(agent: &dyn HookAgent, home: &Path, settings: &ClientSettings) -> bool {
    let is_watched = wait(async {
        if !agent.is_watched(home) {
            return Ok(false);
        }
        let watches = Client::new(settings, CONNECT)?.ready().await?.watches;
        Ok(watches.iter().any(|name| name == agent.name()))
    });
    is_watched.unwrap_or(false)
}

/// Reports an event that wants no decision.
async fn report(settings: &ClientSettings, args: &HookArgs, event: &HookEvent) -> Result<()> {
    let client = Client::new(settings, CONNECT)?;
    let agent = args.agent;
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
        HookEvent::Wants(_) | HookEvent::Notice | HookEvent::Misplaced(_) => {
            if args.verbose {
                say::aside("this event decides nothing, and nothing is done about it");
            }
        }
    }
    Ok(())
}

/// A call that waits for its decision.
struct PromptedCall<'a> {
    agent: &'static dyn HookAgent,
    request: &'a dyn HookRequest,
    call: Call,
    verbose: bool,
    /// The agent did not wait, and is woken by a yes.
    wakes: bool,
    patience: Option<Patience>,
    parking: Option<ParkedCall<'a>>,
    early_signals: Option<EarlySignals>,
}

/// What parks the run of a call, and how its agent puts the call off.
type ParkedCall<'a> = (&'a Parking, PutOff);

/// How long the agent waits for this hook, which began at a time.
#[derive(Clone, Copy)]
struct Patience {
    limit: HookLimit,
    began: Instant,
}

/// Why a call is not waited for any longer.
enum Stop {
    /// A signal: somebody answered in the terminal.
    Signal,
    /// The agent soon stops waiting, and nobody answered.
    Limit,
    /// The agent is gone.
    Gone,
    /// The agent notes that its turn was interrupted.
    Interrupted,
}

impl PromptedCall<'_> {
    /// Submits the call and waits.
    async fn decide(&self, settings: &ClientSettings, parent: &Parent) -> Result<HookReply> {
        // Registered first: a signal must not end the process before the ask is cancelled.
        let mut signals = Signals::that_interrupt()?;
        self.early_signals.iter().for_each(EarlySignals::hand_in);
        let mut stopped = pin!(self.stopped(&mut signals, parent));
        let client = &Client::new(settings, CONNECT)?;
        let call = &self.call;
        if let Some((Parking { resumed: Some(parked), .. }, put_off)) = &self.parking
            && call.id_at_agent() == Some(&parked.id)
        {
            return Ok(self.answer_of(client, parked, put_off).await);
        }
        let mut submitting = pin!(client.submit_in_turn(call));
        let submitted = tokio::select! {
            biased;
            stop = &mut stopped => {
                // The ask may be there already, and its card says why it is cancelled. A person who
                // answered at the same moment was too late, and the card says that.
                let submitted = timeout(SUBMISSION, &mut submitting).await.ok();
                let id = submitted.and_then(Result::ok).and_then(Submitted::ask);
                return Err(self.give_up(client, id.as_deref(), stop).await);
            }
            submitted = &mut submitting => submitted?,
        };
        let id = match submitted {
            Submitted::Decided(decided) => return self.reply(&decided),
            Submitted::Ask(id) => id,
        };
        if self.verbose {
            say::aside(&format!("waiting for an answer to {id}"));
        }
        let (parking, other) = tokio::select! {
            // First: once the terminal has answered, the agent takes no reply.
            biased;
            stop = &mut stopped => return Err(self.give_up(client, Some(&id), stop).await),
            decided = client.decided(call, &id) => return self.reply(&decided?),
            due = self.parks(client, &id) => due,
        };
        // INVARIANT: its answer is not awaited any more: it is for this process or the next one.
        self.park(client, &id, parking, other).await
    }

    /// The answer of the call that was parked and is made again.
    // FAIL-CLOSED: without an answer that is for this very run it is put off again.
    async fn answer_of(
        &self,
        client: &Client,
        parked: &ResumedCall,
        put_off: &PutOff,
    ) -> HookReply {
        match client.take_answer(&parked.ask, parked.epoch, &self.call).await {
            Ok(decided) => match self.request.reply(&decided) {
                HookReply::Nothing => {
                    self.request.denied(&format!("countersign: {}", decided.reason))
                }
                reply => reply,
            },
            Err(error) => {
                say::aside(&format!("countersign: {error}; the run stays parked"));
                put_off.reply.clone()
            }
        }
    }

    /// Returns once the call has waited for long enough to park its run, or at once with the ask for
    /// which the run is parked already; never for a call that cannot be put off.
    async fn parks(&self, client: &Client, id: &str) -> (&ParkedCall<'_>, Option<String>) {
        let Some(parking) = &self.parking else { return pending().await };
        // Of two calls that Claude Code puts off in one reply it forgets the first.
        let all = client.parked().await.unwrap_or_default();
        let is_other =
            |it: &ParkedView| it.ask.call.session == self.call.session && it.ask.id != id;
        let other = all.into_iter().find(is_other).map(|it| it.ask.id);
        if other.is_none() {
            sleep(parking.0.after()).await;
        }
        (parking, other)
    }

    /// Parks the run, unless it is parked for another call.
    async fn park(
        &self,
        client: &Client,
        id: &str,
        (parking, put_off): &ParkedCall<'_>,
        other: Option<String>,
    ) -> Result<HookReply> {
        let transcript = Some(put_off.transcript.clone());
        let run = ParkedRun { transcript, ..parking.run.clone() };
        let run = park::sealed(run, id, &self.call.session);
        let refused = |why| ParkReply { parked: false, reason: Some(why) };
        let reply = match other {
            Some(other) => refused(one_at_a_time(&other)),
            // Looked for only now: Claude Code writes it while its first hook starts.
            None if !Path::new(&put_off.transcript).is_file() => refused(format!(
                "nobody answered in time, and this run cannot wait: its conversation is not kept \
                 in {}",
                put_off.transcript
            )),
            None => client.park(id, &run).await?,
        };
        match reply {
            ParkReply { parked: true, .. } => Ok(put_off.reply.clone()),
            ParkReply { reason: Some(why), .. } => {
                client.cancel(id, CancelReason::Aborted).await?;
                Ok(self.request.denied(&format!("countersign: {why}")))
            }
            ParkReply { reason: None, .. } => self.reply(&client.decided(&self.call, id).await?),
        }
    }

    /// The reply to print.
    ///
    /// # Errors
    /// A sentence, where nobody decided on this call.
    fn reply(&self, decided: &Decided) -> Result<HookReply> {
        if self.wakes {
            // Exit code 2 wakes it; it reads why on stderr.
            let woken = self.request.wakes(decided).map(HookReply::Block);
            return Ok(woken.unwrap_or(HookReply::Nothing));
        }
        if self.request.leaves(decided) {
            return Ok(HookReply::Nothing);
        }
        match (self.request.reply(decided), &decided.ending) {
            (HookReply::Nothing, Ending::Expired) => Err(self.unanswered()),
            (HookReply::Nothing, _) => Err(anyhow!("nobody decided")),
            (reply, _) => Ok(reply),
        }
    }

    /// Returns when there is no use in waiting any longer.
    async fn stopped(&self, signals: &mut Signals, parent: &Parent) -> Stop {
        let signal = async {
            if !self.early_signals.as_ref().is_some_and(EarlySignals::arrived) {
                signals.any().await;
            }
        };
        let limit = async {
            match self.patience {
                Some(patience) => sleep(patience.left()).await,
                None => pending().await,
            }
        };
        tokio::select! {
            biased;
            () = signal => Stop::Signal,
            () = limit => Stop::Limit,
            () = parent.gone() => Stop::Gone,
            () = self.interrupted() => Stop::Interrupted,
        }
    }

    /// Returns when the agent notes that its turn was interrupted.
    async fn interrupted(&self) {
        let Some(mut journal) = self.request.journal() else { return pending().await };
        while !journal.is_interrupted() {
            sleep(JOURNAL).await;
        }
    }

    /// Takes the ask back; returns why there is no decision.
    async fn give_up(&self, client: &Client, id: Option<&str>, stop: Stop) -> Error {
        let (reason, why) = match stop {
            Stop::Signal | Stop::Interrupted => {
                (CancelReason::AnsweredElsewhere, anyhow!("nobody decided"))
            }
            Stop::Limit => (CancelReason::Aborted, self.unanswered()),
            Stop::Gone => (CancelReason::SessionEnded, anyhow!("the agent went away")),
        };
        if let Some(id) = id {
            // Bounded: the agent does not wait for this.
            let cancelled = timeout(SUBMISSION, client.cancel(id, reason)).await;
            if let Ok(Err(error)) = cancelled {
                let error = Error::from(error);
                return match why.downcast::<Unanswered>() {
                    Ok(unanswered) => error.context(unanswered),
                    Err(why) => error.context(why.to_string()),
                };
            }
        }
        why
    }

    fn unanswered(&self) -> Error {
        match self.patience {
            Some(Patience { limit, .. }) if self.call.waits_s.is_some_and(|it| it < SHORT_S) => {
                let name = self.agent.title().name;
                let longest = limit.after.as_secs();
                let limit = format!(": {name} waits {longest} s at most");
                Unanswered(limit).into()
            }
            _ => Unanswered(String::new()).into(),
        }
    }
}

/// A person was asked and nobody answered in time; with the agent's own limit, where that is short.
#[derive(Debug, thiserror::Error)]
#[error("nobody answered in time{0}")]
struct Unanswered(String);

impl Patience {
    /// What is left of it.
    fn left(self) -> Duration {
        self.limit.reply_after().saturating_sub(self.began.elapsed())
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
