//! A card as plain text, for the file that carries all of it.

use crate::{Block, Card, diff_text};

/// The whole card without any markup.
#[must_use]
pub fn plain(card: &Card) -> String {
    let mut out = format!("{}\n{}\n", card.title, card.origin);
    for block in &card.blocks {
        out.push('\n');
        plain_block(block, &mut out);
    }
    out
}

fn plain_block(block: &Block, out: &mut String) {
    match block {
        Block::Code { label, text } | Block::Quote { label, text } => {
            out.push_str(&format!("{label}:\n{text}\n"));
        }
        Block::Diff { path, lines, .. } => out.push_str(&format!("{path}\n{}\n", diff_text(lines))),
        Block::Details { blocks } => blocks.iter().for_each(|block| plain_block(block, out)),
        Block::Fields { fields } => {
            for field in fields {
                out.push_str(&format!("{}: {}\n", field.name, field.value));
            }
        }
        Block::Note { text } | Block::Outcome { text } => out.push_str(&format!("{text}\n")),
    }
}
