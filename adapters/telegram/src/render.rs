//! A card as a Telegram message: at most 4096 characters, whole or openly cut, files for the rest.

use crate::fit::{fit, one_line, openly_cut, short, width};
use crate::keyboard::{Keyboard, keyboard};
use crate::page::{Page, Style};
use countersign_port::{Block, Card, Field, Tone, folded, visible};
use jiff::{SignedDuration, Timestamp};

// Shares of a message, in characters. They sum up to less than 4096, so a card always fits. What
// the agent's texts do not need goes to fields and notes, never the other way round.
const TITLE: usize = 200;
const AGENT_TEXT: usize = 2_250;
const FIELDS: usize = 500;
const NOTES: usize = 480;
const OUTCOMES: usize = 350;

/// Agent's texts on one card; more than that are in files only.
const TEXTS: usize = 6;
/// What stands around one agent's text: its label, and what is said about what is missing.
const TEXT_FRAME: usize = 190;
const LABEL: usize = 40;
const FIELD_NAME: usize = 30;
const FIELD_VALUE: usize = 160;

/// A card, ready to be sent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rendered {
    pub(crate) page: Page,
    /// What the message of an open card does not show exactly. The card says that these are
    /// attached.
    pub(crate) files: Vec<File>,
    /// `None` takes the buttons away.
    pub(crate) keyboard: Option<Keyboard>,
}

/// A text, exactly.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// Draws a card as it stands at `now`.
pub(crate) fn render(card: &Card, now: Timestamp) -> Rendered {
    let mut sheet = Sheet::new(card);
    let mut outcomes = OUTCOMES;
    for block in &card.blocks {
        match block {
            Block::Code { label, text } => sheet.agent_text(label, text, Style::Pre),
            Block::Quote { label, text } => sheet.agent_text(label, text, Style::Code),
            Block::Fields { fields } => sheet.fields(fields),
            Block::Note { text } => sheet.note(text),
            Block::Outcome { text } => {
                sheet.own_words("➤ ", text, &mut outcomes);
            }
        }
    }
    sheet.footer(card, now);
    Rendered { page: sheet.page, files: sheet.files, keyboard: keyboard(&card.buttons) }
}

struct Sheet<'a> {
    ask: &'a str,
    /// Whether people still decide on it: then what is missing is attached.
    open: bool,
    page: Page,
    files: Vec<File>,
    shares: std::vec::IntoIter<usize>,
    /// Texts without a share.
    unseen: usize,
    field_room: usize,
    note_room: usize,
    /// Fields and notes that were cut, whole.
    details: String,
}

impl<'a> Sheet<'a> {
    fn new(card: &'a Card) -> Self {
        let mut page = Page::default();
        let title = short(&one_line(&card.title), TITLE);
        page.add(Style::Bold, format!("{} {title}", sign(card.tone)));
        let shares = shares(card);
        let used = shares.iter().sum::<usize>() + shares.len().min(TEXTS) * TEXT_FRAME;
        let spare = AGENT_TEXT.saturating_sub(used) / 2;
        Self {
            ask: &card.ask,
            open: card.tone == Tone::Open,
            page,
            files: Vec::new(),
            shares: shares.into_iter(),
            unseen: 0,
            field_room: FIELDS + spare,
            note_room: NOTES + spare,
            details: String::new(),
        }
    }

    fn agent_text(&mut self, label: &str, text: &str, style: Style) {
        let share = self.shares.next().unwrap_or_default();
        let whole = folded(text);
        let shown = fit(&whole, share);
        let escaped = visible(text) != text;
        if shown.hidden > 0 || escaped || whole != text {
            self.attach(label, text.to_owned());
        }
        if share == 0 {
            self.unseen += 1;
            return;
        }
        self.page.add(Style::Plain, "\n\n");
        self.page.add(Style::Bold, short(&one_line(label), LABEL));
        self.page.add(Style::Plain, "\n");
        self.page.add(style, shown.head);
        if let Some(tail) = shown.tail {
            let rest = if self.open { "; all is in the attached file" } else { "" };
            let hidden = shown.hidden;
            let missing = format!("\n⚠️ {hidden} characters are not shown here{rest}\n");
            self.page.add(Style::Plain, missing);
            self.page.add(style, tail);
        }
        if escaped {
            self.page.add(Style::Plain, "\n⚠️ invisible characters are shown as \\u{…}");
        }
    }

    fn fields(&mut self, fields: &[Field]) {
        if self.field_room == 0 {
            return self.details.extend(fields.iter().map(line));
        }
        self.field_room -= 1;
        self.page.add(Style::Plain, "\n");
        let most = FIELD_VALUE.max(self.field_room / fields.len().max(1));
        for (index, field) in fields.iter().enumerate() {
            let name = short(&one_line(&field.name), FIELD_NAME);
            let whole = field.value.replace('\n', "⏎");
            let value = openly_cut(&whole, most);
            let cost = name.chars().count() + value.chars().count() + 3;
            // The last line is kept for saying how many are missing.
            let Some(left) = self.field_room.checked_sub(cost).filter(|left| *left >= 30) else {
                let rest = fields.len() - index;
                self.page.add(Style::Plain, format!("\n… and {rest} more"));
                self.details.extend(fields.iter().skip(index).map(line));
                self.field_room = 0;
                return;
            };
            self.field_room = left;
            if value != visible(&whole) {
                self.details.push_str(&line(field));
            }
            self.page.add(Style::Plain, format!("\n{name}: "));
            self.page.add(Style::Code, value);
        }
    }

    fn note(&mut self, text: &str) {
        let mut room = self.note_room;
        if !self.own_words("ℹ️ ", text, &mut room) {
            self.details.push_str(&format!("{text}\n"));
        }
        self.note_room = room;
    }

    /// Whether all of it is shown.
    fn own_words(&mut self, sign: &str, text: &str, budget: &mut usize) -> bool {
        let room = budget.saturating_sub(sign.chars().count() + 2);
        let words = openly_cut(text, room);
        if !words.is_empty() {
            *budget = room - words.chars().count();
            self.page.add(Style::Plain, format!("\n\n{sign}{words}"));
        }
        words == visible(text)
    }

    fn footer(&mut self, card: &Card, now: Timestamp) {
        let details = std::mem::take(&mut self.details);
        if !details.is_empty() {
            self.attach("details", details);
        }
        if self.unseen > 0 {
            let rest = if self.open { "in the attached files" } else { "not shown here" };
            self.page.add(Style::Plain, format!("\n\n⚠️ {} more texts are {rest}", self.unseen));
        }
        self.page.add(Style::Plain, format!("\n\nask {}", short(self.ask, LABEL)));
        if let Some(at) = card.deadline.and_then(|ms| Timestamp::from_millisecond(ms).ok()) {
            self.page.add(Style::Plain, format!(" · ⏳ {}", until(at, now)));
        }
    }

    fn attach(&mut self, label: &str, text: String) {
        if self.open {
            let name = file_name(self.ask, label, self.files.len());
            self.files.push(File { name, text });
        }
    }
}

fn line(field: &Field) -> String {
    format!("{}: {}\n", field.name, field.value)
}

/// How many characters each of the card's agent texts gets: no more than it needs, and what the
/// short ones leave goes to the long ones.
fn shares(card: &Card) -> Vec<usize> {
    let needs: Vec<usize> = card
        .blocks
        .iter()
        .filter_map(|block| match block {
            Block::Code { text, .. } | Block::Quote { text, .. } => Some(text),
            _ => None,
        })
        .map(|text| folded(text).chars().take(AGENT_TEXT).map(width).sum())
        .collect();
    let shown = needs.len().min(TEXTS);
    let mut left = AGENT_TEXT - shown * TEXT_FRAME;
    let mut order: Vec<usize> = (0..shown).collect();
    order.sort_by_key(|index| needs.get(*index));
    let mut shares = vec![0; needs.len()];
    for (done, index) in order.into_iter().enumerate() {
        let fair = left / (shown - done);
        if let (Some(share), Some(need)) = (shares.get_mut(index), needs.get(index)) {
            *share = fair.min(*need).max(1);
            left = left.saturating_sub(*share);
        }
    }
    shares
}

fn sign(tone: Tone) -> &'static str {
    match tone {
        Tone::Open => "🔔",
        Tone::Approved => "✅",
        Tone::Denied => "⛔",
        Tone::Expired => "⌛",
        Tone::Cancelled => "⚪",
    }
}

fn until(at: Timestamp, now: Timestamp) -> String {
    let left = at.duration_since(now);
    let day =
        if left < SignedDuration::from_hours(20) { "%H:%M:%S UTC" } else { "%d %b %H:%M UTC" };
    let seconds = left.as_secs();
    let length = match seconds {
        ..=0 => "now".to_owned(),
        1..120 => format!("in {seconds} s"),
        120..7_200 => format!("in {} min", (seconds + 30) / 60),
        7_200..172_800 => format!("in {} h", (seconds + 1_800) / 3_600),
        _ => format!("in {} days", (seconds + 43_200) / 86_400),
    };
    format!("expires {}, {length}", at.strftime(day))
}

/// Names for people who keep the file; nothing from an agent but letters, digits and dashes.
fn file_name(ask: &str, label: &str, index: usize) -> String {
    let plain = |text: &str| -> String {
        text.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(24).collect()
    };
    let number = if index == 0 { String::new() } else { format!("-{}", index + 1) };
    format!("{}-{}{number}.txt", plain(ask), plain(label))
}

#[cfg(test)]
mod tests;
