//! `/v1/pause` and `/v1/resume`: the kill switch.

use crate::{By, pause::PauseMode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Switches the pause on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PauseRequest {
    /// What becomes of calls; they are held where absent.
    #[serde(default)]
    pub mode: PauseMode,
}

/// A pause that is on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PauseView {
    /// What becomes of calls.
    pub mode: PauseMode,
    /// Who switched it on.
    pub by: By,
    /// Since when, RFC 3339.
    pub since: String,
}

/// What became of switching the pause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PauseReply {
    /// Whether this request switched it.
    pub switched: bool,
    /// What happened, in one sentence.
    pub message: String,
}
