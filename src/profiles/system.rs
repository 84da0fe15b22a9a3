//! What every profile does.

use crate::{CallEnd, Grants, PromptBehaviour};
use countersign_policy::call::Call;
use countersign_policy::decision::Decision;
use countersign_policy::guardrail::Guardrail;
use countersign_policy::rules::Rules;
use countersign_policy::tools::Kind;
use std::fmt;

/// A profile with its own configuration read.
pub trait System: fmt::Debug + Send + Sync {
    /// Rules on a call. Guardrails are not its business: [`crate::decide`] puts them above it.
    ///
    /// # Errors
    /// A sentence where the call itself cannot be ruled on, such as an unknown mode. Never an
    /// allow.
    fn decide(&self, call: &Call, context: &EvaluationContext<'_>) -> Result<Decision, String>;

    /// How its system treats an ask and its answers.
    fn prompt_behaviour(&self) -> PromptBehaviour;

    /// What the system's model is told of how an ask, or a call that was never asked about, ended:
    /// its own exact words, with who decided. `None` where the call simply runs.
    fn text_for_model(&self, call: &Call, end: &CallEnd<'_>) -> Option<String>;

    /// Whether a word names one of its session modes.
    fn has_mode(&self, word: &str) -> bool;

    /// What one more call costs in a mode that lasts for a number of turns; `None` for all others.
    fn turn(&self, _mode: &str) -> Option<ModeTurn> {
        None
    }

    /// Whether a call is a question to a person, which no policy answers.
    fn is_question(&self, call: &Call) -> bool {
        call.kind() == Kind::Question
    }
}

/// What stands around a call.
#[derive(Clone, Copy, Debug)]
pub struct EvaluationContext<'a> {
    /// The session's mode in the profile's own words; its configuration's where `None`.
    pub mode: Option<&'a str>,
    /// What people have granted to the session so far.
    pub grants: &'a Grants,
    /// The rules of the agent itself (molf: its `permission` set); its deny is a veto.
    pub agent_rules: Option<&'a Rules>,
    /// What nothing lifts.
    pub guardrail: &'a Guardrail,
    /// Whether anybody could answer an ask.
    pub reachable: bool,
    /// Now, in milliseconds since 1970.
    pub now_ms: i64,
}

/// A turn of a mode that has a number of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModeTurn {
    /// The rule that decisions name which the mode has decided; only these cost a turn.
    pub rule: String,
    /// The mode with one turn less.
    pub next: String,
}
