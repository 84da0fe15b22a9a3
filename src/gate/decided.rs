//! Decisions in the forms that the gate uses.

use countersign_policy::{self as policy, BriefDecision, Rule, Verdict};

/// A verdict with the rule and the reason behind it.
pub(super) struct DecidedCall {
    pub(super) verdict: Verdict,
    pub(super) rule: Option<String>,
    pub(super) deciding_rule: Option<Rule>,
    pub(super) reason: String,
}

/// A decision taken apart.
#[derive(Debug, Clone)]
pub struct Explained {
    /// The decision.
    pub decision: policy::Decision,
    /// Each command of a shell text on its own; empty for other calls and other profiles.
    pub parts: Vec<policy::Part>,
}

impl From<policy::Decision> for Explained {
    fn from(decision: policy::Decision) -> Self {
        Self { decision, parts: Vec::new() }
    }
}

impl From<BriefDecision> for DecidedCall {
    fn from(from: BriefDecision) -> Self {
        let BriefDecision { verdict, rule, deciding_rule, reason, .. } = from;
        Self { verdict, rule, deciding_rule, reason }
    }
}

impl From<policy::Decision> for DecidedCall {
    fn from(from: policy::Decision) -> Self {
        let policy::Decision { verdict, rule, deciding_rule, reason, .. } = from;
        Self { verdict, rule, deciding_rule, reason }
    }
}

/// A decision in one of its forms.
pub(super) trait HasVerdict: From<policy::Decision> {
    /// Its verdict.
    fn verdict(&self) -> Verdict;
}

impl HasVerdict for policy::Decision {
    fn verdict(&self) -> Verdict {
        self.verdict
    }
}

impl HasVerdict for Explained {
    fn verdict(&self) -> Verdict {
        self.decision.verdict
    }
}

impl HasVerdict for DecidedCall {
    fn verdict(&self) -> Verdict {
        self.verdict
    }
}
