//! What the operator has chosen for the gate.

use super::limits::Limits;

/// Where every ask is to be shown unless a route leads elsewhere. The gate stores it and asks no
/// more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Audience {
    /// Which adapter.
    pub adapter: String,
    /// Where, in the adapter's spelling.
    pub target: String,
    /// Whether each session has a thread of its own there, and how long that may rest before it is
    /// closed; milliseconds.
    pub thread_idle_ms: Option<i64>,
}

/// What the operator has chosen.
#[derive(Debug, Clone)]
pub struct GateSettings {
    /// How long a person has; milliseconds.
    pub timeout_ms: i64,
    /// What happens then.
    pub on_timeout: OnTimeout,
    /// The mode of sessions that have none of their own, in the profile's own words; its default
    /// where `None`.
    pub mode: Option<String>,
    /// The home folder of the user who runs the agents.
    pub home: Option<String>,
    /// This machine's name: only of calls from here can be seen where their paths lead.
    pub host: String,
    /// This daemon's name among those that share the store; no two processes have the same.
    pub daemon: String,
    /// How long a settled ask is kept; milliseconds.
    pub keep_ms: i64,
    /// The inbox's address, for links to it.
    pub inbox: String,
    /// How much may be open at once.
    pub limits: Limits,
}

/// What happens to an ask that nobody answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OnTimeout {
    /// It is denied.
    Deny,
    /// It waits on.
    Wait,
    /// Calls of exactly these tools are approved, all others denied; never a critical call, never a
    /// question.
    Approve(Vec<String>),
}
