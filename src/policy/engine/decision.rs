//! The ways into the engine.

use serde::Serialize;

use crate::engine::always;
pub use crate::engine::description::Decision;
use crate::engine::evaluation::CallDecision;
use crate::engine::guardrail::{Guardrail, Reach};
pub use crate::engine::layers::{Layers, Mode};
use crate::engine::part_decision::PartDecision;
use crate::engine::subject::Subject;
use crate::facts::call::Call;
use crate::facts::effects::Effect;
use crate::rules::Rules;
use crate::rules::verdict::Verdict;

/// A verdict with the rule and the reason behind it, and nothing for a card.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[must_use]
pub struct BriefDecision {
    /// What happens to the call.
    pub verdict: Verdict,
    /// The rule that decided, with its place.
    pub rule: Option<String>,
    /// Why, as a sentence.
    pub reason: String,
    /// One of the patterns that always want a person.
    pub critical: bool,
    /// The scanner read the whole text with certainty; true for tools that are no shell.
    pub understood: bool,
}

/// Rules on a call.
pub fn decide(call: &Call, layers: &Layers<'_>, mode: Mode) -> Decision {
    let subject = Subject::new(call, layers);
    let decision = subject.decide(layers, mode);
    let asks = decision.part.verdict == Verdict::Ask;
    let (always, exact) = match asks {
        true => (
            always::offers(&subject, &decision, layers, mode),
            always::exact(&subject, &decision, layers, mode),
        ),
        false => (Vec::new(), Vec::new()),
    };
    Decision { always, exact, ..subject.describe(decision) }
}

/// The same verdict, rule and reason without what only a card needs: for a cascade over many open
/// asks, and for whoever only wants to know.
pub fn decide_briefly(call: &Call, layers: &Layers<'_>, mode: Mode) -> BriefDecision {
    let subject = Subject::new(call, layers);
    let CallDecision { part, critical, .. } = subject.decide(layers, mode);
    BriefDecision {
        verdict: part.verdict,
        rule: part.rule.map(|entry| String::from(&*entry.label)),
        reason: subject.sentence(part),
        critical: critical.is_some(),
        understood: subject.understood(),
    }
}

/// What a call touches.
pub fn effects(call: &Call, layers: &Layers<'_>) -> Vec<Effect> {
    let asked = CallDecision { part: PartDecision::ask(""), critical: None, guarded: false };
    Subject::new(call, layers).describe(asked).effects
}

/// A call's own facts for a profile that rules by itself: what it would run, what it touches,
/// whether it is critical. It is an ask until the profile says otherwise.
pub fn facts(call: &Call) -> Decision {
    let (none, guardrail) = (Rules::default(), Guardrail::default());
    let layers =
        Layers { agent: None, rules: &none, grants: &none, guardrail: &guardrail, now_ms: 0 };
    let subject = Subject::new(call, &layers);
    let decision = subject.decide(&layers, Mode::Default);
    let reason = match &decision.critical {
        Some(found) => format!("This {}; that always wants a person.", found.reason),
        None => "Nothing allows it.".to_owned(),
    };
    subject.describe(CallDecision { part: PartDecision::ask(reason), ..decision })
}

/// What the guardrail says of a call, whatever else allows it.
pub fn guarded(call: &Call, guardrail: &Guardrail, now_ms: i64) -> Option<Reach> {
    let none = Rules::default();
    let layers = Layers { agent: None, rules: &none, grants: &none, guardrail, now_ms };
    let subject = Subject::new(call, &layers);
    let reach = subject.reach(guardrail);
    if matches!(reach, Some(Reach::Denied(_))) || guardrail.denies.is_empty() {
        return reach;
    }
    let behind = subject.behind();
    let denied = subject.vetoes(&layers, &behind).next();
    denied.map(|part| Reach::Denied(subject.sentence(part))).or(reach)
}
