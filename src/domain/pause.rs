//! The kill switch: what becomes of calls while it is on. Pure.

use super::By;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What becomes of calls while everything is paused. Neither lets one run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PauseMode {
    /// They are denied, and told why.
    Deny,
    /// They are held as asks, those too that a rule or grant would allow.
    #[default]
    Hold,
}

/// A pause that is on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pause {
    /// What becomes of calls.
    pub mode: PauseMode,
    /// Who switched it on.
    pub by: By,
    /// Unix milliseconds.
    pub since: i64,
}

impl PauseMode {
    /// The word for it, on every surface and in the store.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Hold => "hold",
        }
    }
}

impl std::str::FromStr for PauseMode {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let all = [Self::Deny, Self::Hold];
        let named = all.into_iter().find(|mode| mode.name().eq_ignore_ascii_case(word));
        named.ok_or_else(|| format!("`{word}` is not a valid pause mode; use hold or deny"))
    }
}

/// What is left of a deadline that a pause has stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoppedClock {
    /// Milliseconds; `None` where the ask waits for ever.
    pub left_ms: Option<i64>,
}
