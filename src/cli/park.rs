//! Runs that can wait: `countersign host claude-code --park`. A call that needs a person for too
//! long ends the agent's process, and a new one goes on from there with the answer.
//!
//! The hook of every call ([`Parking`] is its option) parks the run and takes the answer; this
//! process starts the agent, and starts it again. If it is killed, `countersign parked resume` does.
//!
//! SECURITY: the hook learns from its command line alone what it may put off, and never from its
//! environment, which a project can change: at a terminal a call that is put off runs.

use super::{
    Context, Exit, caller, connect, host,
    lines::queued,
    open_calls::{OpenCalls, WithoutDaemon},
    say,
    signals::Signals,
};
use anyhow::{Context as _, Result, anyhow, bail};
use countersign_agents::{
    CallOrigin, ClaudeCode, ControlSession, HookAgent as _, claude_gated,
    hosted::HostedSession as _,
};
use countersign_client::{Client, ClientError, Decided, session};
use countersign_domain::{
    parked::ParkedRun,
    wire::{ParkedView, ProcessEnded},
};
use countersign_port::line;
use countersign_tokens::ids;
use serde::{Deserialize, Serialize};
use std::{fs, path::Path, time::Duration};
use tokio::time::sleep;

/// The pause before the daemon is asked again.
const AGAIN: Duration = Duration::from_secs(2);

/// The option that makes a hook park the run of its call.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Parking {
    /// What starts the run again.
    pub(super) run: ParkedRun,
    /// The call for which it was started again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) resumed: Option<ResumedCall>,
}

/// The parked call for whose answer a run was resumed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ResumedCall {
    /// Its ask.
    pub(super) ask: String,
    /// The number of the resumption.
    pub(super) epoch: i64,
    /// Its id at the agent.
    pub(super) id: String,
    session: String,
}

impl Parking {
    /// Reads the option.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| format!("it is not for people: {error}"))
    }

    /// After how long a call that needs a person parks the run.
    pub(super) fn after(&self) -> Duration {
        Duration::from_secs(self.run.after_s)
    }
}

/// What a run starts with.
pub(super) enum Start {
    /// This message.
    Prompt(String),
    /// The answer of a parked call.
    Resumed(ResumedCall),
}

/// What is done while a run is parked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WhileParked {
    /// This process waits for the answer, and resumes it.
    Wait,
    /// It is left to others.
    Leave,
}

/// A run of Claude Code that can wait, and who starts its processes.
pub(super) struct ParkingHost<'a> {
    /// The command line of the hook, without its options.
    pub(super) hook: &'a str,
    pub(super) client: Client,
    pub(super) run: ParkedRun,
    pub(super) while_parked: WhileParked,
}

impl ParkingHost<'_> {
    /// Runs it to its end, or until it is parked and left.
    pub(super) async fn serve(&self, mut start: Start, signals: &mut Signals) -> Result<Exit> {
        loop {
            let (lines, resumed) = match start {
                Start::Prompt(text) => (queued(&[host::message(&text)]), None),
                Start::Resumed(call) => (queued(&[]), Some(call)),
            };
            let mut session = self.session(resumed.as_ref());
            let words = self.words(resumed.as_ref())?;
            let calls = OpenCalls::new(self.client.clone(), WithoutDaemon::Fails);
            let exit = host::serve(&words, &mut session, lines, calls, signals).await;
            if matches!(exit, Ok(Exit::Interrupted)) {
                return exit;
            }
            let parked = tokio::select! {
                parked = self.parked(&session, resumed.as_ref()) => parked,
                () = signals.any() => return Ok(Exit::Interrupted),
            };
            let parked = match (parked, exit) {
                (Ok(Some(parked)), _) => parked,
                (Ok(None), exit) => return exit,
                (Err(why), Err(exit)) => return Err(exit.context(why)),
                (Err(why), Ok(_)) => return Err(why),
            };
            say::aside(&told(&parked, self.while_parked));
            if self.while_parked == WhileParked::Leave {
                return Ok(Exit::Pending);
            }
            start = tokio::select! {
                call = self.answered(&parked) => Start::Resumed(call?),
                () = signals.any() => return Ok(Exit::Interrupted),
            };
        }
    }

    fn session(&self, resumed: Option<&ResumedCall>) -> ControlSession {
        let fresh = || format!("claude {}", ids::ask_id());
        let session = ControlSession::new(CallOrigin {
            session: resumed.map_or_else(fresh, |call| call.session.clone()),
            host: caller::host(),
            cwd: Some(self.run.cwd.clone()),
            run: ids::nonce(),
        });
        let session = session.without_host();
        if resumed.is_some() { session.resumed() } else { session }
    }

    /// The words that start a process: those of the run, with the hook that parks it.
    fn words(&self, resumed: Option<&ResumedCall>) -> Result<Vec<String>> {
        let mut words = self.run.words.clone();
        if let Some(call) = resumed {
            for option in CONVERSATION {
                taken(&mut words, option);
            }
            words.extend(["--resume".to_owned(), call.session.clone()]);
        }
        let settings = match taken(&mut words, "--settings").flatten() {
            None => "{}".to_owned(),
            Some(text) if text.trim_start().starts_with('{') => text,
            Some(file) => fs::read_to_string(&file).with_context(|| file.clone())?,
        };
        let seal = session::seal(&self.run.start());
        let run = ParkedRun { seal, ..self.run.clone() };
        let parking = Parking { run, resumed: resumed.cloned() };
        let parking = serde_json::to_string(&parking)?;
        let parking = shlex::try_quote(&parking).context("a word holds a NUL character")?;
        let command = format!("{} --gate --park {parking}", self.hook);
        let settings = claude_gated(&settings, &command)
            .map_err(|why| anyhow!("the settings given with --settings:{why}"))?;
        words.extend(["--settings".to_owned(), settings]);
        Ok(host::hosting(words))
    }

    /// The run, if its process ended because it is parked, for another call than before.
    async fn parked(
        &self,
        session: &ControlSession,
        resumed: Option<&ResumedCall>,
    ) -> Result<Option<ParkedView>> {
        let end = session.end();
        if let Some(ResumedCall { ask, epoch, id, .. }) = resumed {
            let put_off = end.put_off.as_ref() == Some(id);
            let ended = ProcessEnded { epoch: *epoch, put_off, cost_usd: end.cost_usd };
            if self.report(ask, &ended).await? {
                bail!(
                    "the run is still parked: its agent did not accept the answer to `{ask}`. \
                     `countersign parked resume {ask}` tries again, `countersign parked drop {ask}` \
                     gives it up"
                );
            }
        }
        let parked = match &end.put_off {
            Some(_) => self.find(session.name()).await?,
            // Where no daemon is, no hook has parked it a moment ago.
            None => self.client.parked().await.ok().and_then(|all| in_session(all, session.name())),
        };
        match (parked, &end.put_off) {
            (Some(parked), Some(_)) => {
                let ended = ProcessEnded { epoch: 0, put_off: false, cost_usd: end.cost_usd };
                self.report(&parked.ask.id, &ended).await?;
                Ok(Some(parked))
            }
            // Its hook parked it and was killed before it could say so: the run went on without the
            // call.
            (Some(parked), None) => {
                self.client.drop_parked(&parked.ask.id).await?;
                Ok(None)
            }
            (None, Some(_)) => bail!("the run was given up while it waited"),
            (None, None) => Ok(None),
        }
    }

    /// The parked run of this session. A daemon that is away is waited for.
    async fn find(&self, session: &str) -> Result<Option<ParkedView>> {
        loop {
            match self.client.parked().await {
                Ok(all) => return Ok(in_session(all, session)),
                Err(error) => wait_for_daemon(error).await?,
            }
        }
    }

    async fn report(&self, ask: &str, ended: &ProcessEnded) -> Result<bool> {
        loop {
            match self.client.process_ended(ask, ended).await {
                Ok(parked) => return Ok(parked),
                Err(error) => wait_for_daemon(error).await?,
            }
        }
    }

    /// Waits for the answer of a parked call, and for the right to resume its run.
    async fn answered(&self, parked: &ParkedView) -> Result<ResumedCall> {
        let ask = &parked.ask.id;
        let Decided { reason, .. } = self.client.closed(ask).await?;
        loop {
            match self.client.resume_run(ask).await {
                Ok(right) => {
                    say::aside(&format!("{ask}: {reason}; the run goes on"));
                    return Ok(ResumedCall::of(parked, right.epoch));
                }
                Err(ClientError::Rejected(why)) => {
                    if self.find(&parked.ask.call.session).await?.is_none() {
                        bail!("the run was resumed elsewhere, or was given up");
                    }
                    tracing::debug!(%ask, %why, "the run is not resumed yet");
                    sleep(AGAIN).await;
                }
                Err(error) => wait_for_daemon(error).await?,
            }
        }
    }
}

impl ResumedCall {
    /// The call of a parked run that was resumed under this number.
    pub(super) fn of(parked: &ParkedView, epoch: i64) -> Self {
        let call = &parked.ask.call;
        Self {
            ask: parked.ask.id.clone(),
            epoch,
            id: call.id_at_agent().unwrap_or_default().to_owned(),
            session: call.session.clone(),
        }
    }
}

fn in_session(all: Vec<ParkedView>, session: &str) -> Option<ParkedView> {
    all.into_iter().find(|it| it.ask.call.session == session)
}

/// The command line of the hook that parks.
pub(super) fn hook(context: &Context) -> Result<String> {
    connect::hook_command(context, &ClaudeCode)
}

/// Refuses to park where another hook of ours would hold every call.
///
/// # Errors
/// A sentence.
pub(super) fn check() -> Result<()> {
    let file = ClaudeCode.settings_file().map_err(anyhow::Error::msg)?;
    let settings = fs::read_to_string(&file).unwrap_or_default();
    let hooks = ClaudeCode.installed(&settings).ok().flatten();
    if hooks.is_some_and(|hooks| hooks.mode.is_gate()) {
        bail!(
            "{} connects Claude Code with --gate, whose hook waits for the answer of each call: \
             connect it without --gate, or give this run another CLAUDE_CONFIG_DIR",
            file.display()
        );
    }
    Ok(())
}

/// Checks that a parked run can go on here.
///
/// # Errors
/// A sentence that says what is not on this machine.
pub(super) fn check_here(run: &ParkedRun) -> Result<()> {
    let host = run.host.as_deref().unwrap_or("another machine");
    if !Path::new(&run.cwd).is_dir() {
        bail!("its folder {} is not on this machine: resume it on {host}", run.cwd);
    }
    match &run.transcript {
        Some(file) if Path::new(file).is_file() => Ok(()),
        Some(file) => bail!(
            "its conversation {file} is not on this machine: copy it here, or resume the run on \
             {host}"
        ),
        None => bail!("the place of its conversation is unknown"),
    }
}

/// What would be started was not chosen by somebody of this installation.
#[derive(Debug, thiserror::Error)]
#[error(
    "this run was not started by you on this machine. It would start `{words}` in {cwd}. If you want \
     that: `countersign parked resume {ask} --yes`"
)]
pub(super) struct NotOurs {
    ask: String,
    words: String,
    cwd: String,
}

/// Checks that what starts a run was chosen by somebody of this installation.
///
/// # Errors
/// [`NotOurs`]
// SECURITY: anybody who may open asks may park a run with any words, and they would run here unseen.
pub(super) fn check_ours(ask: &str, session: &str, run: &ParkedRun) -> Result<(), NotOurs> {
    if is_sealed(run, &run.parked_for(ask, session)) {
        return Ok(());
    }
    let words = run.words.iter().map(|word| shlex::try_quote(word).unwrap_or(word.into()));
    let words = line(&words.collect::<Vec<_>>().join(" "));
    Err(NotOurs { ask: ask.to_owned(), words, cwd: line(&run.cwd) })
}

/// A run as it is parked for this ask. Only one that was started here is sealed.
// SECURITY: the agent can read the seal that its hook is given. It starts nothing by itself, and
// what is made of it here starts no other session.
pub(super) fn sealed(run: ParkedRun, ask: &str, session: &str) -> ParkedRun {
    let is_ours = is_sealed(&run, &run.start());
    let seal = is_ours.then(|| session::seal(&run.parked_for(ask, session))).flatten();
    ParkedRun { seal, ..run }
}

fn is_sealed(run: &ParkedRun, text: &str) -> bool {
    run.seal.as_ref().is_some_and(|seal| session::is_sealed(text, seal))
}

/// The options of Claude Code that choose a conversation. `--resume` takes their place.
const CONVERSATION: [&str; 4] = ["--resume", "--continue", "--session-id", "--fork-session"];

/// Takes an option out of a command line, with its value where it has one; `None` where it is not
/// there.
fn taken(words: &mut Vec<String>, option: &str) -> Option<Option<String>> {
    let with_value = format!("{option}=");
    let at = words.iter().position(|word| word == option || word.starts_with(&with_value))?;
    let word = words.remove(at);
    if let Some(value) = word.strip_prefix(&with_value) {
        return Some(Some(value.to_owned()));
    }
    let has_value = !["--continue", "--fork-session"].contains(&option)
        && words.get(at).is_some_and(|next| !next.starts_with('-'));
    Some(has_value.then(|| words.remove(at)))
}

fn told(parked: &ParkedView, while_parked: WhileParked) -> String {
    let ParkedView { ask, .. } = parked;
    let then = match while_parked {
        WhileParked::Wait => "it goes on once somebody answers",
        WhileParked::Leave => "`countersign parked resume` goes on with it once somebody answers",
    };
    format!("parked: {} waits for an answer ({}); {then}", ask.call.tool, ask.id)
}

/// Waits a moment for a daemon that is away; other errors are passed on.
async fn wait_for_daemon(error: ClientError) -> Result<()> {
    match error {
        ClientError::Unreachable { .. } | ClientError::Lost { .. } => {
            sleep(AGAIN).await;
            Ok(())
        }
        other => Err(other.into()),
    }
}
