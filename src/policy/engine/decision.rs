//! The entry points of the engine.

use serde::Serialize;

use crate::engine::always::{self, Width};
pub use crate::engine::description::Decision;
use crate::engine::evaluation::CallDecision;
use crate::engine::guardrail::{Guardrail, GuardrailHit};
pub use crate::engine::layers::{Layers, Mode};
use crate::engine::part_decision::PartDecision;
use crate::engine::subject::Subject;
use crate::facts::call::Call;
use crate::facts::effects::Effect;
use crate::rules::verdict::Verdict;
use crate::rules::{Rule, Rules};

/// A verdict with its rule and reason, without anything that only a card needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[must_use]
pub struct BriefDecision {
    /// The verdict.
    pub verdict: Verdict,
    /// The rule that decided, with its position.
    pub rule: Option<String>,
    /// That rule itself.
    #[serde(skip)]
    pub deciding_rule: Option<Rule>,
    /// The reason, as a sentence.
    pub reason: String,
    /// The call matches a critical pattern, which always needs a person.
    pub critical: bool,
    /// The scanner read the whole text with certainty; true for tools other than a shell.
    pub understood: bool,
}

/// Decides a call.
pub fn decide(call: &Call, layers: &Layers<'_>, mode: Mode) -> Decision {
    decide_offering(call, layers, mode, |subject| Width::Harmless(subject.dirs))
}

/// Decides a call and offers rules for Always that are as wide as those of other systems.
pub fn decide_offering_families(call: &Call, layers: &Layers<'_>, mode: Mode) -> Decision {
    decide_offering(call, layers, mode, |_| Width::Family)
}

fn decide_offering<'c>(
    call: &'c Call,
    layers: &Layers<'c>,
    mode: Mode,
    width: impl FnOnce(&Subject<'c>) -> Width<'c>,
) -> Decision {
    let subject = Subject::new(call, layers);
    let decision = subject.decide(layers, mode);
    let asks = decision.part.verdict == Verdict::Ask;
    let ((always, always_from), exact) = match asks {
        true => (
            crate::engine::always::offers(&subject, &decision, layers, mode, width(&subject)),
            always::exact(&subject, &decision, layers, mode),
        ),
        false => Default::default(),
    };
    Decision { always, always_from, exact, ..subject.describe(decision) }
}

/// Returns the same verdict, rule and reason without what only a card needs: for re-evaluating many
/// open asks, and for callers that need no card.
pub fn decide_briefly(call: &Call, layers: &Layers<'_>, mode: Mode) -> BriefDecision {
    let subject = Subject::new(call, layers);
    let CallDecision { part, critical, .. } = subject.decide(layers, mode);
    BriefDecision {
        verdict: part.verdict,
        rule: part.rule.map(|entry| String::from(&*entry.label)),
        deciding_rule: part.rule.map(|entry| entry.rule.clone()),
        reason: subject.sentence(part),
        critical: critical.is_some(),
        understood: subject.understood(),
    }
}

/// Returns the verdict of the rules of these layers alone, whatever else holds a call.
pub(crate) fn covered(call: &Call, layers: &Layers<'_>) -> Verdict {
    Subject::new(call, layers).covered(layers)
}

/// Returns the effects of a call.
pub fn effects(call: &Call, layers: &Layers<'_>) -> Vec<Effect> {
    let asked = CallDecision { part: PartDecision::ask(""), critical: None, guarded: false };
    Subject::new(call, layers).describe(asked).effects
}

/// Returns the facts of a call for a profile that decides on its own: what it would run, its
/// effects, whether it is critical. The verdict is an ask until the profile sets another.
pub fn facts(call: &Call) -> Decision {
    let (none, guardrail) = (Rules::default(), Guardrail::default());
    let layers =
        Layers { agent: None, rules: &none, grants: &none, guardrail: &guardrail, now_ms: 0 };
    let subject = Subject::new(call, &layers);
    let decision = subject.decide(&layers, Mode::Default);
    let reason = match &decision.critical {
        Some(found) => found.sentence(),
        None => "No rule allows this (default: ask).".to_owned(),
    };
    subject.describe(CallDecision { part: PartDecision::ask(reason), ..decision })
}

/// Returns the guardrail's decision on a call, whatever else allows it.
pub fn guarded(call: &Call, guardrail: &Guardrail, now_ms: i64) -> Option<GuardrailHit> {
    let none = Rules::default();
    let layers = Layers { agent: None, rules: &none, grants: &none, guardrail, now_ms };
    let subject = Subject::new(call, &layers);
    let reach = subject.reach(guardrail);
    if matches!(reach, Some(GuardrailHit::Denied(_))) || guardrail.denies.is_empty() {
        return reach;
    }
    let behind = subject.behind();
    // Only the operator's denies are evaluated; the profile decides about everything else.
    let denied = subject.vetoes(&layers, &behind).next();
    denied.map(|part| GuardrailHit::Denied(subject.sentence(part))).or(reach)
}

#[cfg(test)]
mod tests {
    use crate::engine::decision::*;

    #[test]
    fn a_critical_call_that_no_rule_names_says_what_is_critical_about_it() {
        let (none, guardrail) = (Rules::default(), Guardrail::default());
        let layers =
            Layers { agent: None, rules: &none, grants: &none, guardrail: &guardrail, now_ms: 0 };
        let reason =
            |command: &str| decide_briefly(&Call::shell(command), &layers, Mode::Default).reason;
        let deletes = "This deletes what it finds in a root, a home or a system directory. It \
                       always needs a person.";
        assert_eq!(reason("find / -delete"), deletes);
        assert_eq!(reason("find -L / -delete"), deletes);
        assert_eq!(reason("make; find / -delete"), deletes);
        assert_eq!(reason("make"), "No rule allows `make` (default: ask).");
    }

    #[test]
    fn a_decision_carries_the_rule_or_grant_that_decided() {
        let make = Rule::allow("shell_exec", "make *");
        let grants_of = |rule: &Rule| Rules::from_grants(std::slice::from_ref(rule));
        let git = Rule { verdict: Verdict::Deny, ..Rule::allow("shell_exec", "git *") };
        let (rules, grants) = (grants_of(&git), grants_of(&make));
        let guardrail = Guardrail::default();
        let layers = Layers {
            agent: None,
            rules: &rules,
            grants: &grants,
            guardrail: &guardrail,
            now_ms: 0,
        };
        for (command, rule) in [("make all", Some(&make)), ("git push", Some(&git)), ("x y", None)]
        {
            let call = Call::shell(command);
            let whole = decide(&call, &layers, Mode::Default);
            let brief = decide_briefly(&call, &layers, Mode::Default);
            assert_eq!(
                (whole.deciding_rule.as_ref(), brief.deciding_rule.as_ref()),
                (rule, rule),
                "{command}"
            );
        }
    }
}
