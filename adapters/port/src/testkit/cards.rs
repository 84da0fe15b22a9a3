//! Cards as the core makes them.

use crate::{Block, Button, ButtonStyle, Card, Field, Tone};

/// A card as the core makes it for a shell command.
#[must_use]
pub fn sample_card(command: &str) -> Card {
    let button = |token: &str, label: &str, style| Button {
        token: token.to_owned(),
        label: label.to_owned(),
        style,
    };
    Card {
        id: "k3J9sQ0aZ_-b4LmX7yTn2w".to_owned(),
        ask: "a7f3".to_owned(),
        revision: 1,
        tone: Tone::Open,
        title: "claude-code wants to run a command".to_owned(),
        blocks: vec![
            Block::Code { label: "command".to_owned(), text: command.to_owned() },
            Block::Quote {
                label: "reason".to_owned(),
                text: "Clean the *build* <b>now</b>".to_owned(),
            },
            Block::Fields {
                fields: vec![
                    Field { name: "agent".to_owned(), value: "claude-code".to_owned() },
                    Field { name: "folder".to_owned(), value: "/home/ana/shop".to_owned() },
                ],
            },
            Block::Note { text: "Always stores: shell: rm build/*".to_owned() },
        ],
        buttons: vec![vec![
            button("k3J9sQ0aZ_-b4LmX7yTn2w.1.a", "Approve", ButtonStyle::Approve),
            button("k3J9sQ0aZ_-b4LmX7yTn2w.1.w", "Always", ButtonStyle::Always),
            button("k3J9sQ0aZ_-b4LmX7yTn2w.1.d", "Deny", ButtonStyle::Deny),
            button("k3J9sQ0aZ_-b4LmX7yTn2w.1.t", "Other…", ButtonStyle::Text),
        ]],
        deadline: Some(1_795_221_291_475),
    }
}

/// The same card after an answer.
#[must_use]
pub fn closed(card: &Card) -> Card {
    let mut closed = card.clone();
    closed.revision += 1;
    closed.tone = Tone::Approved;
    closed.buttons.clear();
    closed.deadline = None;
    closed.blocks.push(Block::Outcome { text: "Approved once by Ana, 12:03".to_owned() });
    closed
}
