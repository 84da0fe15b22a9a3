//! A message's text while it is written.

use crate::markdown::{code, escape, one_line, quote, units};
use countersign_port::{Block, Card, Excerpt, Tone, excerpt, folded, visible};

/// The most files that a message holds.
const FILES: usize = 10;

/// The text and the files of a card, with a bound on the length of every single text.
/// What a text is cut to before whole blocks are left out.
pub(crate) const LEAST: usize = 16;

/// A text that stands with a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct File {
    /// Letters, digits, `-`, `_` and `.`, so that Discord keeps it.
    pub name: String,
    /// Exactly.
    pub text: String,
}

pub(crate) struct Sheet<'a> {
    card: &'a Card,
    texts: &'a [String],
    room: usize,
    /// Markdown.
    pub content: String,
    /// What the content does not show whole.
    pub files: Vec<File>,
    /// Whether something is left out that no file of its own carries.
    rest: bool,
}

impl<'a> Sheet<'a> {
    /// Writes the first `blocks` blocks of the card, at most `room` characters of each text;
    /// `texts` are [`texts`] of the card.
    pub(crate) fn compose(card: &'a Card, texts: &'a [String], blocks: usize, room: usize) -> Self {
        let (content, files) = (String::new(), Vec::new());
        let mut sheet = Self { card, texts, room, content, files, rest: false };
        sheet.title();
        (0..blocks).for_each(|nth| sheet.block(nth));
        if blocks < card.blocks.len() {
            sheet.leave_out(blocks);
        }
        if let Some(deadline) = card.deadline {
            sheet.say(&format!("⏳ Expires <t:{}:R>", deadline.div_euclid(1000)));
        }
        if sheet.rest {
            let name = sheet.rest_name();
            sheet.files.push(File { name, text: plain(card) });
        }
        sheet
    }

    /// How long the text is, as Discord counts.
    pub(crate) fn units(&self) -> usize {
        units(&self.content)
    }

    fn title(&mut self) {
        let sign = match self.card.tone {
            Tone::Open => "🔐",
            Tone::Approved => "✅",
            Tone::Denied => "⛔",
            Tone::Expired => "⌛",
            Tone::Cancelled => "⚪",
        };
        let title = self.short(&one_line(&self.card.title));
        self.say(&format!("{sign} **{title}**"));
    }

    fn block(&mut self, nth: usize) {
        let (Some(block), Some(seen)) = (self.card.blocks.get(nth), self.texts.get(nth)) else {
            return;
        };
        match block {
            Block::Code { label, text } => self.passage(label, text, seen, (code, self.room)),
            Block::Quote { label, text } => {
                self.passage(label, text, seen, (quote, self.lesser_room()));
            }
            Block::Fields { fields } => {
                let mut line = Vec::with_capacity(fields.len());
                for field in fields {
                    let name = self.short(&one_line(&field.name));
                    let value = self.short(&one_line(&field.value));
                    line.push(format!("**{name}** {value}"));
                }
                self.say(&line.join(" · "));
            }
            Block::Note { .. } => {
                let text = self.short(seen);
                self.say(&text);
            }
            Block::Outcome { .. } => {
                let text = self.short(seen);
                self.say(&format!("**{text}**"));
            }
        }
    }

    /// The agent's text under its label. What is cut out of it is said between head and tail,
    /// outside of the dress that an agent's text wears, and is carried whole by a file.
    fn passage(
        &mut self,
        label: &str,
        exact: &str,
        seen: &str,
        (dress, room): (fn(&str) -> String, usize),
    ) {
        let name = self.short(&one_line(label));
        self.say(&format!("**{name}**"));
        let Excerpt { head, tail, hidden } = excerpt(seen, room);
        if seen.trim().is_empty() {
            return self.say("*(nothing)*");
        }
        self.say(&dress(&head));
        if tail.is_none() && is_padded(exact) {
            let file = self.attach(label, exact);
            self.say(&format!("✂️ **All of it is in `{file}`.**"));
        }
        if let Some(tail) = tail {
            let file = self.attach(label, exact);
            self.say(&format!(
                "✂️ **{hidden} characters are not shown here; all of it is in `{file}`. It ends:**"
            ));
            self.say(&dress(&tail));
        }
    }

    /// Says that the blocks from `shown` on are left out; the end of the story never is.
    fn leave_out(&mut self, shown: usize) {
        self.rest = true;
        let all = self.card.blocks.len();
        let (count, file) = (all.saturating_sub(shown), self.rest_name());
        self.say(&format!("✂️ **{count} parts are not shown here; all of it is in `{file}`.**"));
        let is_outcome =
            |nth: &usize| matches!(self.card.blocks.get(*nth), Some(Block::Outcome { .. }));
        if let Some(outcome) = (shown..all).rev().find(is_outcome) {
            self.block(outcome);
        }
    }

    /// A text that should be short, escaped; cut openly where it is not.
    fn short(&mut self, text: &str) -> String {
        let Excerpt { head, tail, hidden } = excerpt(text, self.lesser_room());
        let Some(tail) = tail else { return escape(&head) };
        self.rest = true;
        let file = self.rest_name();
        format!("{} … *{hidden} characters more in* `{file}` … {}", escape(&head), escape(&tail))
    }

    /// What an agent says about a call never takes the room of what would run.
    fn lesser_room(&self) -> usize {
        (self.room / 2).max(LEAST)
    }

    fn say(&mut self, paragraph: &str) {
        if !self.content.is_empty() {
            self.content.push('\n');
        }
        self.content.push_str(paragraph);
    }

    /// Puts a text beside the message and names its file; the last place is the whole card's.
    fn attach(&mut self, label: &str, text: &str) -> String {
        if self.files.len() + 1 >= FILES {
            self.rest = true;
            return self.rest_name();
        }
        let ask = file_safe(&self.card.ask);
        let mut name = format!("{ask}-{}.txt", file_safe(label));
        if self.files.iter().any(|file| file.name == name) || name == self.rest_name() {
            name = format!("{ask}-{}-{}.txt", file_safe(label), self.files.len() + 1);
        }
        self.files.push(File { name: name.clone(), text: text.to_owned() });
        name
    }

    fn rest_name(&self) -> String {
        format!("{}-card.txt", file_safe(&self.card.ask))
    }
}

/// The texts of a card's blocks as they may be shown.
pub(crate) fn texts(card: &Card) -> Vec<String> {
    let text = |block: &Block| match block {
        Block::Code { text, .. } | Block::Quote { text, .. } => folded(&visible(text)),
        Block::Note { text } | Block::Outcome { text } => visible(text),
        Block::Fields { .. } => String::new(),
    };
    card.blocks.iter().map(text).collect()
}

/// Whether runs of blanks or empty lines are counted instead of shown.
fn is_padded(text: &str) -> bool {
    let shown = visible(text);
    folded(&shown) != shown
}

fn file_safe(name: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = name.chars().take(32).map(safe).collect();
    if name.is_empty() { "text".to_owned() } else { name }
}

/// The whole card without any markup.
fn plain(card: &Card) -> String {
    let mut out = format!("{}\n", card.title);
    for block in &card.blocks {
        out.push('\n');
        match block {
            Block::Code { label, text } | Block::Quote { label, text } => {
                out.push_str(&format!("{label}:\n{text}\n"));
            }
            Block::Fields { fields } => {
                for field in fields {
                    out.push_str(&format!("{}: {}\n", field.name, field.value));
                }
            }
            Block::Note { text } | Block::Outcome { text } => out.push_str(&format!("{text}\n")),
        }
    }
    out
}
