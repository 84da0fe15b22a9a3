//! Evaluates the layers of rules for a call: the strictest of all its parts.

use crate::engine::commands::Judge;
use crate::engine::critical::{self, CriticalMatch};
use crate::engine::layers::{Layers, Mode};
use crate::engine::part_decision::PartDecision;
use crate::engine::stack::Stack;
use crate::engine::subject::Subject;
use crate::engine::{files, own_calls};
use crate::facts::tools::Kind;
use crate::facts::wrappers::Unwrapped;
use crate::facts::{arguments, paths, shorten};
use crate::rules::Rules;
use crate::rules::verdict::Verdict;

/// The decision on a whole call.
pub(crate) struct CallDecision<'r> {
    pub(crate) part: PartDecision<'r>,
    pub(crate) critical: Option<CriticalMatch>,
    /// A rule denies or asks for some calls of the tool.
    pub(super) guarded: bool,
}

impl<'c> Subject<'c> {
    /// Evaluates the rules, before the agent's mode and the guardrail.
    pub(super) fn evaluate<'r>(&self, layers: &Layers<'r>, mode: Mode) -> CallDecision<'r> {
        let behind = self.behind();
        let critical = match &self.scan {
            Some((_, scan)) => critical::among(scan, &behind)
                .or_else(|| self.own.iter().find_map(|call| call.critical())),
            None => {
                let call = self.call;
                files::critical(call.kind(), &self.values, &call.resolved, self.dirs)
            }
        };
        let own = [layers.rules, layers.grants];
        let with_agent = layers.agent.map(|agent| [agent, layers.rules, layers.grants]);
        let all: &[&'r Rules] = with_agent.as_ref().map_or(&own, |all| all);
        let (part, guarded) = self.weigh(all, layers, &behind);
        let part = self
            .vetoes(layers, &behind)
            .fold(part, |part, veto| if veto.verdict > part.verdict { veto } else { part });
        let part = own_calls::hold(&self.own, self.dirs, part);
        // Each check below can turn an allow into an ask; a deny always stays.
        let part = match &critical {
            Some(found) if part.verdict == Verdict::Allow => PartDecision::ask(found.sentence()),
            // That no rule allows it tells a person nothing about the danger.
            Some(found) if part.by_default => {
                PartDecision { reason: found.sentence().into(), by_default: false, ..part }
            }
            _ => part,
        };
        let part = match self.reads_through_a_link(all) {
            Some(path) if part.verdict == Verdict::Allow => PartDecision::ask(format!(
                "{} is a link to a secret or out of the project folder.",
                shorten(path, 80)
            )),
            _ => part,
        };
        let part = match arguments::odd(self.call) {
            Some(odd) if part.verdict != Verdict::Deny => {
                PartDecision { rule: part.rule, ..PartDecision::blind(odd) }
            }
            _ => part,
        };
        let mut decision = CallDecision { part, critical, guarded };
        self.questions_ask(&mut decision);
        // Last, so that the reason can name the ask that was lifted.
        if mode == Mode::Yolo {
            self.loosen(&mut decision);
        }
        decision
    }

    /// Iterates over the denies of the operator and of the agent's own rules. Each layer is
    /// evaluated alone, so that nothing lifts its denies.
    pub(super) fn vetoes<'r>(
        &self,
        layers: &Layers<'r>,
        behind: &[Option<Unwrapped<'_, '_>>],
    ) -> impl Iterator<Item = PartDecision<'r>> {
        let operator = Some(&layers.guardrail.denies).filter(|denies| !denies.is_empty());
        operator.into_iter().chain(layers.agent).filter_map(|alone| {
            let (part, _) = self.weigh(&[alone], layers, behind);
            (part.verdict == Verdict::Deny).then_some(part)
        })
    }

    /// Returns a path of a shell text that is in the project but leads out of it, when rules allow
    /// reading there. The paths of other tools are among their values.
    fn reads_through_a_link(&self, all: &[&Rules]) -> Option<&'c str> {
        self.scan.as_ref().filter(|_| all.iter().any(|rules| rules.allows_reading()))?;
        let cwd = self.dirs.cwd?;
        let real = self.call.links.places(cwd);
        self.call.links.leaving(|path| {
            // The working directory may itself be a link; both spellings are inside.
            let inside = !paths::outside(path, self.dirs)
                || real.iter().any(|real| paths::within(path, real));
            inside && !paths::secret(path, self.dirs)
        })
    }

    // INVARIANT: no rule answers a question for a person.
    fn questions_ask(&self, decision: &mut CallDecision<'_>) {
        if self.call.kind() == Kind::Question && decision.part.verdict == Verdict::Allow {
            decision.part = PartDecision::ask("A question is answered by a person.");
        }
    }

    fn loosen(&self, decision: &mut CallDecision<'_>) {
        // Yolo lifts asks, but not an ask for a text that nobody could read while some rule guards
        // a part of the tool: it may hide just that part.
        let unread = decision.part.blind && decision.guarded;
        if decision.part.verdict == Verdict::Ask && self.call.kind() != Kind::Question && !unread {
            let asked = &decision.part;
            let reason = format!("Allowed by yolo mode; otherwise: {}", asked.reason).into();
            decision.part = PartDecision { reason, ..PartDecision::allow(asked.rule) };
        }
    }

    /// Returns the verdict of the rules alone: a critical call is covered by a rule, too.
    pub(super) fn covered(&self, layers: &Layers<'_>) -> Verdict {
        let (part, _) = self.weigh(&[layers.rules], layers, &self.behind());
        let part = own_calls::hold(&self.own, self.dirs, part);
        match arguments::odd(self.call) {
            Some(_) => part.verdict.max(Verdict::Ask),
            None => part.verdict,
        }
    }

    /// Returns the decision of a set of layers, and whether its rules guard some calls of the tool.
    fn weigh<'r>(
        &self,
        all: &[&'r Rules],
        layers: &Layers<'r>,
        behind: &[Option<Unwrapped<'_, '_>>],
    ) -> (PartDecision<'r>, bool) {
        let (now_ms, own) = (layers.now_ms, layers.rules.programs());
        let stack = Stack::new(&self.call.tool, self.call.canonical_tool(), now_ms, all);
        let stack = stack.with_own(own);
        let guarded = stack.guarded();
        let part = match &self.scan {
            Some((text, scan)) => {
                let judge = Judge::new(stack, all, now_ms, self.dirs, &self.call.links);
                judge.text(text, scan, behind)
            }
            None => self.values(&stack),
        };
        (part, guarded)
    }
}
