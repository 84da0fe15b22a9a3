//! Cards as the core makes them.

use crate::{Block, Button, ButtonStyle, Card, DiffLine, DiffSide, Field, Tone};

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
        title: "rm -rf build/*".to_owned(),
        origin: "claude-code · shop on mill".to_owned(),
        blocks: vec![
            Block::Code { label: "command".to_owned(), text: command.to_owned() },
            Block::Quote { label: String::new(), text: "Clean the *build* <b>now</b>".to_owned() },
            Block::Note { text: "→ Deletes build/*".to_owned() },
            Block::Details {
                blocks: vec![Block::Fields {
                    fields: vec![
                        Field { name: "tool".to_owned(), value: "Bash".to_owned() },
                        Field { name: "folder".to_owned(), value: "/home/ana/shop".to_owned() },
                    ],
                }],
            },
        ],
        buttons: vec![vec![
            button("k3J9sQ0aZ_-b4LmX7yTn2w.1.a", "Approve", ButtonStyle::Approve),
            button("k3J9sQ0aZ_-b4LmX7yTn2w.1.w", "Always", ButtonStyle::Always),
            button("k3J9sQ0aZ_-b4LmX7yTn2w.1.d", "Deny", ButtonStyle::Deny),
            button("k3J9sQ0aZ_-b4LmX7yTn2w.1.t", "Other…", ButtonStyle::Text),
        ]],
        more: vec![],
        deadline: Some(1_795_221_291_475),
    }
}

/// A card as the core makes it for a change of a file, with something behind *More…*.
#[must_use]
pub fn sample_edit() -> Card {
    let line = |side, text: &str| DiffLine { side, text: text.to_owned() };
    let mut card = sample_card("");
    card.title = "✏️ nginx.conf +2 −1".to_owned();
    let lines = vec![
        line(DiffSide::Both, "server {"),
        line(DiffSide::Removed, "  listen 80;"),
        line(DiffSide::Added, "  listen 443 ssl;"),
        line(DiffSide::Added, "  # </code></pre> ``` <b>@everyone</b>"),
        line(DiffSide::Skipped, "12 lines stay"),
    ];
    let path = "/etc/nginx/nginx.conf".to_owned();
    card.blocks.splice(..1, [Block::Diff { path, added: 2, removed: 1, lines }]);
    let more = ["10 min: this change", "Always exactly this"];
    card.more = (0..)
        .zip(more)
        .map(|(at, label): (usize, _)| Button {
            token: format!("{}.1.m{at}", card.id),
            label: label.to_owned(),
            style: ButtonStyle::Always,
        })
        .collect();
    card
}

/// The same card after an answer.
#[must_use]
pub fn closed(card: &Card) -> Card {
    let mut closed = card.clone();
    closed.revision += 1;
    closed.tone = Tone::Approved;
    closed.buttons.clear();
    closed.more.clear();
    closed.deadline = None;
    let outcome = Block::Outcome { text: "Ana, 12:03 · stored: rm build/*".to_owned() };
    let flat = |block| match block {
        Block::Details { blocks } => blocks,
        block => vec![block],
    };
    let blocks = std::mem::take(&mut closed.blocks).into_iter().flat_map(flat).collect();
    closed.blocks = vec![outcome, Block::Details { blocks }];
    closed
}
