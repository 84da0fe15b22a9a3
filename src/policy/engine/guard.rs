//! Applies the guardrail to a decision.

use crate::engine::evaluation::CallDecision;
use crate::engine::guardrail::{Guardrail, GuardrailHit};
use crate::engine::part_decision::PartDecision;
use crate::engine::subject::Subject;
use crate::rules::verdict::Verdict;

impl Subject<'_> {
    // INVARIANT: applied last, so that no rule, grant or mode lifts it.
    pub(super) fn guard(&self, guardrail: &Guardrail, decision: &mut CallDecision<'_>) {
        match self.reach(guardrail) {
            Some(GuardrailHit::Denied(reason)) if decision.part.verdict != Verdict::Deny => {
                decision.part = PartDecision::deny(reason);
            }
            Some(GuardrailHit::Asks(reason)) if decision.part.verdict == Verdict::Allow => {
                decision.part = PartDecision::ask(reason);
            }
            _ => {}
        }
    }

    /// Returns what the guardrail finds in the call.
    pub(super) fn reach(&self, guardrail: &Guardrail) -> Option<GuardrailHit> {
        let scan = self.scan.as_ref().map(|(text, scan)| (*text, scan));
        guardrail.reach(self.call, scan, self.dirs).or_else(|| {
            // FAIL-CLOSED: a link may lead around a deny for the file behind it.
            self.call.links.doubt().map(|why| GuardrailHit::Asks(why.to_owned()))
        })
    }
}
