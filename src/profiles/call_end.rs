//! How a call ended, for the words that a model gets.

use crate::OnDeny;

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallEnd<'a> {
    /// It may run.
    Approved {
        /// Who said so.
        by: &'a str,
    },
    /// A person said no.
    Denied {
        /// Who.
        by: &'a str,
        /// Their words.
        reason: Option<&'a str>,
        /// What else that does.
        then: OnDeny,
    },
    /// Policy said no; nobody was asked.
    Forbidden {
        /// The decision's reason.
        reason: &'a str,
        /// The rule behind it.
        rule: Option<&'a str>,
    },
    /// Nobody answered in time.
    TimedOut {
        /// How long it waited, in seconds.
        after_s: u64,
    },
    /// Nobody could be asked.
    Unreachable,
    /// Whoever asked took it back, or its turn was ended.
    Cancelled {
        /// Why.
        reason: &'a str,
    },
    /// An earlier call of the same batch was denied, and with it the rest.
    BatchStopped {
        /// The tool of that earlier call.
        tool: &'a str,
        /// The words of whoever denied it.
        reason: Option<&'a str>,
    },
}
