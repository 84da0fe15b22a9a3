//! The events with which agents start our hook.

use super::journal::Journal;
use countersign_client::Decided;
use countersign_domain::{call::Call, wire::AskView};
use serde_json::Value;
use std::{fmt, time::Duration};

/// The event that started a hook.
#[derive(Debug)]
pub enum HookEvent {
    /// The agent wants permission, or asks questions.
    Wants(Box<dyn HookRequest>),
    /// A call of this session ran or failed, so its ask is answered elsewhere.
    Ran {
        /// The session.
        session: String,
        /// The tool.
        tool: String,
        /// Its arguments; `None` where the agent does not repeat those that it asked with.
        input: Option<Value>,
    },
    /// An answer of ours came after another one, so that the agent did not take it.
    Overtaken {
        /// The session.
        session: String,
        /// The tool.
        tool: String,
        /// Its arguments.
        input: Value,
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
    /// An event that asks for a decision and cannot be decided here; the message for the model and
    /// the person at the terminal.
    Misplaced(String),
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

    /// Whether this decision leaves the call to the agent's own judge, so that nothing is said.
    fn leaves(&self, _decided: &Decided) -> bool {
        false
    }

    /// What wakes an agent that did not wait for this decision; `None` where it changes nothing.
    fn wakes(&self, _decided: &Decided) -> Option<String> {
        None
    }

    /// Puts the call off, so that the agent's process ends and another one goes on from here; `None`
    /// where the agent would not come back to it.
    fn put_off(&self) -> Option<PutOff> {
        None
    }

    /// Denies the call where its own decision says nothing to the model, with the reason.
    fn denied(&self, why: &str) -> HookReply {
        HookReply::Block(why.to_owned())
    }

    /// Whether a subagent in the background makes the call: nothing at the terminal waits for it.
    fn is_of_subagent(&self) -> bool {
        false
    }

    /// How long the agent's own dialog may wait for this hook, where it comes only behind that.
    fn holds_dialog(&self) -> Option<Duration> {
        None
    }

    /// What a person said to the agent last, where it keeps that in a file.
    fn person_said(&self) -> Option<String> {
        None
    }

    /// Where the agent notes that the turn was interrupted, if it tells its hook nothing.
    fn journal(&self) -> Option<Journal> {
        None
    }
}

/// A call that is put off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutOff {
    /// What ends the agent's process.
    pub reply: HookReply,
    /// The file with the conversation, from which another process goes on.
    pub transcript: String,
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

impl HookEvent {
    /// The session and the tool of a call that was answered elsewhere.
    #[must_use]
    pub fn names(&self) -> Option<(&str, &str)> {
        match self {
            Self::Ran { session, tool, .. } | Self::Overtaken { session, tool, .. } => {
                Some((session, tool))
            }
            _ => None,
        }
    }

    /// The ids of those of these asks of the agent that this event closes. Of several identical
    /// calls the first is the one that ran, because they run in the order in which they ask. A call
    /// with an `agent_id` in its `meta` is a subagent's, which continues after the main agent's
    /// turn.
    #[must_use]
    pub fn closes<'a>(&self, agent: &str, asks: &'a [AskView]) -> Vec<&'a str> {
        // With a token of its own the agent has the token's name there.
        let ours = |ask: &&AskView, session: &str| {
            let name = ask.call.claims.as_ref().unwrap_or(&ask.call.agent);
            name == agent && ask.call.session == *session
        };
        let of_subagent = |ask: &AskView| {
            ask.call.meta.as_ref().is_some_and(|meta| meta.get("agent_id").is_some())
        };
        let closed = |ask: &&AskView| match self {
            Self::Ran { session, tool, input } => {
                let ran = |input: &Value| ran_with(&ask.call.args, input);
                ours(ask, session) && ask.call.tool == *tool && input.as_ref().is_none_or(ran)
            }
            Self::Overtaken { session, tool, input } => {
                ours(ask, session) && ask.call.tool == *tool && ask.call.args == *input
            }
            // The turn goes on while a person thinks about what its judge blocked.
            Self::Stopped { session } => {
                ours(ask, session) && !of_subagent(ask) && ask.call.appeal.is_none()
            }
            Self::Wants(_) | Self::Ended { .. } | Self::Notice | Self::Misplaced(_) => false,
        };
        let most = if matches!(self, Self::Ran { .. }) { 1 } else { asks.len() };
        asks.iter().filter(closed).take(most).map(|ask| ask.id.as_str()).collect()
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
