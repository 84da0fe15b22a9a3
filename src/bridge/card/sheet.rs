//! A card's blocks while they are written. What comes from outside is made visible here, and
//! nowhere taken for the card's own words.

use countersign_port::{Block, DiffLine, Field, line, visible};

/// The blocks so far.
#[derive(Default)]
pub(super) struct Sheet {
    blocks: Vec<Block>,
    /// A text held characters that are spelled out.
    spelled_out: bool,
}

impl Sheet {
    /// The agent's text, verbatim. The label is ours.
    pub(super) fn code(&mut self, label: &str, text: &str) {
        let text = self.seen(text);
        self.blocks.push(Block::Code { label: label.to_owned(), text });
    }

    /// The agent's words to people. The label is ours.
    pub(super) fn quote(&mut self, label: &str, text: &str) {
        let text = self.seen(text);
        self.blocks.push(Block::Quote { label: label.to_owned(), text });
    }

    /// Short facts, where there are any. Their names are ours.
    pub(super) fn fields(&mut self, fields: Vec<Field>) {
        if !fields.is_empty() {
            self.blocks.push(Block::Fields { fields });
        }
    }

    /// Our own words; what is from outside in them is one line already.
    pub(super) fn note(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Note { text: text.into() });
    }

    /// A change of a file.
    pub(super) fn change(
        &mut self,
        path: &str,
        (added, removed): (usize, usize),
        lines: Vec<DiffLine>,
    ) {
        let seen = |line: DiffLine| DiffLine { text: self.seen(&line.text), ..line };
        let lines = lines.into_iter().map(seen).collect();
        self.blocks.push(Block::Diff { path: line(path), added, removed, lines });
    }

    /// Whether a text holds characters that are shown as `\u{…}`.
    pub(super) fn spells_out(&self) -> bool {
        self.spelled_out
    }

    pub(super) fn finish(self) -> Vec<Block> {
        self.blocks
    }

    fn seen(&mut self, text: &str) -> String {
        let seen = visible(text);
        self.spelled_out |= seen != text;
        seen
    }
}

/// A short fact. What is from outside stays on one line, so that it cannot pass for another fact.
pub(super) fn fact(name: impl Into<String>, value: &str) -> Field {
    Field { name: name.into(), value: line(value) }
}

/// The beginning of a text, on one line, with an ellipsis where it goes on.
pub(super) fn glance(text: &str, most: usize) -> String {
    let mut short: String = text.chars().take(most).collect();
    if text.chars().count() > most {
        short.push('…');
    }
    line(&short)
}
