//! What an agent is to the commands: a name, a settings file, and the wire of its hooks.

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
/// Everything here is pure but [`HookAgent::settings_file`] and [`HookAgent::detect`]. The
/// commands do the rest: they read stdin, talk to the daemon, print, and change files.
pub trait HookAgent: fmt::Debug + Send + Sync {
    /// The name on the command line and on cards, such as `claude-code`.
    fn name(&self) -> &'static str;

    /// The name for people, with the versions that work.
    fn title(&self) -> Title;

    /// The file of this user's settings that holds the agent's hooks.
    ///
    /// # Errors
    /// When there is no home folder.
    fn settings_file(&self) -> Result<PathBuf, String>;

    /// Whether the agent is on this machine, as far as its settings tell.
    fn detect(&self) -> bool {
        self.settings_file().is_ok_and(|file| file.parent().is_some_and(Path::exists))
    }

    /// The settings with our hooks in them, which run `command`; everything else stays as it is.
    ///
    /// # Errors
    /// A sentence with line and column, where the agent could not read the settings either.
    fn connect(&self, settings: &str, command: &str) -> Result<String, String>;

    /// The settings without our hooks; everything else stays as it is.
    ///
    /// # Errors
    /// As [`HookAgent::connect`].
    fn disconnect(&self, settings: &str) -> Result<String, String>;

    /// The command that our hooks run, where all of them are installed.
    ///
    /// # Errors
    /// As [`HookAgent::connect`].
    fn installed(&self, settings: &str) -> Result<Option<String>, String>;

    /// Decodes what the agent wrote on stdin.
    ///
    /// # Errors
    /// A sentence; the hook then replies with [`HookAgent::undecided`].
    // FAIL-CLOSED: an event that asks for a decision and cannot be decided is `Misplaced`, however
    // little of it can be read.
    fn decode(&self, stdin: &[u8]) -> Result<HookEvent, String>;

    /// The reply where there is no decision, such as while no daemon runs. Nothing by default: the
    /// agent's own prompt decides. An agent that would run the call then has to be told to stop.
    fn undecided(&self, _why: &str) -> HookReply {
        HookReply::Nothing
    }

    /// The environment variable in which the agent gives its process id to hooks.
    fn process_variable(&self) -> Option<&'static str> {
        None
    }
}

/// What people are told of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Title {
    /// Its name, such as `Claude Code`.
    pub name: &'static str,
    /// The versions that work, such as `2.1.268 or newer`.
    pub versions: &'static str,
    /// What changes for its user once it is connected.
    pub connected: &'static str,
}

/// What a hook was started for. `R` is the agent's own permission request.
#[derive(Debug, Clone, PartialEq)]
pub enum HookEvent<R = Box<dyn HookRequest>> {
    /// The agent wants permission, or asks questions.
    Wants(R),
    /// A call of this session has run, or failed: whoever was asked for it, it is answered.
    Ran {
        /// The conversation.
        session: String,
        /// The tool.
        tool: String,
        /// What it ran with.
        input: Value,
    },
    /// The turn is over: nothing that the main agent asked for waits any longer.
    Stopped {
        /// The conversation.
        session: String,
    },
    /// The conversation is over.
    Ended {
        /// The conversation.
        session: String,
    },
    /// A notice that wants nothing from us.
    Notice,
    /// The hook is asked to decide where it cannot.
    Misplaced {
        /// The event, as the agent calls it.
        event: String,
        /// What the model and the person beside it read.
        message: String,
    },
}

/// A permission request of an agent.
pub trait HookRequest: fmt::Debug + Send {
    /// The call to submit. `key` is this hook process's own: a call that the agent makes twice is
    /// two asks.
    ///
    /// # Errors
    /// A sentence, for questions that cannot be shown.
    fn call(&self, key: String, host: Option<String>) -> Result<Call, String>;

    /// Encodes a decision as the agent reads it.
    // FAIL-CLOSED: what is no decision of a person or a rule about this very call is `Nothing`.
    fn reply(&self, decided: &Decided) -> HookReply;
}

/// What the hook prints, and how it ends.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum HookReply {
    /// This on stdout, exit code 0.
    Print(Value),
    /// Nothing, exit code 0.
    Nothing,
    /// This on stderr, exit code 2: what agents take for a denial wherever an event can be denied.
    Block(String),
}

impl<R> HookEvent<R> {
    /// The same with another form of the request.
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

    /// The ids of the agent's open asks that this event closes. Identical calls ran in the order in
    /// which they asked, so the oldest is the one that ran. A call whose `meta` has an `agent_id`
    /// is a subagent's, which goes on after the main agent's turn.
    #[must_use]
    pub fn closes<'a>(&self, agent: &str, open: &'a [AskView]) -> Vec<&'a str> {
        let ours =
            |ask: &&AskView, session: &str| ask.call.agent == agent && ask.call.session == *session;
        let of_subagent = |ask: &AskView| {
            ask.call.meta.as_ref().is_some_and(|meta| meta.get("agent_id").is_some())
        };
        match self {
            Self::Ran { session, tool, input } => open
                .iter()
                .filter(|ask| ours(ask, session) && ask.call.tool == *tool)
                .find(|ask| ran_with(&ask.call.args, input))
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

/// Whether a tool that ran with `input` is the one that asked with `args`. Answers may have come to
/// it.
fn ran_with(args: &Value, input: &Value) -> bool {
    match (args, input) {
        (Value::Object(asked), Value::Object(ran)) => {
            asked.iter().all(|(key, value)| ran.get(key) == Some(value))
        }
        (asked, ran) => asked == ran,
    }
}
