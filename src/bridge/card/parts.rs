//! The choice of the rules that Always stores: a further step of an open card, which holds no
//! state.

use super::{
    super::token::{MOST_PARTS, Pressed},
    maker::{LABEL, Maker},
    origin::Origin,
};
use countersign_gate::ask::{Ask, Body, Scope};
use countersign_port::{Block, Button, ButtonStyle, Card, line};

/// All of its rules, as a choice has them.
pub(super) fn all(body: &Body) -> u32 {
    body.always.iter().take(MOST_PARTS).enumerate().fold(0, |mask, (at, _)| mask | 1 << at)
}

/// The card with the choice in place of its buttons.
pub(super) fn draw(card: Card, ask: &Ask, origin: Origin<'_>, mask: u32) -> Card {
    let body = &ask.body;
    let mask = mask & all(body);
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
            let (mark, style) = match chosen(at) {
                true => ("", ButtonStyle::Chosen),
                false => ("– ", ButtonStyle::Choice),
            };
            let rule = line(&part.rule.pattern);
            let label: String = format!("{mark}{} {rule}", at + 1).chars().take(LABEL).collect();
            maker.button(&label, style, Pressed::ChooseParts(mask ^ 1 << at))
        })
        .collect();
    let per_row = toggles.len().div_ceil(4).max(1);
    let mut buttons: Vec<_> = toggles.chunks(per_row).map(<[Button]>::to_vec).collect();
    let (count, stores) = match whole {
        true => (body.always.len(), Pressed::Approve(Scope::Always)),
        false => (mask.count_ones() as usize, Pressed::StoreParts(mask)),
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
    use crate::{
        card::{self, remembered::opens},
        token::ButtonToken,
    };
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
        assert!(opens(&ask));
        let whole = card::choice(&ask, ORIGIN, all(&ask.body));
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
        assert!(!opens(&ask(&[("cargo build *", "cargo build x")])));
        let long = "cargo test --package one-with-a-long-name --lib";
        let ask = ask(&[(long, long)]);
        assert!(opens(&ask));
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
