//! What a button remembers: on its label, and in words.

use super::{
    maker::LABEL,
    sheet::{Sheet, fact},
};
use crate::{
    gate::ask::{Ask, Scope},
    text::line,
};
use countersign_port::Field;
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
    let names = scope == Scope::Always || body.widens(scope);
    let pattern = body.pattern(scope).filter(|_| names && !short.is_empty());
    let full = pattern.map(|pattern| format!("{short}: {}", line(&pattern)));
    let count = || format!("{short}: {} rules", body.remembers(scope).len());
    Some(match full {
        None if short.is_empty() => (*plain).to_owned(),
        None => format!("{short}: this command"),
        Some(full) if full.chars().count() <= LABEL => full,
        Some(_) if body.remembers(scope).len() > 1 => count(),
        Some(_) if scope == Scope::Always => format!("{short}…"),
        Some(_) => format!("{plain}, see below"),
    })
}

/// Writes what the buttons store: Always on the card itself where its label does not say it, the
/// others in the details.
pub(super) fn draw(ask: &Ask, sheet: &mut Sheet, details: &mut Sheet) {
    let (mut facts, body) = (Vec::<Field>::new(), &ask.body);
    let until = match body.lasts {
        GrantLifetime::Session => ", until the session ends",
        GrantLifetime::Durable => "",
    };
    for (scope, plain, _) in NAMES {
        let Some(label) = label(ask, *scope) else { continue };
        let rules = body.stores(*scope).into_iter().map(|rule| line(&rule));
        let rules = rules.collect::<Vec<_>>().join(", ");
        let says = body.pattern(*scope).is_some_and(|it| label.ends_with(&line(&it)))
            && body.remembers(*scope).len() == 1;
        if *scope == Scope::Always && !(says && until.is_empty()) {
            sheet.note(format!("{plain} stores: {rules}{until}"));
        } else {
            facts.push(fact(format!("{plain} stores"), &format!("{rules}{until}")));
        }
    }
    details.fields(facts);
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
