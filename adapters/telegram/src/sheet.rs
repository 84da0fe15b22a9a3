//! A message's text while it is written.

use crate::attachment::{Document, file_name};
use crate::first_line::{sign, until};
use crate::fit::{fit, one_line, openly_cut, short};
use crate::page::{Page, Style};
use countersign_port::{Block, Card, Field, diff_text, folded, isolated, visible};
use jiff::Timestamp;

/// What a text is cut to before whole blocks are left out.
pub(crate) const LEAST: usize = 40;
const LABEL: usize = 40;
/// Each file is a message of its own; the last one carries the rest.
const FILES: usize = 4;

/// The text and the files of a card, with a bound on the length of every single text.
pub(crate) struct PageLayout<'a> {
    card: &'a Card,
    /// Characters of each text.
    room: usize,
    pub(crate) page: Page,
    pub(crate) files: Vec<Document>,
    /// Fields, notes and blocks that are not shown whole.
    details: String,
    /// Inside of the fold.
    folds: bool,
}

impl<'a> PageLayout<'a> {
    /// Writes the first `blocks` blocks of the card, at most `room` characters of each text;
    /// `texts` are [`texts`] of the card.
    pub(crate) fn compose(
        card: &'a Card,
        texts: &'a [String],
        blocks: usize,
        room: usize,
        now: Timestamp,
    ) -> Self {
        let (page, files, details) = (Page::default(), Vec::new(), String::new());
        let mut sheet = Self { card, room, page, files, details, folds: false };
        let mut texts = texts.iter();
        sheet.title();
        sheet.origin(now);
        for block in card.blocks.iter().take(blocks) {
            sheet.block(block, &mut texts);
        }
        let left = card.blocks.get(blocks..).unwrap_or_default();
        if !left.is_empty() {
            left.iter().for_each(|block| plain(block, &mut sheet.details));
            let rest = if card.tone.is_open() { "in the attached files" } else { "not shown here" };
            sheet.page.add(Style::Plain, format!("\n⚠️ {} more parts are {rest}", left.len()));
        }
        sheet.ask();
        let details = std::mem::take(&mut sheet.details);
        if !details.is_empty() && card.tone.is_open() {
            let name = file_name(&card.ask, "details", sheet.files.len());
            sheet.files.push(Document { name, text: details });
        }
        sheet
    }

    /// The ask's id, at the end of the fold where there is one.
    fn ask(&mut self) {
        let id = short(self.card.ask.as_str(), LABEL);
        self.page.refold();
        self.page.add(Style::Plain, format!("\nask {id}"));
        self.page.unfold();
    }

    /// How long the text is at most, as Telegram counts.
    pub(crate) fn units(&self) -> usize {
        self.page.text().encode_utf16().count()
    }

    /// The first line, and how it ended.
    fn title(&mut self) {
        self.page.add(Style::Bold, sign(self.card.tone));
        let title = self.brief(&one_line(&self.card.title));
        self.page.add(Style::Code, title);
        let ends = self.card.blocks.iter().filter_map(|block| match block {
            Block::Outcome { text } => Some(text),
            _ => None,
        });
        for text in ends {
            let text = self.brief(text);
            self.page.add(Style::Plain, " · ");
            self.words(&text);
        }
    }

    fn origin(&mut self, now: Timestamp) {
        let deadline = self.card.deadline.and_then(|ms| Timestamp::from_millisecond(ms).ok());
        let origin = self.brief(&one_line(&self.card.origin));
        let left = deadline.map(|at| until(at, now));
        if self.card.tone.is_open() && !(origin.is_empty() && left.is_none()) {
            self.page.add(Style::Plain, "\n");
            let between = if origin.is_empty() { "" } else { " · " };
            self.words(&origin);
            self.page
                .add(Style::Plain, left.map(|left| between.to_owned() + &left).unwrap_or_default());
        }
    }

    fn block(&mut self, block: &Block, texts: &mut std::slice::Iter<'a, String>) {
        let mut seen = || texts.next().map_or("", String::as_str);
        match block {
            Block::Code { label, text } => {
                let seen = seen();
                self.heading(label);
                self.passage((label, text), seen, Style::Pre, self.room);
            }
            Block::Quote { label, text } if label.is_empty() => {
                let seen = seen();
                self.page.add(Style::Plain, "\nsays: “");
                self.passage(("reason", text), seen, Style::Code, self.lesser());
                self.page.add(Style::Plain, "”");
            }
            Block::Quote { label, text } => {
                let seen = seen();
                self.heading(label);
                self.passage((label, text), seen, Style::Code, self.lesser());
            }
            Block::Diff { path, added, removed, lines } => {
                let seen = seen();
                self.page.add(Style::Plain, "\n");
                let path = self.brief(&one_line(path));
                self.page.add(Style::Code, path);
                self.page.add(Style::Plain, format!(" +{added} −{removed}\n"));
                self.passage(("change", &diff_text(lines)), seen, Style::Diff, self.room);
            }
            Block::Fields { fields } => fields.iter().for_each(|field| self.field(field)),
            Block::Note { text } => self.own(text),
            // It is on the line of the title.
            Block::Outcome { .. } => {}
            Block::Details { blocks } => {
                self.page.add(Style::Plain, "\n");
                self.page.fold();
                self.folds = true;
                blocks.iter().for_each(|block| self.block(block, texts));
                self.folds = false;
                self.page.unfold();
            }
        }
    }

    fn heading(&mut self, label: &str) {
        self.page.add(Style::Plain, "\n");
        if !label.is_empty() {
            self.page.add(Style::Bold, short(&one_line(label), LABEL));
            self.page.add(Style::Plain, "\n");
        }
    }

    /// An agent's text. What is cut out of it is said between head and tail.
    fn passage(&mut self, (label, exact): (&str, &str), seen: &str, style: Style, room: usize) {
        let style = if self.folds { Style::Code } else { style };
        if seen.trim().is_empty() {
            return self.page.add(Style::Plain, "(nothing)");
        }
        let shown = fit(seen, room);
        if shown.hidden > 0 || seen != exact {
            self.attach(label, exact.to_owned());
        }
        self.page.add(style, shown.head);
        if let Some(tail) = shown.tail {
            let rest = if self.card.tone.is_open() { "; all is in the attached file" } else { "" };
            let missing = format!("\n⚠️ {} characters are not shown here{rest}\n", shown.hidden);
            self.page.add(Style::Plain, missing);
            self.page.add(style, tail);
        }
        if visible(exact) != exact {
            self.page.add(Style::Plain, "\n⚠️ invisible characters are shown as \\u{…}");
        }
    }

    fn field(&mut self, field: &Field) {
        let name = short(&one_line(&field.name), LABEL);
        let whole = field.value.replace('\n', "⏎");
        let value = openly_cut(&whole, self.lesser());
        if value != visible(&whole) {
            self.details.push_str(&line(field));
        }
        self.page.add(Style::Plain, format!("\n{name}: "));
        self.page.add(Style::Code, value);
    }

    /// Our own words, on a line of their own.
    fn own(&mut self, text: &str) {
        self.page.add(Style::Plain, "\n");
        let text = self.brief(text);
        self.words(&text);
    }

    /// Our own words quote names, paths and hosts: whatever Telegram would make a link, a mention,
    /// a command or a tag of stands as code.
    fn words(&mut self, text: &str) {
        for word in text.split_inclusive(' ') {
            let style = if is_linked(word) { Style::Code } else { Style::Plain };
            self.page.add(style, word);
        }
    }

    /// A text that should be short; what is cut of it is attached.
    fn brief(&mut self, text: &str) -> String {
        let shown = openly_cut(text, self.lesser());
        if shown != visible(text) {
            self.details.push_str(&format!("{text}\n"));
        }
        isolated(&shown)
    }

    /// What is said about a call never takes the room of what would run.
    fn lesser(&self) -> usize {
        (self.room / 2).max(LEAST)
    }

    fn attach(&mut self, label: &str, text: String) {
        if self.files.len() + 1 >= FILES {
            self.details.push_str(&format!("{label}:\n{text}\n"));
        } else if self.card.tone.is_open() {
            let name = file_name(&self.card.ask, label, self.files.len());
            self.files.push(Document { name, text });
        }
    }
}

/// Whether Telegram would make something to press of a word.
fn is_linked(word: &str) -> bool {
    let mut chars = word.chars().peekable();
    while let Some(c) = chars.next() {
        let joins = chars.peek().is_some_and(|next| next.is_alphanumeric());
        if matches!(c, '@' | '#' | '$' | '/') || c == '.' && joins {
            return true;
        }
    }
    false
}

/// The agent's texts of a card as they may be shown, those in the fold included.
pub(crate) fn texts(card: &Card) -> Vec<String> {
    let mut texts = Vec::new();
    card.blocks.iter().for_each(|block| gather(block, &mut texts));
    texts
}

fn gather(block: &Block, texts: &mut Vec<String>) {
    match block {
        Block::Code { text, .. } | Block::Quote { text, .. } => {
            texts.push(folded(&visible(text)));
        }
        Block::Diff { lines, .. } => texts.push(folded(&visible(&diff_text(lines)))),
        Block::Details { blocks } => blocks.iter().for_each(|block| gather(block, texts)),
        Block::Fields { .. } | Block::Note { .. } | Block::Outcome { .. } => {}
    }
}

fn line(field: &Field) -> String {
    format!("{}: {}\n", field.name, field.value)
}

/// A block without any markup.
fn plain(block: &Block, out: &mut String) {
    match block {
        Block::Code { label, text } | Block::Quote { label, text } => {
            out.push_str(&format!("{label}:\n{text}\n"));
        }
        Block::Diff { path, lines, .. } => out.push_str(&format!("{path}\n{}\n", diff_text(lines))),
        Block::Details { blocks } => blocks.iter().for_each(|block| plain(block, out)),
        Block::Fields { fields } => fields.iter().for_each(|field| out.push_str(&line(field))),
        Block::Note { text } | Block::Outcome { text } => out.push_str(&format!("{text}\n")),
    }
}
