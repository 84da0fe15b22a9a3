//! The bridge's own words on a card: what is critical, what is touched, what a button stores.

use super::{buttons::offers_exact, sheet::Sheet};
use crate::{
    clock,
    gate::ask::{Ask, Scope, Silence},
    text::{excerpt, line},
};
use countersign_port::Excerpt;
use countersign_profiles::GrantLifetime;

/// How many effects are named, the worst first, and how much of each; characters.
const EFFECTS: usize = 8;
const EFFECT: usize = 72;

/// Writes them.
pub(super) fn draw(ask: &Ask, sheet: &mut Sheet) {
    let body = &ask.body;
    if body.critical {
        sheet.note("Critical: it asks every time, whatever the rules say.");
    }
    if let Some(at) = ask.deadline_at.filter(|_| ask.is_open())
        && body.silence == Silence::Approve
    {
        sheet.note(format!("If nobody answers, it is approved at {}.", clock::short(at)));
    }
    if sheet.spells_out() {
        sheet.note("Invisible characters are spelled out, such as \\u{200b}.");
    }
    touches(ask, sheet);
    if ask.is_open() {
        stores(ask, sheet);
    }
    if let Some(problem) = body.rules_problem.as_deref().filter(|_| ask.is_open()) {
        sheet.note(format!("The last good rules are in force: {}", line(problem)));
    }
}

/// What the call touches. What there is no room for is counted, from the mild end.
fn touches(ask: &Ask, sheet: &mut Sheet) {
    let effects = &ask.body.effects;
    if effects.is_empty() {
        return;
    }
    let some: Vec<String> = effects.iter().take(EFFECTS).map(|effect| brief(effect)).collect();
    let mut text = format!("Touches: {}", some.join("; "));
    let more = effects.len().saturating_sub(EFFECTS);
    if more > 0 {
        text.push_str(&format!("; and {more} more, none of them worse"));
    }
    sheet.note(text);
}

/// An effect cut in the open: no long name takes the room of another effect.
fn brief(effect: &str) -> String {
    let Excerpt { head, tail, hidden } = excerpt(&line(effect), EFFECT);
    match tail {
        Some(tail) => format!("{head}… ({hidden} more) …{tail}"),
        None => head,
    }
}

/// What each button that remembers something would store.
fn stores(ask: &Ask, sheet: &mut Sheet) {
    let body = &ask.body;
    let remembering = [
        ("Always", Scope::Always),
        ("This session", Scope::Session),
        ("Always this prefix", Scope::Prefix),
        ("Always exactly this", Scope::Exact),
    ];
    for (button, scope) in remembering {
        let told = match scope {
            // What Always stores stands there already.
            Scope::Session => body.offers(scope) && !body.offers(Scope::Always),
            Scope::Exact => offers_exact(ask),
            _ => body.offers(scope),
        };
        if told {
            let rules = body.stores(scope).into_iter().map(|rule| line(&rule));
            let until = match body.lasts {
                GrantLifetime::Session => ", until the session ends",
                GrantLifetime::Durable => "",
            };
            let rules = rules.collect::<Vec<_>>().join(", ");
            sheet.note(format!("{button} stores: {rules}{until}"));
        }
    }
}
