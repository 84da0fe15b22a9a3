//! The decision on a part of a call, and its sentence.

use std::borrow::Cow;

use crate::engine::stack::Hit;
use crate::facts::shorten;
use crate::rules::RuleEntry;
use crate::rules::verdict::Verdict;
use crate::shell::Word;

/// A verdict on a part of a call.
#[derive(Clone, Debug)]
pub(crate) struct PartDecision<'r> {
    pub(crate) verdict: Verdict,
    pub(crate) rule: Option<&'r RuleEntry>,
    /// A sentence; empty for an allow.
    pub(crate) reason: Cow<'static, str>,
    /// The ask is due to something that could not be read.
    pub(crate) blind: bool,
    /// Nothing but the default asks, so that any other reason says more.
    pub(crate) by_default: bool,
}

impl<'r> PartDecision<'r> {
    pub(crate) fn allow(rule: Option<&'r RuleEntry>) -> Self {
        Self { verdict: Verdict::Allow, rule, ..Self::ask("") }
    }

    pub(crate) fn ask(reason: impl Into<Cow<'static, str>>) -> Self {
        Self {
            verdict: Verdict::Ask,
            rule: None,
            reason: reason.into(),
            blind: false,
            by_default: false,
        }
    }

    pub(crate) fn blind(reason: impl Into<Cow<'static, str>>) -> Self {
        Self { blind: true, ..Self::ask(reason) }
    }

    pub(crate) fn deny(reason: impl Into<Cow<'static, str>>) -> Self {
        Self { verdict: Verdict::Deny, ..Self::ask(reason) }
    }

    /// Creates the decision of the winning rule about `subject`.
    pub(crate) fn of(hit: Hit<'r>, subject: impl FnOnce() -> String) -> Self {
        let reason = match (hit.verdict, hit.entry, hit.maybe) {
            (Verdict::Allow, entry, _) => return Self::allow(entry),
            (Verdict::Ask, _, Some(maybe)) => {
                let known = ": one of its words is only known when it runs.";
                ["The rule ", &maybe.label, " may ask for ", &subject(), known].concat()
            }
            (Verdict::Ask, Some(entry), None) if !entry.pattern.is_all() => {
                ["The rule ", &entry.label, " asks for ", &subject(), "."].concat()
            }
            // A rule for everything is the default of its file; the card names it in its details.
            (Verdict::Ask, ..) => ["No rule allows ", &subject(), " (default: ask)."].concat(),
            (Verdict::Deny, Some(entry), _) => {
                ["The rule ", &entry.label, " denies ", &subject(), "."].concat()
            }
            (Verdict::Deny, None, _) => {
                ["No rule allows ", &subject(), " (default: deny)."].concat()
            }
        };
        // An ask names the rule that may match, because that is what the person has to judge.
        let rule = match hit.verdict {
            Verdict::Ask => hit.maybe.or(hit.entry),
            _ => hit.entry,
        };
        let named = hit.maybe.is_some() || hit.entry.is_some_and(|it| !it.pattern.is_all());
        let by_default = hit.verdict == Verdict::Ask && !named;
        Self { verdict: hit.verdict, rule, by_default, ..Self::ask(reason) }
    }

    /// Returns the stricter of the two, the first when they are equal.
    pub(crate) fn max(self, other: Self) -> Self {
        // Kept from either: yolo must not lift an ask whose other half could not be read.
        let blind = self.blind || other.blind;
        let worse = if other.verdict > self.verdict { other } else { self };
        Self { blind, ..worse }
    }
}

/// Quotes a command in a sentence: its words, shortened to fit.
pub(crate) fn quote(argv: &[Word<'_>]) -> String {
    const MOST: usize = 60;
    let mut text = String::with_capacity(MOST * 2);
    text.push('`');
    for (at, word) in argv.iter().enumerate() {
        if at > 0 {
            text.push(' ');
        }
        text.push_str(&word.text);
        if text.len() > MOST {
            break;
        }
    }
    if text.len() > MOST || text.contains('\n') {
        text = shorten(&text, MOST);
    }
    text.push('`');
    text
}
