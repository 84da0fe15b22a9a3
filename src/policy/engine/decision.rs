//! The decision on a whole call: its rules, the agent's own mode, the guardrail.

use crate::engine::agent_mode;
use crate::engine::evaluation::Decision;
use crate::engine::finding::Finding;
use crate::engine::layers::{Layers, Mode};
use crate::engine::subject::Subject;
use crate::rules::verdict::Verdict;

impl Subject<'_> {
    /// Rules on the call.
    pub(crate) fn decide<'r>(&self, layers: &Layers<'r>, mode: Mode) -> Decision<'r> {
        let mut decision = self.evaluate(layers, mode);
        if decision.finding.verdict == Verdict::Allow
            && let Some(why) = agent_mode::holds(self.call)
        {
            let rule = decision.finding.rule;
            let allowed = rule.map(|rule| format!(" The rule {} allows it otherwise.", rule.label));
            decision.finding = Finding { rule, ..Finding::ask(why + &allowed.unwrap_or_default()) };
        }
        self.guard(layers.guardrail, &mut decision);
        decision
    }

    /// The reason of a finding, or why there is none.
    pub(super) fn sentence(&self, finding: Finding<'_>) -> String {
        match (finding.verdict, finding.reason.is_empty()) {
            (Verdict::Allow, true) => match &self.scan {
                Some((_, scan)) if scan.commands.len() > 1 => "Every command is covered.",
                _ => "Covered.",
            }
            .to_owned(),
            (_, true) => "Nothing allows it.".to_owned(),
            (_, false) => finding.reason.into_owned(),
        }
    }
}

/// The verdict alone; what checks of rules need.
pub(crate) fn verdict(subject: &Subject<'_>, layers: &Layers<'_>, mode: Mode) -> Verdict {
    subject.decide(layers, mode).finding.verdict
}
