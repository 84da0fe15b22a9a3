//! The interface of a profile.

use crate::{CallEnd, Grants, PromptBehaviour};
use countersign_policy::call::Call;
use countersign_policy::decision::Decision;
use countersign_policy::guardrail::Guardrail;
use countersign_policy::rules::Rules;
use countersign_policy::tools::Kind;
use std::fmt;

/// A profile with its own configuration.
pub trait System: fmt::Debug + Send + Sync {
    /// Decides a call. Guardrails are not considered here: [`crate::decide`] applies them
    /// afterwards.
    ///
    /// # Errors
    /// A sentence when the call itself cannot be decided, for example because of an unknown mode.
    /// Never an allow.
    fn decide(&self, call: &Call, context: &EvaluationContext<'_>) -> Result<Decision, String>;

    /// Returns the system's treatment of asks and their answers.
    fn prompt_behaviour(&self) -> PromptBehaviour;

    /// Returns the text for the system's model about the end of an ask, or of a call that was never
    /// asked about: in its own exact words, with the person who decided. `None` when the call
    /// simply runs.
    fn text_for_model(&self, call: &Call, end: &CallEnd<'_>) -> Option<String>;

    /// Returns true when a word names one of its session modes.
    fn has_mode(&self, word: &str) -> bool;

    /// Returns what one more call costs in a mode that lasts for a number of turns; `None` for all
    /// others.
    fn turn(&self, _mode: &str) -> Option<ModeTurn> {
        None
    }

    /// Returns true when a call is a question to a person, which no policy answers.
    fn is_question(&self, call: &Call) -> bool {
        call.kind() == Kind::Question
    }
}

/// The context of a call.
#[derive(Clone, Copy, Debug)]
pub struct EvaluationContext<'a> {
    /// The session's mode in the profile's own words; `None` means the configured one.
    pub mode: Option<&'a str>,
    /// The grants of the session so far.
    pub grants: &'a Grants,
    /// The agent's own rules (molf: its `permission` set); a deny of theirs is a veto.
    pub agent_rules: Option<&'a Rules>,
    /// The guardrail, which nothing lifts.
    pub guardrail: &'a Guardrail,
    /// True when someone could answer an ask.
    pub reachable: bool,
    /// The current time in milliseconds since 1970.
    pub now_ms: i64,
}

/// A turn of a mode that has a number of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModeTurn {
    /// The rule in decisions that the mode has made; only these cost a turn.
    pub rule: String,
    /// The mode with one turn less.
    pub next: String,
}
