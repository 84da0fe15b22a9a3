//! The layers of rules that decide a call.

use crate::engine::guardrail::Guardrail;
use crate::rules::Rules;

/// The sets of rules that apply to a call, and the time.
#[derive(Clone, Copy, Debug)]
pub struct Layers<'a> {
    /// The agent's own rules; a deny of theirs is a veto.
    pub agent: Option<&'a Rules>,
    /// The rules file.
    pub rules: &'a Rules,
    /// The grants that people gave while the daemon runs.
    pub grants: &'a Rules,
    /// The guardrail, which nothing lifts.
    pub guardrail: &'a Guardrail,
    /// The current time in milliseconds since 1970; expired rules do not match.
    pub now_ms: i64,
}

/// The amount of asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// As the rules decide.
    Default,
    /// Asks become allows, even critical ones. Denies, guardrails and questions stay. So do asks
    /// about unreadable texts while there are rules that they might break.
    Yolo,
}
