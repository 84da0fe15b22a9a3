//! The ruling on a call: floors, layers, rules, the strictest of all its parts.

use serde::Serialize;

use crate::call::Call;
use crate::effects::Effect;
use crate::floors::Floors;
use crate::rules::{Rule, Rules};
use crate::verdict::Verdict;

/// A verdict with all that stands behind it.
#[derive(Clone, Debug, Serialize)]
#[must_use]
pub struct Ruling {
    /// What happens to the call.
    pub verdict: Verdict,
    /// The rule that decided, with its place: `shell_exec: "git *": allow (permissions.jsonc:12)`.
    pub rule: Option<String>,
    /// Why, as a sentence.
    pub reason: String,
    /// Every simple command of a shell text; words that only the shell will know are `None`.
    pub commands: Vec<Vec<Option<String>>>,
    /// The values that rules were matched against.
    pub patterns: Vec<String>,
    /// The rules that Always would store; empty when it is not offered.
    pub always: Vec<Rule>,
    /// One of the patterns that always want a person.
    pub critical: bool,
    /// The scanner read the whole text with certainty; true for tools that are no shell.
    pub understood: bool,
    /// What the call touches.
    pub effects: Vec<Effect>,
}

/// The sets of rules that bear on a call, and the time.
#[derive(Clone, Copy, Debug)]
pub struct Layers<'a> {
    /// The rules of the agent itself; its deny is a veto.
    pub agent: Option<&'a Rules>,
    /// The rules file.
    pub rules: &'a Rules,
    /// What people granted while the daemon runs.
    pub grants: &'a Rules,
    /// What nothing can lift.
    pub floors: &'a Floors,
    /// Now, in milliseconds since 1970; rules that have expired by then do not match.
    pub now_ms: i64,
}

/// How much is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// As the rules say.
    Default,
    /// Asks become allows, critical ones too; denies, floors and questions stay.
    Yolo,
}

/// Rules on a call.
pub fn rule(_call: &Call, _layers: &Layers<'_>, _mode: Mode) -> Ruling {
    Ruling {
        verdict: Verdict::Ask,
        rule: None,
        reason: "the policy core is being built; everything asks".to_owned(),
        commands: Vec::new(),
        patterns: Vec::new(),
        always: Vec::new(),
        critical: false,
        understood: false,
        effects: Vec::new(),
    }
}
