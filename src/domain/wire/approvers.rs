//! `/v1/approvers/explain` and `/v1/asks/{id}/approvers`: who could answer, and why.

use crate::wire::RuleVerdict;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A call of which to say who could answer it. Nothing runs and nobody is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerersRequest {
    /// The tool, such as `shell_exec`.
    pub tool: String,
    /// Its arguments, such as `{"command": "git push"}`.
    pub args: Value,
    /// The folder that the call would run in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The agent that would make it; `countersign` where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Its session; `rules` where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The machine that it would come from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

/// Who could answer, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AnswerersReply {
    /// What would happen to the call; people are asked only where it is `ask`.
    pub verdict: RuleVerdict,
    /// Why, as a sentence.
    pub reason: String,
    /// What an answer takes, a sentence for each answer rule that fits.
    pub required: Vec<String>,
    /// Everybody of whom the config knows.
    pub people: Vec<PossibleAnswererView>,
    /// Why nobody can approve it, a sentence for each rule that cannot be met.
    pub problems: Vec<String>,
    /// Where it is shown, and what happens while nobody answers, a sentence each.
    pub shown: Vec<String>,
}

/// Somebody who could answer, or could not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PossibleAnswererView {
    /// Who, for people to read.
    pub who: String,
    /// Whether their answer counts.
    pub counts: CountsView,
    /// Why, where there is something to say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
}

/// Whether somebody's answer counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CountsView {
    /// It does.
    Yes,
    /// It does not.
    No,
    /// It depends on a role that only the chat knows.
    ByRole,
}
