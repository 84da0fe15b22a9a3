//! `POST /v1/sessions/ID/…`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
