//! A program whose host we are: it writes requests on lines of its stdout, and reads answers on
//! lines of its stdin. Pure; `cli::host` moves the lines.

use countersign_client::Decided;
use countersign_domain::{call::Call, wire::CancelReason};
use std::time::Duration;

/// The time between two ticks. Clients of a call that still waits give up after a minute.
pub const TICK: Duration = Duration::from_secs(10);

/// The session of one hosted program.
pub trait HostedSession {
    /// The agent's name in its calls.
    fn agent(&self) -> &str;

    /// The session's name.
    fn name(&self) -> &str;

    /// What the program is, in messages.
    fn program(&self) -> &'static str {
        "the engine"
    }

    /// Handles a line of the program; it is passed on to our own host before the steps.
    fn engine_line(&mut self, line: &[u8]) -> (Forward, Vec<Step>);

    /// Handles a line of our own host.
    fn host_line(&mut self, line: &[u8]) -> (Forward, Vec<Step>);

    /// Handles that a person is asked about a call, under this ask id.
    fn opened(&mut self, _key: &str, _ask: &str) -> Vec<Step> {
        Vec::new()
    }

    /// Handles that [`TICK`] has passed.
    fn tick(&mut self) -> Vec<Step> {
        Vec::new()
    }

    /// Handles the daemon's decision, or the error why there is none.
    fn decided(&mut self, key: &str, decided: Result<&Decided, String>) -> Vec<Step>;

    /// Handles the end of our own host's input.
    fn host_ended(&mut self) -> Vec<Step>;

    /// Handles the end of the program: its requests have no one to answer to.
    fn engine_ended(&mut self, why: CancelReason) -> Vec<Step>;

    /// The end of the session.
    fn ends(&self) -> SessionEnd {
        SessionEnd::WithProgram
    }

    /// The state of the program's input.
    fn input(&self) -> EngineInput;

    /// The reason why the session failed, although its program may have ended well.
    fn failure(&self) -> Option<String> {
        None
    }
}

/// The end of a session, with what was granted to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionEnd {
    /// It ends with the program.
    WithProgram,
    /// It is another program's, which ends it.
    Elsewhere,
}

/// Whether more can come for a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineInput {
    /// Lines or answers may come.
    Open,
    /// Nothing comes unless the program writes again soon.
    OverWhenQuiet,
    /// Nothing comes any more: its input is closed.
    Over,
    /// Nobody is there any more for what it writes: it is ended.
    Abandoned,
}

/// A step for the caller to carry out, in order.
#[derive(Debug, PartialEq)]
pub enum Step {
    /// Send this line to the program.
    Send(String),
    /// Send this line to our own host.
    Tell(String),
    /// Print these words of the agent for the person who started it.
    Say(String),
    /// Submit this call.
    Submit {
        /// Its key.
        key: String,
        /// The call.
        call: Box<Call>,
    },
    /// Cancel the call with this key.
    Cancel {
        /// The key.
        key: String,
        /// The reason.
        why: CancelReason,
    },
    /// Log this for the operator.
    Log(String),
}

/// The treatment of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Forward {
    /// It is passed on unchanged.
    On,
    /// It is dropped.
    Stays,
}
