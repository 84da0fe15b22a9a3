//! What a button remembers: on its label, and in words.

use super::{
    maker::LABEL,
    sheet::{Sheet, fact},
};
use countersign_gate::ask::{Ask, Body, Scope};
use countersign_port::line;
use countersign_profiles::GrantLifetime;

/// The label of a button that remembers something, where it is offered: what covers more than this
/// very call names its rule, and so does Always, where that is short enough.
pub(super) fn label(ask: &Ask, scope: Scope) -> Option<String> {
    let (body, (_, plain, short)) = (&ask.body, NAMES.iter().find(|(it, ..)| *it == scope)?);
    // Remembering only this very call has to be less than what Always remembers.
    let is_less = scope != Scope::Exact || body.exact != body.always;
    if !(body.offers(scope) && is_less) {
        return None;
    }
    // Every text of a file is more than exactly this one.
    let (plain, short) = match scope == Scope::Exact && body.widens(scope) {
        true => (&"Always", &"Always"),
        false => (plain, short),
    };
    let names = scope == Scope::Always || body.widens(scope);
    let pattern = body.pattern(scope).filter(|_| names && !short.is_empty());
    let full = pattern.map(|pattern| format!("{short}: {}", line(&pattern)));
    Some(match full {
        None if short.is_empty() => (*plain).to_owned(),
        None => format!("{short}: this command"),
        Some(full) if full.chars().count() <= LABEL => full,
        Some(_) if scope == Scope::Always => format!("{short}…"),
        Some(_) => format!("{plain}: as named above"),
    })
}

/// Whether Always opens a choice instead of storing at once: its label does not say all that it
/// stores.
pub(super) fn opens(ask: &Ask) -> bool {
    label(ask, Scope::Always).is_some_and(|label| !names_all(&ask.body, Scope::Always, &label))
}

/// Writes what the buttons store, those that store the same together: on the card itself where
/// Always does not say it on its label, the others in the details.
pub(super) fn draw(ask: &Ask, sheet: &mut Sheet, details: &mut Sheet) {
    let until = match ask.body.lasts {
        GrantLifetime::Session => ", until the session ends",
        GrantLifetime::Durable => "",
    };
    let mut stored: Vec<SameRules> = Vec::new();
    for (scope, plain, _) in NAMES {
        let Some(label) = label(ask, *scope) else { continue };
        let rules = ask.body.stores(*scope).into_iter().map(|rule| line(&rule));
        let rules = rules.collect::<Vec<_>>().join(", ");
        let widens = *scope == Scope::Always || ask.body.widens(*scope);
        let named = names_all(&ask.body, *scope, &label);
        let unsaid = widens && !(named && (until.is_empty() || *scope != Scope::Always));
        match stored.iter_mut().find(|it| it.rules == rules) {
            Some(same) => same.buttons.push(plain),
            None => stored.push(SameRules { rules, buttons: vec![plain], unsaid }),
        }
    }
    let mut facts = Vec::new();
    for it in &stored {
        let (who, rules) = (it.who(), format!("{}{until}", it.rules));
        match it.buttons.len() {
            _ if it.unsaid => sheet.note(format!("{who}: {rules}")),
            1 => facts.push(fact(who, &rules)),
            // Several names are too long for that of a fact.
            _ => details.note(format!("{who}: {rules}")),
        }
    }
    details.fields(facts);
}

/// Whether a label says all that its button stores.
fn names_all(body: &Body, scope: Scope, label: &str) -> bool {
    body.is_told_by_pattern(scope)
        && body.pattern(scope).is_some_and(|pattern| label.ends_with(&line(&pattern)))
}

/// Rules, and the buttons that store them.
struct SameRules {
    rules: String,
    buttons: Vec<&'static str>,
    /// Always is among them, and its label does not say them.
    unsaid: bool,
}

impl SameRules {
    fn who(&self) -> String {
        match self.buttons.as_slice() {
            [] => String::new(),
            [one] => format!("{one} stores"),
            [first @ .., last] => format!("{} and {last} store", first.join(", ")),
        }
    }
}

/// What each of them is called, and how that begins on a button that names its rule.
const NAMES: &[(Scope, &str, &str)] = &[
    (Scope::Always, "Always", "Always"),
    (Scope::Timed(600), "10 minutes", "10 min"),
    (Scope::Session, "This session", "Session"),
    (Scope::Timed(86_400), "24 hours", "24 h"),
    (Scope::Prefix, "Always this prefix", ""),
    (Scope::Exact, "Always exactly this", ""),
];
