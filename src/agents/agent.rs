//! The interface between an agent and the commands: a name, the file with its hooks, and their
//! wire.

use crate::client::Decided;
use countersign_ask::call::Call;
use countersign_protocol::AskView;
use serde_json::Value;
use std::{
    fmt,
    path::{Path, PathBuf},
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
    fn others(&self, settings: &str) -> Vec<String> {
        let _ = settings;
        Vec::new()
    }

    /// A call as the agent writes it to stdin, for a trial: of a shell command that is never run.
    fn sample(&self, session: &str, mode: HookMode) -> Option<Value> {
        let _ = (session, mode);
        None
    }

    /// The folder of an agent whose own server the daemon can watch; `None` for all others.
    fn watched_home(&self) -> Option<PathBuf> {
        None
    }

    /// Returns whether this process is a hook of the server in `watched`, so that the daemon
    /// answers the same prompt already.
    fn is_watched(&self, watched: &Path) -> bool {
        let _ = watched;
        false
    }

    /// What a person still has to do at the agent, so that it runs the hooks in this file.
    fn still_to_do(&self, settings: &Path) -> Option<String> {
        let _ = settings;
        None
    }

    /// Decodes the event that the agent wrote to stdin.
    ///
    /// # Errors
    /// A sentence; the hook then replies with [`HookAgent::undecided`].
    // FAIL-CLOSED: an event that asks for a decision and cannot be decided is `Misplaced`, even if
    // little of it can be read.
    fn decode(&self, stdin: &[u8], mode: HookMode) -> Result<HookEvent, String>;

    /// The reply without a decision, for example while no daemon runs. By default nothing is
    /// printed, and the agent's own prompt decides. An agent that would run the call then must
    /// reply with a denial.
    // FAIL-CLOSED: behind a hook for every call there may be no prompt.
    fn undecided(&self, why: &str, mode: HookMode) -> HookReply {
        match mode {
            HookMode::Prompts => HookReply::Nothing,
            HookMode::EveryCall => HookReply::Block(format!(
                "countersign decides every call here and could not decide on this one, so it is \
                 blocked: {why}"
            )),
        }
    }

    /// The environment variable with the agent's process id, if it sets one for hooks.
    fn process_variable(&self) -> Option<&'static str> {
        None
    }
}

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

/// The event that started a hook. `R` is the agent's own permission request.
#[derive(Debug, Clone, PartialEq)]
pub enum HookEvent<R = Box<dyn HookRequest>> {
    /// The agent wants permission, or asks questions.
    Wants(R),
    /// A call of this session ran or failed, so its ask is answered elsewhere.
    Ran {
        /// The session.
        session: String,
        /// The tool.
        tool: String,
        /// Its arguments; `None` where the agent does not repeat those that it asked with.
        input: Option<Value>,
    },
    /// The turn is over: no call of the main agent waits any longer.
    Stopped {
        /// The session.
        session: String,
    },
    /// The session is over.
    Ended {
        /// The session.
        session: String,
    },
    /// An event that needs no action.
    Notice,
    /// An event that asks for a decision and cannot be decided here.
    Misplaced {
        /// The event's name at the agent.
        event: String,
        /// The message for the model and the person at the terminal.
        message: String,
    },
}

/// A permission request of an agent.
pub trait HookRequest: fmt::Debug + Send {
    /// The call to submit. `key` is unique to this hook process, so a call that the agent makes
    /// twice is two asks.
    ///
    /// # Errors
    /// A sentence, if questions cannot be shown.
    fn call(&self, key: String, host: Option<String>) -> Result<Call, String>;

    /// Encodes a decision for the agent.
    // FAIL-CLOSED: only a decision of a person or a rule about this call prints anything.
    fn reply(&self, decided: &Decided) -> HookReply;
}

/// The hook's output and exit code.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum HookReply {
    /// Print this to stdout, exit code 0.
    Print(Value),
    /// Print nothing, exit code 0.
    Nothing,
    /// Print this to stderr, exit code 2: agents read this as a denial, for events that can be
    /// denied.
    Block(String),
}

impl<R> HookEvent<R> {
    /// Converts the request to another type.
    pub fn map<S>(self, request: impl FnOnce(R) -> S) -> HookEvent<S> {
        match self {
            Self::Wants(wants) => HookEvent::Wants(request(wants)),
            Self::Ran { session, tool, input } => HookEvent::Ran { session, tool, input },
            Self::Stopped { session } => HookEvent::Stopped { session },
            Self::Ended { session } => HookEvent::Ended { session },
            Self::Notice => HookEvent::Notice,
            Self::Misplaced { event, message } => HookEvent::Misplaced { event, message },
        }
    }

    /// The ids of the agent's open asks that this event closes. Of several identical calls the
    /// oldest is the one that ran, because they run in the order in which they ask. A call with an
    /// `agent_id` in its `meta` is a subagent's, which continues after the main agent's turn.
    #[must_use]
    pub fn closes<'a>(&self, agent: &str, open: &'a [AskView]) -> Vec<&'a str> {
        // With a token of its own the agent has the token's name there.
        let ours = |ask: &&AskView, session: &str| {
            let name = ask.call.claims.as_ref().unwrap_or(&ask.call.agent);
            name == agent && ask.call.session == *session
        };
        let of_subagent = |ask: &AskView| {
            ask.call.meta.as_ref().is_some_and(|meta| meta.get("agent_id").is_some())
        };
        match self {
            Self::Ran { session, tool, input } => open
                .iter()
                .filter(|ask| ours(ask, session) && ask.call.tool == *tool)
                .find(|ask| input.as_ref().is_none_or(|input| ran_with(&ask.call.args, input)))
                .map(|ask| ask.id.as_str())
                .into_iter()
                .collect(),
            Self::Stopped { session } => open
                .iter()
                .filter(|ask| ours(ask, session) && !of_subagent(ask))
                .map(|ask| ask.id.as_str())
                .collect(),
            Self::Wants(_) | Self::Ended { .. } | Self::Notice | Self::Misplaced { .. } => {
                Vec::new()
            }
        }
    }
}

/// Returns whether a call that ran with `input` is the one that asked with `args`. The input may
/// have more fields: answers to questions are added to it.
fn ran_with(args: &Value, input: &Value) -> bool {
    match (args, input) {
        (Value::Object(asked), Value::Object(ran)) => {
            asked.iter().all(|(key, value)| ran.get(key) == Some(value))
        }
        (asked, ran) => asked == ran,
    }
}
