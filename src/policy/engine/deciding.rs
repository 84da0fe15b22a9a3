//! The decision on a whole call: its rules, the agent's own mode, the guardrail.

use crate::engine::agent_mode;
use crate::engine::evaluation::CallDecision;
use crate::engine::layers::{Layers, Mode};
use crate::engine::part_decision::PartDecision;
use crate::engine::subject::Subject;
use crate::rules::verdict::Verdict;

impl Subject<'_> {
    /// Decides the call.
    pub(crate) fn decide<'r>(&self, layers: &Layers<'r>, mode: Mode) -> CallDecision<'r> {
        let mut decision = self.evaluate(layers, mode);
        // Before the guardrail, which has the last word.
        if decision.part.verdict == Verdict::Allow
            && let Some(why) = agent_mode::holds(self.call)
        {
            let rule = decision.part.rule;
            let allowed = rule.map(|rule| format!(" The rule {} would allow it.", rule.label));
            decision.part =
                PartDecision { rule, ..PartDecision::ask(why + &allowed.unwrap_or_default()) };
        }
        self.guard(layers.guardrail, &mut decision);
        decision
    }

    /// Returns the reason of a decision, or a sentence that there is none.
    pub(super) fn sentence(&self, part: PartDecision<'_>) -> String {
        match (part.verdict, part.reason.is_empty()) {
            (Verdict::Allow, true) => match &self.scan {
                Some((_, scan)) if scan.commands.len() > 1 => "Rules allow every command.",
                _ => "A rule allows this.",
            }
            .to_owned(),
            (Verdict::Ask, true) => "No rule allows this (default: ask).".to_owned(),
            (Verdict::Deny, true) => "No rule allows this (default: deny).".to_owned(),
            (_, false) => part.reason.into_owned(),
        }
    }
}

/// Returns the verdict alone, for checks of rules.
pub(crate) fn verdict(subject: &Subject<'_>, layers: &Layers<'_>, mode: Mode) -> Verdict {
    subject.decide(layers, mode).part.verdict
}
