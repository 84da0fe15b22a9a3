//! The guardrail over a decision.

use crate::engine::evaluation::CallDecision;
use crate::engine::guardrail::{Guardrail, Reach};
use crate::engine::part_decision::PartDecision;
use crate::engine::subject::Subject;
use crate::rules::verdict::Verdict;

impl Subject<'_> {
    // INVARIANT: last of all, so that no rule, grant or mode lifts it.
    pub(super) fn guard(&self, guardrail: &Guardrail, decision: &mut CallDecision<'_>) {
        match self.reach(guardrail) {
            Some(Reach::Denied(reason)) if decision.part.verdict != Verdict::Deny => {
                decision.part = PartDecision::deny(reason);
            }
            Some(Reach::Asks(reason)) if decision.part.verdict == Verdict::Allow => {
                decision.part = PartDecision::ask(reason);
            }
            _ => {}
        }
    }

    /// What of the bridge's own the call reaches.
    pub(super) fn reach(&self, guardrail: &Guardrail) -> Option<Reach> {
        let scan = self.scan.as_ref().map(|(text, scan)| (*text, scan));
        guardrail.reach(self.call, scan, self.dirs).or_else(|| {
            // FAIL-CLOSED: a deny for the file behind it may be walked around.
            self.call.links.doubt().map(|why| Reach::Asks(why.to_owned()))
        })
    }
}
