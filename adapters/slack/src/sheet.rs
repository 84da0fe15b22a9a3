//! A card's text while it is written.

use crate::rich::{RichText, TextLook};
use countersign_port::{
    Block, Card, Excerpt, Field, Tone, diff_text, excerpt, folded, isolated, line, plain, visible,
};

/// What a text is cut to before whole blocks are left out.
pub(crate) const LEAST: usize = 16;
/// The most files of a card.
const FILES: usize = 10;

/// A text in the thread of a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ThreadFile {
    /// Letters, digits, `-`, `_` and `.`.
    pub name: String,
    /// Exactly.
    pub text: String,
}

/// A text of an agent as it may be shown: made once, because a card is tried in many lengths.
pub(crate) struct SeenText {
    seen: String,
    /// Whether nothing was counted instead of shown.
    is_whole: bool,
}

/// The text and the files of a card, with a bound on the length of every single text.
pub(crate) struct CardText<'a> {
    card: &'a Card,
    /// Those that are not written yet.
    texts: std::slice::Iter<'a, SeenText>,
    room: usize,
    pub page: RichText,
    /// What the page does not show whole.
    pub files: Vec<ThreadFile>,
    /// Whether something is left out that no file of its own carries.
    rest: bool,
}

/// The box around an agent's text.
#[derive(Clone, Copy)]
enum Boxed {
    Code,
    Quote,
}

impl<'a> CardText<'a> {
    /// Writes the first `blocks` blocks of the card, at most `room` characters of each text;
    /// `texts` are [`texts`] of the card.
    pub(crate) fn compose(
        card: &'a Card,
        texts: &'a [SeenText],
        blocks: usize,
        room: usize,
    ) -> Self {
        let (page, files) = (RichText::default(), Vec::new());
        let mut text = Self { card, texts: texts.iter(), room, page, files, rest: false };
        text.title();
        text.origin();
        card.blocks.iter().take(blocks).for_each(|block| text.block(block));
        if let Some(left) = card.blocks.len().checked_sub(blocks).filter(|left| *left > 0) {
            let file = text.rest_file();
            text.remark(&format!("✂️ {left} parts are not shown here; all of it is in {file}."));
        }
        if text.rest {
            let name = text.rest_name();
            text.files.push(ThreadFile { name, text: plain(card) });
        }
        text
    }

    /// The first line, and how it ended.
    fn title(&mut self) {
        self.page.add(sign(self.card.tone), TextLook::Plain);
        if self.card.tone == Tone::Critical {
            self.page.add("CRITICAL ", TextLook::Bold);
        }
        self.short(&line(&self.card.title), TextLook::Bold);
        for block in &self.card.blocks {
            if let Block::Outcome { text } = block {
                self.page.add(" · ", TextLook::Plain);
                self.short(&line(text), TextLook::Plain);
            }
        }
        self.page.end_line();
    }

    /// The second line: who asks from where, and the time that is left.
    fn origin(&mut self) {
        let origin = line(&self.card.origin);
        let shown = self.card.tone.is_open() && !origin.trim().is_empty();
        if shown {
            self.short(&origin, TextLook::Plain);
        }
        if let Some(deadline) = self.card.deadline {
            self.page.add(if shown { " · ⏳ until " } else { "⏳ until " }, TextLook::Plain);
            self.page.add_time(deadline.div_euclid(1000));
        }
        self.page.end_line();
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Code { label, text } => self.passage(label, text, Boxed::Code),
            Block::Quote { label, text } => {
                let label = if label.is_empty() { "says" } else { label };
                self.passage(label, text, Boxed::Quote);
            }
            Block::Diff { path, added, removed, lines } => {
                self.short(&line(path), TextLook::Bold);
                self.page.add(&format!(" +{added} −{removed}"), TextLook::Plain);
                self.page.end_line();
                self.passage("", &diff_text(lines), Boxed::Code);
            }
            Block::Fields { fields } => {
                for (at, Field { name, value }) in fields.iter().enumerate() {
                    self.page.add(if at > 0 { " · " } else { "" }, TextLook::Plain);
                    self.short(&line(name), TextLook::Bold);
                    self.page.add(" ", TextLook::Plain);
                    self.short(&line(value), TextLook::Plain);
                }
                self.page.end_line();
            }
            Block::Note { text } => {
                self.short(&visible(text), TextLook::Plain);
                self.page.end_line();
            }
            // It is on the line of the title.
            Block::Outcome { .. } => {}
            Block::Details { blocks } => blocks.iter().for_each(|block| self.block(block)),
        }
    }

    /// The agent's text under its label. What is cut out of it is said between head and tail,
    /// outside of the agent's box, and is carried whole by a file.
    fn passage(&mut self, label: &str, exact: &str, boxed: Boxed) {
        if !label.is_empty() {
            self.short(&line(label), TextLook::Bold);
            self.page.end_line();
        }
        let Some(SeenText { seen, is_whole }) = self.texts.next() else { return };
        if seen.trim().is_empty() {
            return self.remark("(nothing)");
        }
        let room = match boxed {
            Boxed::Code => self.room,
            Boxed::Quote => self.lesser_room(),
        };
        let Excerpt { head, tail, hidden } = excerpt(seen, room);
        self.boxed(&head, boxed);
        match tail {
            None if *is_whole => {}
            None => {
                let file = self.attach(label, exact);
                self.remark(&format!("✂️ All of it is in {file}."));
            }
            Some(tail) => {
                let file = self.attach(label, exact);
                self.remark(&format!(
                    "✂️ {hidden} characters are not shown here; all of it is in {file}. It ends:"
                ));
                self.boxed(&tail, boxed);
            }
        }
    }

    fn boxed(&mut self, text: &str, boxed: Boxed) {
        match boxed {
            Boxed::Code => self.page.code(text),
            Boxed::Quote => self.page.quote(text),
        }
    }

    /// A text that should be short; cut openly where it is not.
    fn short(&mut self, text: &str, weight: TextLook) {
        let Excerpt { head, tail, hidden } = excerpt(text, self.lesser_room());
        let Some(tail) = tail else { return self.page.add(&isolated(&head), weight) };
        let file = self.rest_file();
        self.page.add(&isolated(&head), weight);
        self.page.add(&format!(" … {hidden} characters more in {file} … "), TextLook::Italic);
        self.page.add(&isolated(&tail), weight);
    }

    /// The card's own words on a line of their own.
    fn remark(&mut self, words: &str) {
        self.page.add(words, TextLook::Italic);
        self.page.end_line();
    }

    /// What an agent says about a call never takes the room of what would run.
    fn lesser_room(&self) -> usize {
        (self.room / 2).max(LEAST)
    }

    /// Puts a text into the thread and says where; the last place is the whole card's.
    fn attach(&mut self, label: &str, text: &str) -> String {
        if self.files.len() + 1 >= FILES {
            return self.rest_file();
        }
        let ask = file_safe(&self.card.ask);
        let mut name = format!("{ask}-{}.txt", file_safe(label));
        if self.files.iter().any(|file| file.name == name) || name == self.rest_name() {
            name = format!("{ask}-{}-{}.txt", file_safe(label), self.files.len() + 1);
        }
        self.files.push(ThreadFile { name: name.clone(), text: text.to_owned() });
        format!("{name} in the thread")
    }

    fn rest_file(&mut self) -> String {
        self.rest = true;
        format!("{} in the thread", self.rest_name())
    }

    fn rest_name(&self) -> String {
        format!("{}-card.txt", file_safe(&self.card.ask))
    }
}

/// The agent's texts of a card, in the order in which they are written.
pub(crate) fn texts(card: &Card) -> Vec<SeenText> {
    let mut texts = Vec::new();
    card.blocks.iter().for_each(|block| gather(block, &mut texts));
    texts
}

fn gather(block: &Block, texts: &mut Vec<SeenText>) {
    let seen = |text: &str| {
        let shown = visible(text);
        let seen = folded(&shown);
        SeenText { is_whole: seen == shown, seen }
    };
    match block {
        Block::Code { text, .. } | Block::Quote { text, .. } => texts.push(seen(text)),
        Block::Diff { lines, .. } => texts.push(seen(&diff_text(lines))),
        Block::Details { blocks } => blocks.iter().for_each(|block| gather(block, texts)),
        Block::Fields { .. } | Block::Note { .. } | Block::Outcome { .. } => {}
    }
}

/// What became of an ask, as a sign.
pub(crate) fn sign(tone: Tone) -> &'static str {
    match tone {
        Tone::Open => "🔔 ",
        Tone::Critical => "🛑 ",
        Tone::Approved => "✅ ",
        Tone::Denied => "⛔ ",
        Tone::Expired => "⌛ ",
        Tone::Cancelled => "⚪ ",
    }
}

fn file_safe(name: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = name.chars().take(32).map(safe).collect();
    if name.is_empty() { "text".to_owned() } else { name }
}
