//! A review: a call that ran without asking, shown afterwards, and what *Should have asked* does.
//! Pure.

use super::{Owner, call::Call};
use countersign_policy::Rule;
use serde::{Deserialize, Serialize};

/// The agent that the call of a review's ask names: countersign itself asks.
// SECURITY: the agent whose call it was is not its caller, so it neither reads nor cancels the ask,
// and it does not count for that agent.
pub const REVIEWER: &str = "countersign";

/// A call that policy allowed, whose ask is a person's review of that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallReview {
    /// The agent whose call it was.
    pub agent: String,
    /// Its session.
    pub session: String,
    /// Whose session that is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
    /// The process or machine that ran it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// SHA-256 of the call as it was submitted; the log has it.
    pub digest: String,
    /// When it was allowed, Unix milliseconds.
    pub at: i64,
    /// What let it run, in words.
    pub through: String,
    /// What *Should have asked* does.
    pub tightening: Tightening,
}

/// What *Should have asked* does. It never allows anything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Tightening {
    /// The grant that let the call run is revoked.
    Revoke {
        /// Its id.
        grant: String,
        /// What it allows, in words.
        rule: String,
    },
    /// Calls that this rule covers ask from now on.
    Ask {
        /// The rule.
        rule: Rule,
    },
}

impl CallReview {
    /// The call as its agent submitted it, from that of the review's ask.
    #[must_use]
    pub fn reviewed(&self, call: &Call) -> Call {
        Call {
            agent: self.agent.clone(),
            session: self.session.clone(),
            owner: self.owner.clone(),
            worker: self.worker.clone(),
            ..call.clone()
        }
    }
}

impl Tightening {
    /// What the button does, as a sentence in front of the press.
    #[must_use]
    pub fn promise(&self) -> String {
        match self {
            Self::Revoke { grant, rule } => {
                format!("Should have asked revokes the grant {rule} ({grant}).")
            }
            Self::Ask { rule } => {
                format!("Should have asked makes such calls ask from now on: {rule}.")
            }
        }
    }

    /// What was done, after the press.
    #[must_use]
    pub fn done(&self) -> String {
        match self {
            Self::Revoke { rule, .. } => format!("revoked: {rule}"),
            Self::Ask { rule } => format!("asks from now on: {rule}"),
        }
    }
}
