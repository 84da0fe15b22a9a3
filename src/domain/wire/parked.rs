//! `/v1/parked`: runs that wait without a process.

use crate::{parked::ParkedRun, wire::asks::AskView};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What became of a run that was to be parked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ParkReply {
    /// Only then may its process end.
    pub parked: bool,
    /// Why it is not parked although its call still waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A parked run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ParkedView {
    /// The call that runs next if it is approved, with what became of it so far.
    pub ask: AskView,
    /// Where it was; without the words that start it.
    pub run: ParkedRun,
    /// What the session has cost so far, in US dollars, where its agent told that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Since when, RFC 3339.
    pub since: String,
    /// Whether somebody is about to resume it.
    pub resuming: bool,
}

/// The parked runs, longest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ParkedPage {
    /// They.
    pub parked: Vec<ParkedView>,
}

/// The right to resume a parked run, for a while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResumeRunReply {
    /// Its number: what an earlier one still tries is refused.
    pub epoch: i64,
    /// What starts it.
    pub run: ParkedRun,
}

/// Who takes the answer of a parked call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TakeQuery {
    /// The number with which the run was resumed.
    pub epoch: i64,
}

/// A report that the process of a parked run has ended.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProcessEnded {
    /// The number with which it was resumed; 0 for the one that parked it.
    pub epoch: i64,
    /// Whether it put its call off, which so did not run, whatever it took.
    #[serde(default)]
    pub put_off: bool,
    /// What the session has cost so far, in US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}
