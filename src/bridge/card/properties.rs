//! What must hold for the card of any call that is taken.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

#[path = "../../../tests/support/bodies.rs"]
mod made;

use super::*;
use crate::card::terminal;
use countersign_gate::{ask::Body, question::QuestionAnswer};
use countersign_policy::Rule;
use countersign_port::{Block, Field, visible};
use made::body;
use proptest::prelude::*;
use serde_json::Value;

/// The ask of a call, where it is taken.
fn taken(body: &Value) -> Option<Ask> {
    let call: Call = serde_json::from_value(body.clone()).ok()?;
    let call = call.spell_out().ok()?;
    call.check().ok()?;
    let words = [call.args.to_string(), call.tool.clone()];
    let digest = call.digest();
    let body = Body {
        always: vec![Rule::allow(&call.tool, words[0].as_str())],
        effects: words.iter().cycle().take(20).cloned().collect(),
        prompt: words.into(),
        critical: true,
        ..Body::new(call, body.to_string())
    };
    let opened = Ask::opened("k8xd8s4n", digest, body, 0);
    Some(Ask { attended: true, deadline_at: Some(300_000), ..opened })
}

fn texts(card: &Card) -> Vec<&str> {
    let mut texts = vec![card.title.as_str(), card.worst.as_str(), card.origin.as_str()];
    card.blocks.iter().for_each(|block| gather(block, &mut texts));
    let buttons = card.buttons.iter().flatten().chain(&card.more);
    texts.extend(buttons.map(|button| button.label.as_str()));
    texts
}

fn gather<'a>(block: &'a Block, texts: &mut Vec<&'a str>) {
    match block {
        Block::Code { label, text, .. } | Block::Quote { label, text } => {
            texts.extend([&**label, text])
        }
        Block::Diff { path, lines, .. } => {
            texts.push(path);
            texts.extend(lines.iter().map(|line| &*line.text));
        }
        Block::Fields { fields } => {
            texts.extend(fields.iter().flat_map(|Field { name, value }| [&**name, value]));
        }
        Block::Details { blocks } => blocks.iter().for_each(|block| gather(block, texts)),
        Block::Note { text } | Block::Outcome { text } => texts.push(text),
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_card_of_any_call_that_is_taken_keeps_the_contract(body in body()) {
        let Some(mut ask) = taken(&body) else { return Ok(()) };
        for _ in 0..=ask.body.call.questions.len() {
            let card = draw(&ask, Origin { nonce: "k3J9sQ0aZ_-b4LmX7yTn2w", store: "0wn5t0re" });
            for text in texts(&card) {
                prop_assert_eq!(visible(text), text);
            }
            let lines = card.blocks.iter().filter(|block| match block {
                Block::Note { text } | Block::Outcome { text } => text.contains('\n'),
                _ => false,
            });
            prop_assert_eq!(lines.count() + card.title.matches('\n').count(), 0);
            let rows = 5 - usize::from(!card.more.is_empty());
            prop_assert!(card.buttons.len() <= rows);
            prop_assert!(card.buttons.iter().all(|row| row.len() <= 5));
            prop_assert!(card.more.len() <= 24 && card.title.chars().count() <= 220);
            for button in card.buttons.iter().flatten().chain(&card.more) {
                prop_assert!(!button.label.trim().is_empty());
                prop_assert!(button.label.chars().count() <= 34, "{}", button.label);
                prop_assert!(button.token.len() <= 40);
            }
            // The body, spread out and spelled out, and the words that it is put in several times.
            let whole = 40 * body.to_string().len() + 20_000;
            let all: usize = texts(&card).iter().map(|text| text.len()).sum();
            prop_assert!(all <= whole, "{all} of {whole}");
            prop_assert!(terminal::draw(&card).len() <= 2 * whole);
            ask.progress = ask.progress.answer(QuestionAnswer::Text("words\u{202e}".into()));
        }
    }
}
