//! A message's text while it is written.

use crate::markdown::{code, diff, escape, one_line, quote, units};
use countersign_port::{
    Block, Card, Excerpt, Field, Tone, diff_text, excerpt, folded, isolated, plain, visible,
};

/// The most files that a message holds.
const FILES: usize = 10;

/// What a text is cut to before whole blocks are left out.
pub(crate) const LEAST: usize = 16;

/// A text attached to a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextFile {
    /// Letters, digits, `-`, `_` and `.`, so that Discord keeps it.
    pub name: String,
    /// Exactly.
    pub text: String,
}

/// The text and the files of a card, with a bound on the length of every single text.
pub(crate) struct MessageContent<'a> {
    card: &'a Card,
    texts: &'a [Vec<String>],
    room: usize,
    /// Markdown.
    pub content: String,
    /// What the content does not show whole.
    pub files: Vec<TextFile>,
    /// Whether something is left out that no file of its own carries.
    rest: bool,
}

impl<'a> MessageContent<'a> {
    /// Writes the first `blocks` blocks of the card, at most `room` characters of each text;
    /// `texts` are [`texts`] of the card.
    pub(crate) fn compose(
        card: &'a Card,
        texts: &'a [Vec<String>],
        blocks: usize,
        room: usize,
    ) -> Self {
        let (content, files) = (String::new(), Vec::new());
        let mut sheet = Self { card, texts, room, content, files, rest: false };
        sheet.title();
        sheet.origin();
        (0..blocks).for_each(|nth| sheet.nth(nth));
        if blocks < card.blocks.len() {
            sheet.leave_out(blocks);
        }
        if sheet.rest {
            let name = sheet.rest_name();
            sheet.files.push(TextFile { name, text: plain(card) });
        }
        sheet
    }

    /// How long the text is, as Discord counts.
    pub(crate) fn units(&self) -> usize {
        units(&self.content)
    }

    /// The first line, and how it ended.
    fn title(&mut self) {
        let sign = match self.card.tone {
            Tone::Open => "🔐",
            Tone::Critical => "🛑 **CRITICAL**",
            Tone::Approved => "✅",
            Tone::Denied => "⛔",
            Tone::Expired => "⌛",
            Tone::Cancelled => "⚪",
        };
        let mut line = format!("{sign} **{}**", self.short(&one_line(&self.card.title)));
        for block in &self.card.blocks {
            if let Block::Outcome { text } = block {
                line.push_str(&format!(" · {}", self.short(&one_line(text))));
            }
        }
        self.say(&line);
    }

    /// The second line: who asks from where, and the time that is left.
    fn origin(&mut self) {
        let origin = one_line(&self.card.origin);
        let mut parts = Vec::new();
        if !origin.trim().is_empty() && self.card.tone.is_open() {
            parts.push(self.short(&origin));
        }
        if let Some(deadline) = self.card.deadline {
            parts.push(format!("⏳ expires <t:{}:R>", deadline.div_euclid(1000)));
        }
        if !parts.is_empty() {
            self.say(&parts.join(" · "));
        }
    }

    fn nth(&mut self, nth: usize) {
        let (Some(block), Some(texts)) = (self.card.blocks.get(nth), self.texts.get(nth)) else {
            return;
        };
        self.block(block, &mut texts.iter());
    }

    /// Writes a block; `texts` are what is left of its texts.
    fn block(&mut self, block: &Block, texts: &mut std::slice::Iter<'a, String>) {
        let mut seen = || texts.next().map_or("", String::as_str);
        match block {
            Block::Code { label, text } => {
                let seen = seen();
                self.passage(label, text, seen, (code, self.room));
            }
            Block::Quote { label, text } => {
                let seen = seen();
                let label = if label.is_empty() { "says" } else { label };
                self.passage(label, text, seen, (quote, self.lesser_room()));
            }
            Block::Diff { path, added, removed, lines } => {
                let seen = seen();
                let path = self.short(&one_line(path));
                self.say(&format!("**{path}** +{added} −{removed}"));
                self.passage("", &diff_text(lines), seen, (diff, self.room));
            }
            Block::Fields { fields } => {
                let line: Vec<String> = fields.iter().map(|field| self.field(field)).collect();
                self.say(&line.join(" · "));
            }
            Block::Note { .. } => {
                let text = self.short(seen());
                self.say(&text);
            }
            // It is on the line of the title.
            Block::Outcome { .. } => {}
            Block::Details { blocks } => self.details(blocks, texts),
        }
    }

    /// What is rarely needed, as small print.
    fn details(&mut self, blocks: &[Block], texts: &mut std::slice::Iter<'a, String>) {
        for block in blocks {
            let start = self.content.len();
            self.block(block, texts);
            let written = self.content.split_off(start);
            let code = matches!(block, Block::Code { .. } | Block::Diff { .. });
            self.content.push_str(&if code { written } else { small(&written) });
        }
    }

    fn field(&mut self, field: &Field) -> String {
        let name = self.short(&one_line(&field.name));
        let value = self.short(&one_line(&field.value));
        format!("**{name}** {value}")
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
        if !label.is_empty() {
            let name = self.short(&one_line(label));
            self.say(&format!("**{name}**"));
        }
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

    /// Says that the blocks from `shown` on are left out.
    fn leave_out(&mut self, shown: usize) {
        self.rest = true;
        let all = self.card.blocks.len();
        let (count, file) = (all.saturating_sub(shown), self.rest_name());
        self.say(&format!("✂️ **{count} parts are not shown here; all of it is in `{file}`.**"));
    }

    /// A text that should be short, escaped; cut openly where it is not.
    fn short(&mut self, text: &str) -> String {
        let Excerpt { head, tail, hidden } = excerpt(text, self.lesser_room());
        let Some(tail) = tail else { return isolated(&escape(&head)) };
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
        self.files.push(TextFile { name: name.clone(), text: text.to_owned() });
        name
    }

    fn rest_name(&self) -> String {
        format!("{}-card.txt", file_safe(&self.card.ask))
    }
}

/// The texts of each of a card's blocks as they may be shown.
pub(crate) fn texts(card: &Card) -> Vec<Vec<String>> {
    let texts = |block: &Block| {
        let mut texts = Vec::new();
        gather(block, &mut texts);
        texts
    };
    card.blocks.iter().map(texts).collect()
}

fn gather(block: &Block, texts: &mut Vec<String>) {
    match block {
        Block::Code { text, .. } | Block::Quote { text, .. } => {
            texts.push(folded(&visible(text)));
        }
        Block::Diff { lines, .. } => texts.push(folded(&visible(&diff_text(lines)))),
        Block::Note { text } => texts.push(visible(text)),
        Block::Details { blocks } => blocks.iter().for_each(|block| gather(block, texts)),
        Block::Fields { .. } | Block::Outcome { .. } => {}
    }
}

/// Every line of some markdown as small print.
fn small(markdown: &str) -> String {
    let line = |line: &str| match line.strip_prefix("> ") {
        _ if line.is_empty() => String::new(),
        Some(quoted) => format!("> -# {quoted}"),
        None => format!("-# {line}"),
    };
    markdown.split('\n').map(line).collect::<Vec<_>>().join("\n")
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
