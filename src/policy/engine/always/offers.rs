//! Which rules are offered: the first that cover the call.

use crate::engine::always::most::MOST_RULES;
use crate::engine::always::patterns::Width;
use crate::engine::always::text::{exact_commands, of_text};
use crate::engine::always::values::of_values;
use crate::engine::deciding::verdict;
use crate::engine::evaluation::CallDecision;
use crate::engine::layers::{Layers, Mode};
use crate::engine::subject::Subject;
use crate::facts::tools::Kind;
use crate::facts::{reads, tool_name};
use crate::glob::escape;
use crate::rules::Rule;
use crate::rules::verdict::Verdict;

/// The rules to store for a call that asks, and the part of the call that each comes from; empty
/// when Always must not be offered.
// INVARIANT: with the offered rules granted the same call is allowed, and nothing critical is.
pub(crate) fn offers(
    subject: &Subject<'_>,
    decision: &CallDecision<'_>,
    layers: &Layers<'_>,
    mode: Mode,
    width: Width<'_>,
) -> (Vec<Rule>, Vec<String>) {
    if !may_last(subject, decision) {
        return Default::default();
    }
    let (rules, parts) = match (&subject.scan, subject.call.kind()) {
        (_, Kind::Question) => return Default::default(),
        (Some((_, scan)), _) => {
            let parts = of_text(subject, scan, layers, mode, width);
            parts.unwrap_or_default().into_iter().unzip()
        }
        (None, _) => (of_values(subject, width).unwrap_or_default(), Vec::new()),
    };
    if covers(subject, &rules, layers, mode) { (rules, parts) } else { Default::default() }
}

/// The rules that "always, exactly this" would store: the same words and no others.
// INVARIANT: as for `offers`.
pub(crate) fn exact(
    subject: &Subject<'_>,
    decision: &CallDecision<'_>,
    layers: &Layers<'_>,
    mode: Mode,
) -> Vec<Rule> {
    if !may_last(subject, decision) {
        return Vec::new();
    }
    let kind = subject.call.kind();
    let candidates = match &subject.scan {
        _ if kind == Kind::Question => return Vec::new(),
        Some((text, scan)) => {
            let whole = vec![Rule::allow("shell_exec", escape(text.trim()))];
            let each = exact_commands(scan);
            // Rules for each of several commands would cover them in any order, and fed by others.
            match scan.commands.len() {
                0 | 1 => each.into_iter().chain([whole]).collect(),
                _ => [whole].into_iter().chain(each).collect(),
            }
        }
        None if kind == Kind::Fetch => {
            let values = &subject.values.list;
            if values.len() > MOST_RULES {
                return Vec::new();
            }
            vec![values.iter().map(|url| Rule::allow("web_fetch", escape(&url.text))).collect()]
        }
        None if matches!(kind, Kind::Read | Kind::Write | Kind::Edit | Kind::Skill) => {
            Vec::from_iter(of_values(subject, Width::Family))
        }
        None => return Vec::new(),
    };
    let known = subject.scan.as_ref().is_none_or(|(_, scan)| {
        scan.understood()
            && scan.commands.iter().flat_map(|c| &c.argv).all(|word| word.literal().is_some())
    });
    first_to_cover(candidates.into_iter().filter(|_| known), subject, layers, mode)
}

/// Neither what is critical, nor what could not be read, nor a tool whose name no rule can hold is
/// allowed for longer than once.
fn may_last(subject: &Subject<'_>, decision: &CallDecision<'_>) -> bool {
    decision.critical.is_none()
        && !decision.part.blind
        && tool_name::may_be_granted(&subject.call.tool)
}

/// The first of the candidates with which the call is allowed.
fn first_to_cover(
    candidates: impl IntoIterator<Item = Vec<Rule>>,
    subject: &Subject<'_>,
    layers: &Layers<'_>,
    mode: Mode,
) -> Vec<Rule> {
    let mut candidates = candidates.into_iter();
    candidates.find(|rules| covers(subject, rules, layers, mode)).unwrap_or_default()
}

/// True when the call is allowed once these rules are granted.
fn covers(subject: &Subject<'_>, rules: &[Rule], layers: &Layers<'_>, mode: Mode) -> bool {
    // A file by the name of the class would be read as the class.
    if rules.is_empty() || rules.iter().any(|rule| rule.pattern == reads::CLASS) {
        return false;
    }
    let granted = layers.grants.clone().with_grants(rules);
    verdict(subject, &Layers { grants: &granted, ..*layers }, mode) == Verdict::Allow
}
