//! What a button remembers: on its label, in words, and as a choice of rules. The choice is a
//! further step of an open card, which holds no state.

use crate::{
    card::{
        Origin, Sheet,
        buttons::{LABEL, Maker},
        fact,
    },
    token::{MOST_PARTS, Pressed},
};
use countersign_domain::GrantLifetime;
use countersign_gate::ask::{Ask, Body, Scope};
use countersign_port::{Block, Button, ButtonStyle, Card, line};

/// The label of a button that remembers something, where it is offered: what covers more than this
/// very call names its rule, and so does Always, where that is short enough.
pub(super) fn label(ask: &Ask, scope: Scope) -> Option<String> {
    let body = &ask.body;
    let name = scope.name();
    // Remembering only this very call has to be less than what Always remembers.
    let is_less = scope != Scope::Exact || body.exact != body.always;
    if !(body.offers(scope) && is_less) {
        return None;
    }
    // What is remembered of a file or an address is more than exactly this.
    let opens = scope == Scope::Exact && body.widens(scope);
    let name = if opens { Scope::Always.name() } else { name };
    let is_whole = scope == Scope::Prefix || scope == Scope::Exact && !opens;
    let names = scope == Scope::Always || body.widens(scope);
    let pattern = body.pattern(scope).filter(|_| names && !is_whole);
    let full = pattern.map(|pattern| format!("{name}: {}", line(&pattern)));
    Some(match full {
        None if is_whole => name,
        None => format!("{name}: this command"),
        Some(full) if full.chars().count() <= LABEL => full,
        Some(_) if scope == Scope::Always => format!("{name}…"),
        Some(_) => format!("{name}: as named above"),
    })
}

/// Whether Always opens a choice instead of storing at once: its label does not say all that it
/// stores.
pub(super) fn opens_choice(ask: &Ask) -> bool {
    label(ask, Scope::Always).is_some_and(|label| !names_all(&ask.body, Scope::Always, &label))
}

/// Writes what the buttons store, those that store the same together: on the card itself where
/// Always does not say it on its label, the others in the details.
pub(super) fn draw_stored(ask: &Ask, sheet: &mut Sheet, details: &mut Sheet) {
    let until = match ask.body.lasts {
        GrantLifetime::Session => ", until the session ends",
        GrantLifetime::Durable => "",
    };
    let mut stored: Vec<SameRules> = Vec::new();
    for scope in REMEMBER {
        let Some(label) = label(ask, *scope) else { continue };
        let name = scope.name();
        let rules = ask.body.stores(*scope).into_iter().map(|rule| line(&rule));
        let rules = rules.collect::<Vec<_>>().join(", ");
        let widens = *scope == Scope::Always || ask.body.widens(*scope);
        let named = names_all(&ask.body, *scope, &label) || is_this_command(&ask.body, *scope);
        let unsaid = widens && !(named && (until.is_empty() || *scope != Scope::Always));
        match stored.iter_mut().find(|it| it.rules == rules) {
            Some(same) => {
                same.buttons.push(name);
                same.named &= named;
            }
            None => stored.push(SameRules { rules, buttons: vec![name], unsaid, named }),
        }
    }
    let mut facts = Vec::new();
    for it in &stored {
        let who = it.who();
        let rules = format!("{}{until}", it.rules);
        match it.buttons.len() {
            // Their labels say it, and nothing twice.
            _ if it.named && until.is_empty() => {}
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

/// Whether what is remembered is just the command of the card, as the labels say; *Always…* shows it
/// in its choice.
fn is_this_command(body: &Body, scope: Scope) -> bool {
    !body.widens(scope) && body.stores(scope).len() == 1
}

/// Rules, and the buttons that store them.
struct SameRules {
    rules: String,
    buttons: Vec<String>,
    /// Always is among them, and its label does not say them.
    unsaid: bool,
    /// The label of each says them.
    named: bool,
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

/// What buttons remember, in the order in which a card names it.
const REMEMBER: &[Scope] = &[
    Scope::Always,
    Scope::Timed(600),
    Scope::Session,
    Scope::Timed(86_400),
    Scope::Prefix,
    Scope::Exact,
];

/// All of its rules, as a choice has them.
pub(super) fn all_parts(body: &Body) -> u32 {
    body.always.iter().take(MOST_PARTS).enumerate().fold(0, |mask, (at, _)| mask | 1 << at)
}

/// The card with the choice in place of its buttons.
pub(super) fn draw_choice(card: Card, ask: &Ask, origin: Origin<'_>, mask: u32) -> Card {
    let body = &ask.body;
    let mask = mask & all_parts(body);
    let maker = Maker { origin, step: 0 };
    // Other systems' Always is one rule set, of which nothing can be left out.
    let whole = body.always_from.is_empty() || body.always.len() > MOST_PARTS;
    let chosen = |at: usize| whole || mask & 1 << at != 0;
    let mut notes = vec!["Always stores what is marked, and nothing else:".to_owned()];
    for (at, part) in body.parts().enumerate() {
        let mark = if chosen(at) { "✓" } else { "–" };
        let from = match part.from {
            "" => String::new(),
            from => format!(", for {}", line(from)),
        };
        notes.push(format!("{mark} {} {}{from}", at + 1, line(&part.rule.to_string())));
    }
    let toggles = body.parts().take(MOST_PARTS).enumerate();
    let toggles = toggles.filter(|_| !whole && body.always.len() > 1);
    let toggles: Vec<_> = toggles
        .filter_map(|(at, part)| {
            let (mark, style) =
                if chosen(at) { ("", ButtonStyle::Chosen) } else { ("– ", ButtonStyle::Choice) };
            let rule = line(&part.rule.pattern);
            let label: String = format!("{mark}{} {rule}", at + 1).chars().take(LABEL).collect();
            maker.button(&label, style, Pressed::ChooseParts(mask ^ 1 << at))
        })
        .collect();
    let per_row = toggles.len().div_ceil(4).max(1);
    let mut buttons: Vec<_> = toggles.chunks(per_row).map(<[Button]>::to_vec).collect();
    let (count, stores) = if whole {
        (body.always.len(), Pressed::Approve(Scope::Always))
    } else {
        (mask.count_ones() as usize, Pressed::StoreParts(mask))
    };
    let store = match count {
        0 => "Store none, approve once".to_owned(),
        1 => "Store this 1 rule".to_owned(),
        many => format!("Store these {many} rules"),
    };
    let last = [
        maker.button(&store, ButtonStyle::Always, stores),
        maker.button("Back", ButtonStyle::Choice, Pressed::Back),
    ];
    buttons.push(last.into_iter().flatten().collect());
    let mut blocks = card.blocks;
    blocks.extend(notes.into_iter().map(|text| Block::Note { text }));
    Card { blocks, buttons, more: Vec::new(), ..card }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use crate::{card, token::ButtonToken};
    use countersign_gate::call::Call;
    use countersign_policy::Rule;
    use serde_json::json;

    const ORIGIN: Origin<'static> = Origin { nonce: "k3J9sQ0aZ_-b4LmX7yTn2w", store: "k8xd8s4n" };

    fn ask(rules: &[(&str, &str)]) -> Ask {
        let call: Call = serde_json::from_value(json!({"agent": "a", "session": "s",
        "tool": "Bash", "args": {"command": "cd x && cargo test && git add -A"}}))
        .unwrap();
        let mut body = Body::new(call.spell_out().unwrap(), "no rule");
        for (rule, from) in rules {
            body.always.push(Rule::allow("shell_exec", *rule));
            body.always_from.push((*from).to_owned());
        }
        Ask::opened("a1", body.call.digest(), body, 0)
    }

    fn labels(card: &Card) -> Vec<&str> {
        card.buttons.iter().flatten().map(|button| button.label.as_str()).collect()
    }

    fn pressed(card: &Card, label: &str) -> Pressed {
        let button = card.buttons.iter().flatten().find(|button| button.label == label).unwrap();
        ButtonToken::read(&button.token).unwrap().pressed
    }

    #[test]
    fn always_for_several_commands_lists_its_rules_and_each_can_be_left_out() {
        let ask = ask(&[("cargo test *", "cargo test"), ("git add -A", "git add -A")]);
        assert!(opens_choice(&ask));
        let whole = card::choice(&ask, ORIGIN, all_parts(&ask.body));
        assert_eq!(
            labels(&whole),
            ["1 cargo test *", "2 git add -A", "Store these 2 rules", "Back"]
        );
        assert_eq!(pressed(&whole, "1 cargo test *"), Pressed::ChooseParts(0b10));
        let fewer = card::choice(&ask, ORIGIN, 0b10);
        assert_eq!(
            labels(&fewer),
            ["– 1 cargo test *", "2 git add -A", "Store this 1 rule", "Back"]
        );
        assert_eq!(pressed(&fewer, "Store this 1 rule"), Pressed::StoreParts(0b10));
        let note = |block: &Block| match block {
            Block::Note { text } => Some(text.clone()),
            _ => None,
        };
        let notes: Vec<_> = fewer.blocks.iter().filter_map(note).collect();
        assert!(notes.contains(&"– 1 shell: cargo test *, for cargo test".to_owned()), "{notes:?}");
        let none = card::choice(&ask, ORIGIN, 0);
        assert_eq!(pressed(&none, "Store none, approve once"), Pressed::StoreParts(0));
    }

    #[test]
    fn one_short_rule_needs_no_choice_and_a_long_one_is_read_first() {
        assert!(!opens_choice(&ask(&[("cargo build *", "cargo build x")])));
        let long = "cargo test --package one-with-a-long-name --lib";
        let ask = ask(&[(long, long)]);
        assert!(opens_choice(&ask));
        assert_eq!(labels(&card::choice(&ask, ORIGIN, 1)), ["Store this 1 rule", "Back"]);
    }

    #[test]
    fn a_choice_of_as_many_rules_as_fit_keeps_the_limits_of_a_card() {
        let rules: Vec<_> = (0..MOST_PARTS).map(|at| format!("program{at} *")).collect();
        let rules: Vec<_> = rules.iter().map(|rule| (rule.as_str(), "x")).collect();
        let card = card::choice(&ask(&rules), ORIGIN, u32::MAX);
        assert!(card.buttons.len() <= 5 && card.buttons.iter().all(|row| row.len() <= 5));
        assert_eq!(card.buttons.iter().flatten().count(), MOST_PARTS + 2);
    }
}
