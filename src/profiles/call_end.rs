//! The ways in which a call ends, for the text that a model gets.

use crate::OnDeny;

/// The way in which a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallEnd<'a> {
    /// It may run.
    Approved {
        /// The person or grant that approved it.
        by: &'a str,
    },
    /// A person denied it.
    Denied {
        /// The person.
        by: &'a str,
        /// The person's words.
        reason: Option<&'a str>,
        /// The effect of the denial besides denying.
        then: OnDeny,
    },
    /// Policy denied it; nobody was asked.
    Forbidden {
        /// The decision's reason.
        reason: &'a str,
        /// The rule that decided.
        rule: Option<&'a str>,
    },
    /// Nobody answered in time.
    TimedOut {
        /// The time that it waited, in seconds.
        after_s: u64,
    },
    /// Nobody could be asked.
    Unreachable,
    /// The agent cancelled the call, or its turn ended.
    Cancelled {
        /// The reason.
        reason: &'a str,
    },
    /// An earlier call of the same batch was denied, and with it the rest.
    BatchStopped {
        /// The tool of that earlier call.
        tool: &'a str,
        /// The words of the person who denied it.
        reason: Option<&'a str>,
    },
}
