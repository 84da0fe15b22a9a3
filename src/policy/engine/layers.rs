//! What a call is ruled on by.

use crate::engine::guardrail::Guardrail;
use crate::rules::Rules;

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
    pub guardrail: &'a Guardrail,
    /// Now, in milliseconds since 1970; rules that have expired by then do not match.
    pub now_ms: i64,
}

/// How much is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// As the rules say.
    Default,
    /// Asks become allows, critical ones too. Denies, guardrails and questions stay, and so do asks
    /// about what cannot be read while there are rules that it might break.
    Yolo,
}
