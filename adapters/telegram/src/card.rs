//! A card as a Telegram message: its text in Telegram's markup, its files and its two keyboards.

use crate::page::{Page, Style};
use countersign_port::{
    Button, ButtonStyle, Card, Dress, Limits, Look, Markup, TextFile, cut, lay_out, visible,
};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

/// What a message holds. Telegram counts code points; UTF-16 units are never fewer. Each file is a
/// message of its own, so a card that is over has none.
const OPEN: Limits = Limits { units: 4_096, least: 40, files: 4 };
const OVER: Limits = Limits { files: 0, ..OPEN };

/// A card, ready to be sent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rendered {
    pub(crate) page: Page,
    /// What the message of an open card does not show exactly. The card says that these are
    /// attached.
    pub(crate) files: Vec<TextFile>,
    /// `None` takes the buttons away.
    pub(crate) keyboard: Option<Keyboard>,
}

/// Draws a card as it is at `now`, with this keyboard under it.
pub(crate) fn render(card: &Card, menu: Menu, now: Timestamp) -> Rendered {
    let limits = if card.tone.is_open() { OPEN } else { OVER };
    let blank = CardPage { page: Page::default(), now, line: Line::Fresh, folds: false };
    let layout = lay_out(card, limits, &blank);
    Rendered { page: layout.page.page, files: layout.files, keyboard: keyboard(card, menu) }
}

/// A card's text while it is written.
#[derive(Clone)]
struct CardPage {
    page: Page,
    now: Timestamp,
    line: Line,
    /// Inside of the fold.
    folds: bool,
}

/// Where the next words go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Line {
    /// On a line that is empty.
    Fresh,
    /// On a line that holds words.
    Begun,
    /// On the next line.
    Ended,
}

impl CardPage {
    fn put(&mut self, style: Style, text: &str) {
        if text.is_empty() {
            return;
        }
        self.next_line();
        self.page.add(style, text);
        self.line = Line::Begun;
    }

    fn next_line(&mut self) {
        if self.line == Line::Ended {
            self.page.add(Style::Plain, "\n");
            self.line = Line::Fresh;
        }
    }
}

impl Markup for CardPage {
    const FOLDS: bool = true;
    const REASON_ON_LINE: bool = true;
    const BESIDE: &'static str = "";

    fn units(&self) -> usize {
        self.page.text().encode_utf16().count()
    }

    fn add(&mut self, words: &str, look: Look) {
        match look {
            Look::Plain | Look::Name => self.put(Style::Plain, words),
            Look::Sign | Look::Label => self.put(Style::Bold, words),
            Look::Agent | Look::Value => self.put(Style::Code, words),
            // They quote names, paths and hosts: whatever Telegram would make a link, a mention, a
            // command or a tag of stands as code.
            Look::Own | Look::Remark => words.split_inclusive(' ').for_each(|word| {
                self.put(if is_linked(word) { Style::Code } else { Style::Plain }, word);
            }),
        }
    }

    fn end_line(&mut self) {
        if self.line == Line::Begun {
            self.line = Line::Ended;
        }
    }

    fn deadline(&mut self, between: &str, at: i64) {
        if let Ok(at) = Timestamp::from_millisecond(at) {
            self.put(Style::Plain, &format!("{between}{}", until(at, self.now)));
        }
    }

    fn boxed(&mut self, text: &str, dress: Dress) {
        // Telegram folds no blocks of code.
        let style = match dress {
            Dress::Code if !self.folds => Style::Pre,
            Dress::Diff if !self.folds => Style::Diff,
            Dress::Code | Dress::Diff | Dress::Quote | Dress::Reason => Style::Code,
        };
        self.put(style, text);
    }

    fn fold(&mut self) {
        self.next_line();
        self.page.fold();
        self.folds = true;
    }

    fn unfold(&mut self) {
        self.folds = false;
        self.page.unfold();
    }

    /// At the end of the fold where there is one.
    fn ask(&mut self, id: &str) {
        self.line = Line::Fresh;
        let in_fold = self.page.refold();
        self.page.add(Style::Plain, format!("\nask {}", short(id, 40)));
        if in_fold {
            self.page.unfold();
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

/// The time that is left, and when it ends: the message does not count down by itself.
fn until(at: Timestamp, now: Timestamp) -> String {
    let left = at.duration_since(now);
    let day = if left < SignedDuration::from_hours(20) { "%H:%M UTC" } else { "%d %b %H:%M UTC" };
    let seconds = left.as_secs();
    let length = match seconds {
        ..=0 => "0 s".to_owned(),
        1..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", (seconds + 30) / 60),
        7_200..172_800 => format!("{} h", (seconds + 1_800) / 3_600),
        _ => format!("{} days", (seconds + 43_200) / 86_400),
    };
    format!("⏳ until {}, {length} left", at.strftime(day))
}

/// What a client shows of a label before it cuts it.
const LABEL: usize = 60;

/// Which of a card's two keyboards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Menu {
    /// The card's buttons, and *More…*.
    Main,
    /// What is behind *More…*, and *Back*.
    More,
}

impl Menu {
    /// What the button that opens it carries behind the card's id. Tokens of the core have no `:`.
    const fn mark(self) -> &'static str {
        match self {
            Self::Main => ":back",
            Self::More => ":more",
        }
    }

    /// The card and the keyboard that a button of ours opens; `None` for buttons of the core.
    pub(crate) fn opened(data: &str) -> Option<(&str, Self)> {
        [Self::Main, Self::More]
            .into_iter()
            .find_map(|menu| Some((data.strip_suffix(menu.mark())?, menu)))
    }
}

/// So many characters fit on each of two buttons in a row of a phone.
const HALF: usize = 17;

/// An inline keyboard. teloxide's own cannot say how a button looks (Bot API 9.4); servers and
/// clients that do not know it either leave it out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Keyboard {
    inline_keyboard: Vec<Vec<KeyboardButton>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct KeyboardButton {
    text: String,
    callback_data: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    style: Option<&'static str>,
}

/// The keyboard of a card; `None` where there is nothing to press.
pub(crate) fn keyboard(card: &Card, menu: Menu) -> Option<Keyboard> {
    let opener = |label: &str, menu: Menu| {
        let callback_data = format!("{}{}", card.id, menu.mark());
        vec![KeyboardButton { text: label.to_owned(), callback_data, style: None }]
    };
    let (mut inline_keyboard, last) = match menu {
        Menu::More if !card.more.is_empty() => {
            (paired(&card.more), Some(opener("‹ Back", Menu::Main)))
        }
        Menu::Main | Menu::More => {
            let rows = card.buttons.iter().filter(|row| !row.is_empty());
            let rows: Vec<Vec<KeyboardButton>> =
                rows.map(|row| row.iter().map(key).collect()).collect();
            (rows, (!card.more.is_empty()).then(|| opener("More…", Menu::More)))
        }
    };
    inline_keyboard.extend(last);
    (!inline_keyboard.is_empty()).then_some(Keyboard { inline_keyboard })
}

/// Two short buttons a row, or one that is long.
fn paired(buttons: &[Button]) -> Vec<Vec<KeyboardButton>> {
    let is_short = |button: &Button| button.label.chars().count() <= HALF;
    let mut rows: Vec<Vec<KeyboardButton>> = Vec::new();
    let mut open = false;
    for button in buttons {
        match rows.last_mut().filter(|_| open && is_short(button)) {
            Some(row) => {
                row.push(key(button));
                open = false;
            }
            None => {
                rows.push(vec![key(button)]);
                open = is_short(button);
            }
        }
    }
    rows
}

fn key(button: &Button) -> KeyboardButton {
    let label = short(&one_line(&button.label), LABEL);
    let text = match button.style {
        ButtonStyle::Chosen => format!("☑ {label}"),
        // Telegram drops a button without a label in silence.
        _ if label.is_empty() => "…".to_owned(),
        _ => label,
    };
    let style = match button.style {
        ButtonStyle::Approve => Some("success"),
        ButtonStyle::Deny | ButtonStyle::Confirm => Some("danger"),
        ButtonStyle::Submit => Some("primary"),
        // Always is more than Approve, so it must not look like the easy choice.
        ButtonStyle::Always
        | ButtonStyle::Choice
        | ButtonStyle::Chosen
        | ButtonStyle::Text
        | ButtonStyle::Open => None,
    };
    KeyboardButton { text, callback_data: button.token.clone(), style }
}

/// Made visible, cut with an ellipsis.
fn short(text: &str, most: usize) -> String {
    cut(&visible(text), most)
}

/// Runs of white space become one blank.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
