//! `/v1/sessions`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionView {
    /// Its agent.
    pub agent: String,
    /// Its name.
    pub session: String,
    /// The machine of its latest ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The folder of its latest ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Its own mode; absent where it has the configured one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// How many of its asks are open.
    pub open: u64,
    /// The ids of its open asks, oldest first, at most 100.
    pub asks: Vec<String>,
    /// When it last asked, got an answer or changed its mode, RFC 3339.
    pub last_seen: String,
}

/// The sessions that are known: those with open asks, with a mode of their own, and those of the
/// latest closed asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionsPage {
    /// The sessions, latest seen first, at most 100.
    pub sessions: Vec<SessionView>,
    /// Whether there are more.
    pub more: bool,
}

/// Names the agent whose session it is: for `abort` and `end`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionRequest {
    /// The agent.
    pub agent: String,
}

/// A mode for a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModeRequest {
    /// The agent.
    pub agent: String,
    /// The mode, in the profile's own words.
    pub mode: String,
}

/// How many asks were cancelled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CancelledReply {
    /// How many.
    pub cancelled: usize,
}

/// The mode that a session has now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModeReply {
    /// The mode.
    pub mode: String,
}
