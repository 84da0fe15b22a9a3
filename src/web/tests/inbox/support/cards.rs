//! Cards as the core draws them.

use countersign_port::{Block, Button, ButtonStyle, Card, Field, Tone};
use std::time::{SystemTime, UNIX_EPOCH};

pub fn command(id: &str, command: &str) -> Card {
    Card {
        blocks: vec![
            code("command", command),
            quote("reason", "The build folder holds files of an older layout."),
            fields(&[
                ("agent", "claude-code"),
                ("session", "8f2c1a90…"),
                ("host", "atlas"),
                ("folder", "/home/ana/shop"),
                ("tool", "Bash"),
                ("asked because", "no rule covers `rm`"),
            ]),
            note("Touches: deletes build/ and everything in it"),
            note("Always stores: Bash(rm -rf build:*)"),
        ],
        buttons: vec![
            vec![
                button(id, "a", "Approve", ButtonStyle::Approve),
                button(id, "w", "Always", ButtonStyle::Always),
                button(id, "d", "Deny", ButtonStyle::Deny),
            ],
            vec![
                button(id, "m", "10 min", ButtonStyle::Always),
                button(id, "s", "Session", ButtonStyle::Always),
                button(id, "y", "24 h", ButtonStyle::Always),
            ],
        ],
        ..empty(id, "claude-code wants to run a command")
    }
}

/// A question; one press answers it when `id` begins with `single`.
pub fn question(id: &str) -> Card {
    let several = !id.starts_with("single");
    let mut last = vec![
        button(id, "t", "Other…", ButtonStyle::Text),
        button(id, "d", "Decline", ButtonStyle::Deny),
    ];
    if several {
        last.insert(0, button(id, "s", "Submit", ButtonStyle::Submit));
    }
    let options = ["PostgreSQL", "SQLite", "Both, chosen by the URL"];
    let mut buttons: Vec<_> = (0..)
        .zip(options)
        .map(|(at, label): (usize, _)| {
            vec![button(id, &format!("c{at}"), label, ButtonStyle::Choice)]
        })
        .collect();
    buttons.push(last);
    let mut blocks = vec![
        quote("Storage", "Which stores should the new service be able to use?"),
        fields(&[
            ("1", "PostgreSQL — when one machine is outgrown"),
            ("2", "SQLite — nothing to install"),
            ("3", "Both, chosen by the URL — a little more to test"),
        ]),
        fields(&[("agent", "claude-code"), ("session", "8f2c1a90…"), ("host", "atlas")]),
    ];
    if several {
        blocks.insert(2, note("Several can be chosen; then press Submit."));
    }
    Card { blocks, buttons, ..empty(id, "claude-code asks a question") }
}

fn empty(id: &str, title: &str) -> Card {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    Card {
        id: id.to_owned(),
        ask: "a7f3".to_owned(),
        revision: 1,
        tone: Tone::Open,
        title: title.to_owned(),
        whole: false,
        worst: String::new(),
        origin: "claude-code · shop on atlas".to_owned(),
        blocks: vec![],
        buttons: vec![],
        more: vec![],
        deadline: Some(i64::try_from(now).unwrap() + 300_000),
    }
}

fn button(id: &str, pressed: &str, label: &str, style: ButtonStyle) -> Button {
    Button { token: format!("{id}.1.{pressed}"), label: label.to_owned(), style }
}

pub fn code(label: &str, text: &str) -> Block {
    Block::Code { label: label.to_owned(), text: text.to_owned(), whole: false }
}

fn quote(label: &str, text: &str) -> Block {
    Block::Quote { label: label.to_owned(), text: text.to_owned() }
}

pub fn note(text: &str) -> Block {
    Block::Note { text: text.to_owned() }
}

fn fields(pairs: &[(&str, &str)]) -> Block {
    let field = |&(name, value): &(&str, &str)| Field { name: name.into(), value: value.into() };
    Block::Fields { fields: pairs.iter().map(field).collect() }
}
