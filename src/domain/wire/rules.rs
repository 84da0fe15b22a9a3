//! Rules and grants.

use crate::{By, GrantScope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

// `/v1/rules/…`: explains a call by the rules in force, and tries a rule before it is saved.

/// What a rule says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RuleVerdict {
    /// The call runs.
    Allow,
    /// A person is asked.
    Ask,
    /// The call does not run.
    Deny,
}

/// A call to explain. Nothing runs and nobody is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExplainRequest {
    /// The tool, such as `shell_exec`.
    pub tool: String,
    /// Its arguments, such as `{"command": "git push"}`.
    pub args: Value,
    /// The folder that the call would run in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
}

/// What would happen to a call, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainReply {
    /// What would happen.
    pub verdict: RuleVerdict,
    /// The rule that decides, with its place; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The reason, as a sentence.
    pub reason: String,
    /// Whether a person must approve it in two steps.
    pub critical: bool,
    /// Each command of a shell text on its own.
    pub parts: Vec<ExplainedPart>,
    /// What it would touch, worst first; known for asks only.
    pub effects: Vec<String>,
    /// The rules that Always would store.
    pub always: Vec<String>,
}

/// One command of a shell text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainedPart {
    /// The command.
    pub command: String,
    /// What would happen to it alone.
    pub verdict: RuleVerdict,
    /// The words that the rule names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
    /// The rule that decides, with its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The reason, where it is another one than the rule.
    pub reason: String,
}

/// A rule to try. Nothing is saved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrialRequest {
    /// The tool, such as `shell_exec`.
    pub tool: String,
    /// The pattern, such as `cargo build *`.
    pub pattern: String,
    /// What it says.
    pub verdict: RuleVerdict,
}

/// What a rule would have changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrialReply {
    /// The rule as it is written in a rules file.
    pub line: String,
    /// How many closed asks it was tried on, latest first.
    pub calls: usize,
    /// How many of them it would have decided otherwise.
    pub changes: usize,
    /// Those of them that are listed, latest first.
    pub changed: Vec<TrialChange>,
}

/// An ask that a rule would have decided otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrialChange {
    /// The ask.
    pub ask: String,
    /// The first line of its card.
    pub title: String,
    /// When it was closed, RFC 3339.
    pub closed: String,
    /// What the rules say now.
    pub before: RuleVerdict,
    /// What they would say.
    pub after: RuleVerdict,
    /// Why they would.
    pub reason: String,
}

// `/v1/grants`: what was approved for longer than once.

/// A grant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GrantView {
    /// Its id.
    pub id: String,
    /// The ask that it was given on.
    pub ask: String,
    /// The tool that its rule covers.
    pub tool: String,
    /// The pattern of its rule.
    pub pattern: String,
    /// The verdict of its rule.
    pub verdict: String,
    /// How far it reaches.
    pub scope: GrantScope,
    /// The agent that it was given to.
    pub agent: String,
    /// The session that it was given in.
    pub session: String,
    /// Who gave it.
    pub by: By,
    /// When it was given, RFC 3339.
    pub created_at: String,
    /// When it ends, RFC 3339; absent where it does not end by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// Its rule as people read it.
    pub rule: String,
    /// How many calls it let run; for approvers, and absent under a profile that does not count
    /// them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<u64>,
    /// When it last let one run, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<String>,
    /// The last one in short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_call: Option<String>,
}

/// The grants in force.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GrantsPage {
    /// The grants.
    pub grants: Vec<GrantView>,
}

/// The grant that was revoked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RevokeReply {
    /// The grant.
    pub revoked: GrantView,
}
