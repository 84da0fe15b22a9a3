//! The interface between an agent and the commands: a name, the file with its hooks, and their
//! wire.

pub(super) use super::event::{HookEvent, HookReply, HookRequest};
use countersign_domain::call::Call;
use serde_json::Value;
use std::{
    fmt,
    path::{Path, PathBuf},
    time::Duration,
};

/// An agent that runs `countersign hook NAME` when it wants permission.
///
/// Everything here is pure except what looks for the agent on this machine
/// ([`HookAgent::settings_file`], `detect`, `is_watched`, `still_to_do`). The commands do the rest:
/// they read stdin, call the daemon, print, and change files.
pub trait HookAgent: fmt::Debug + Send + Sync {
    /// The name on the command line and on cards, such as `claude-code`.
    fn name(&self) -> &'static str;

    /// The name for people, with the versions that work.
    fn title(&self) -> AgentTitle;

    /// The file of this user in which the agent looks for hooks.
    ///
    /// # Errors
    /// When there is no home folder.
    fn settings_file(&self) -> Result<PathBuf, String>;

    /// What that file is to the agent and to us.
    fn hook_file(&self) -> HookFile {
        HookFile::Shared
    }

    /// The calls that can come here; the first is the default of `connect` and `hook`.
    fn modes(&self) -> &'static [HookMode] {
        &[HookMode::Prompts, HookMode::EveryCall]
    }

    /// The program of the agent, which tells its version with `--version`.
    fn program(&self) -> Option<&'static str> {
        None
    }

    /// Returns whether the agent is installed on this machine, judged by its settings.
    fn detect(&self) -> bool {
        // The folder and not the file, which a fresh installation lacks.
        self.settings_file().is_ok_and(|file| file.parent().is_some_and(Path::exists))
    }

    /// The settings with our hooks, which run `command`; everything else is unchanged.
    ///
    /// # Errors
    /// A sentence with line and column, if the agent could not read the settings either.
    fn connect(&self, settings: &str, command: &str, mode: HookMode) -> Result<String, String>;

    /// Why hooks of this mode do not belong into this file; `None` where they do.
    fn unfit(&self, _settings: &Path, _mode: HookMode) -> Option<String> {
        None
    }

    /// The settings without our hooks; everything else is unchanged.
    ///
    /// # Errors
    /// As [`HookAgent::connect`].
    fn disconnect(&self, settings: &str) -> Result<String, String>;

    /// Our hooks in the settings; `None` without any.
    ///
    /// # Errors
    /// As [`HookAgent::connect`].
    fn installed(&self, settings: &str) -> Result<Option<Hooks>, String>;

    /// The commands of other programs that may answer the agent before a person does.
    fn others(&self, _settings: &str) -> Vec<String> {
        Vec::new()
    }

    /// A call as the agent writes it to stdin, for a trial: of a shell command that is never run.
    fn sample(&self, session: &str, mode: HookMode) -> Value;

    /// The folder of an agent whose own server the daemon can watch; `None` for all others.
    fn watched_home(&self) -> Option<PathBuf> {
        None
    }

    /// Returns whether this process is a hook of the server in `watched`, so that the daemon
    /// answers the same prompt already.
    fn is_watched(&self, _watched: &Path) -> bool {
        false
    }

    /// What a person still has to do at the agent, so that it runs the hooks in this file.
    fn still_to_do(&self, _settings: &Path) -> Option<String> {
        None
    }

    /// Why the agent runs none of these hooks in this working directory, although they are there.
    fn switched_off(&self, _settings: &Path, _folder: &Path) -> Option<String> {
        None
    }

    /// The mode in which an agent of this version starts in this working directory, and what it means
    /// for our hooks; `None` for agents whose modes change nothing here.
    fn start(
        &self,
        _settings: &Path,
        _folder: &Path,
        _version: Option<&str>,
        _hooks: HookMode,
    ) -> Option<AgentStart> {
        None
    }

    /// Decodes the event that the agent wrote to stdin.
    ///
    /// # Errors
    /// A sentence; the hook then replies with [`HookAgent::undecided`].
    // FAIL-CLOSED: an event that asks for a decision and cannot be decided is `Misplaced`, even if
    // little of it can be read.
    fn decode(&self, stdin: &[u8], mode: HookMode) -> Result<HookEvent, String>;

    /// Decodes a call before it runs, which may be the retry of one that its own judge blocked and
    /// a person released; `None` where this agent has no such hook.
    ///
    /// # Errors
    /// A sentence; the agent then goes on as without us.
    fn retried(&self, _stdin: &[u8]) -> Result<Option<Retry>, String> {
        Ok(None)
    }

    /// Lets a retry run that a person released; `why` says who.
    fn release(&self, _why: &str, _at: RetryStep) -> HookReply {
        HookReply::Nothing
    }

    /// Whether a person sits at the agent's terminal, as it tells its hooks.
    fn attendance(&self) -> Attendance {
        Attendance::Unknown
    }

    /// The reply without a decision, for example while no daemon runs. By default nothing is
    /// printed, and the agent's own prompt decides. An agent that would run the call then must
    /// reply with a denial.
    // FAIL-CLOSED: behind a hook for every call there may be no prompt.
    fn undecided(&self, why: &str, mode: HookMode) -> HookReply {
        undecided(why, mode)
    }

    /// The reply where a person was asked and nobody answered in time: by default the one without a
    /// decision. An agent in which a model may decide instead, and run a call whose card has
    /// expired, must reply with a denial.
    fn unanswered(&self, why: &str, mode: HookMode) -> HookReply {
        self.undecided(why, mode)
    }

    /// The reply to an event that needs no action. An agent for which silence is a denial must be
    /// told that it may go on.
    fn noticed(&self) -> HookReply {
        HookReply::Nothing
    }

    /// How long the agent waits for its hook; `None` where it waits for ever.
    fn limit(&self, mode: HookMode) -> Option<HookLimit>;

    /// A denial that the agent reads off stderr when its hook ends without a word on stdout, for
    /// one that runs the call otherwise. It is written first.
    fn last_words(&self) -> Option<Value> {
        None
    }

    /// The environment variable with the agent's process id, if it sets one for hooks.
    fn process_variable(&self) -> Option<&'static str> {
        None
    }
}

/// The reply without a decision where nothing of the agent says otherwise.
pub(super) fn undecided(why: &str, mode: HookMode) -> HookReply {
    if !mode.is_gate() {
        return HookReply::Nothing;
    }
    HookReply::Block(format!(
        "countersign decides every call here and could not decide on this one, so it is blocked: \
         {why}"
    ))
}

/// Whether a person sits at the agent's terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attendance {
    /// A person does, and can be asked there.
    Attended,
    /// It runs on its own, and its own prompt asks nobody.
    Unattended,
    /// It does not say so.
    Unknown,
}

/// A call that may be the retry of one that a person released.
#[derive(Debug, Clone, PartialEq)]
pub struct Retry {
    /// The call.
    pub call: Call,
    /// Where it is on its way.
    pub at: RetryStep,
}

/// Where a retry is on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryStep {
    /// Its agent will ask for permission, which brings it here once more before it runs.
    BeforePrompt,
    /// The agent asks for permission.
    Prompt,
    /// It runs after this.
    Last,
}

/// An agent's own limit for its hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HookLimit {
    /// How long it waits.
    pub after: Duration,
    /// What it does with the call then.
    pub then: Overdue,
    /// Where the limit stands.
    pub source: &'static str,
}

/// What an agent does with a call whose hook took too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overdue {
    /// It runs it.
    Runs,
    /// It blocks it.
    Blocks,
    /// Its own prompt decides.
    Asks,
}

impl HookLimit {
    /// The limit that `connect` writes: a day.
    pub(super) const fn written(then: Overdue) -> Self {
        Self { after: Duration::from_secs(A_DAY_S), then, source: "`connect` writes it" }
    }

    /// The time after which the hook replies although nobody answered. The rest is for its start
    /// on a busy machine, and for taking the ask back.
    #[must_use]
    pub fn reply_after(self) -> Duration {
        self.after - (self.after / 12).min(Duration::from_mins(1))
    }
}

/// A day, in seconds: longer than people are asked for.
pub(super) const A_DAY_S: u64 = 86_400;

/// The command of a trial. It would change a file, so that rules ask about it.
pub(super) const TRIAL: &str = "touch countersign-doctor-live";

/// The description of a trial.
pub(super) const TRIAL_SAYS: &str = "A trial of countersign doctor: nothing runs.";

/// The file in which an agent looks for hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookFile {
    /// Settings of the agent, in which our hooks are entries.
    Shared,
    /// A file of ours alone, such as a plugin: without us it is not there.
    Own,
    /// The same, and the agent runs it.
    OwnProgram,
}

/// The calls that an agent hands to our hooks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HookMode {
    /// Those that it would prompt for.
    #[default]
    Prompts,
    /// Every call, in every mode of the agent.
    EveryCall,
    /// Those that a rule asks for or denies; the agent's own judge has all others.
    RuledCalls,
    /// Those that the agent's own judge has blocked.
    Blocks,
    /// Every call, each as a prompt of the agent's own, which no judge of it passes over.
    Dialogs,
}

/// The option of [`HookMode::Dialogs`].
const DIALOGS: &str = "--gate=dialog";

impl HookMode {
    /// The option of `connect` that chooses it, and of the hook that decides then.
    #[must_use]
    pub fn option(self) -> Option<&'static str> {
        match self {
            Self::Prompts => None,
            Self::EveryCall => Some("--gate"),
            Self::RuledCalls => Some("--gate=ask"),
            Self::Blocks => Some("--appeals"),
            Self::Dialogs => Some(DIALOGS),
        }
    }

    /// Whether the agent starts the hook before every call, with no prompt behind it.
    #[must_use]
    pub fn is_gate(self) -> bool {
        matches!(self, Self::EveryCall | Self::RuledCalls)
    }

    /// Whether a word of a command line makes its hook a gate, before that line is read.
    // FAIL-CLOSED: an option that is not known may be one.
    #[must_use]
    pub fn makes_gate(word: &str) -> bool {
        word.starts_with("--gate") && word != DIALOGS
    }
}

/// Our hooks in an agent's settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hooks {
    /// The command that they run, without the option of a mode.
    pub command: String,
    /// The calls that come here.
    pub mode: HookMode,
    /// Whether there is one for every event.
    pub complete: bool,
}

/// The mode in which an agent starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentStart {
    /// Which it is and why, such as `starts in auto mode (by default)`.
    pub mode: String,
    /// Who decides there, and what comes here.
    pub decides: &'static str,
    /// What to do about it; empty where there is nothing to do.
    pub advice: String,
    /// Calls run that would change something and do not come here.
    pub unseen: bool,
}

/// The agent's description for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentTitle {
    /// Its name, such as `Claude Code`.
    pub name: &'static str,
    /// The versions that work, such as `2.1.268 or newer`.
    pub versions: &'static str,
    /// The change that the user notices once it is connected.
    pub connected: &'static str,
}
