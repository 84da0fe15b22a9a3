//! A card as the text, buttons and files of a Discord message.
//!
//! Text and not an embed: people can switch embeds off, servers can forbid them, and then a card
//! would be buttons without the command.

use crate::markdown::{code, diff, escape, one_line, quote, units};
use countersign_port::{
    Block, Button, ButtonStyle, Card, Dress, Limits, Look, Markup, TextFile, excerpt, lay_out,
};
use serenity::all::{
    ButtonStyle as Style, CreateActionRow, CreateButton, CreateSelectMenu, CreateSelectMenuKind,
    CreateSelectMenuOption,
};

/// The most that a message's text holds, less the line that mentions a role.
const LIMIT: usize = 2000 - 30;
const LIMITS: Limits = Limits { units: LIMIT, least: 40, files: 10 };

/// A drawn card.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RenderedCard {
    /// At most 2000 long, markdown.
    pub content: String,
    /// The buttons.
    pub rows: Vec<CreateActionRow>,
    /// What the content does not show whole.
    pub files: Vec<TextFile>,
}

/// Draws a card. Whatever it holds, it fits, and what is left out is said and attached.
pub(crate) fn draw(card: &Card) -> RenderedCard {
    let layout = lay_out(card, LIMITS, &Content::default());
    RenderedCard { content: layout.page.markdown, rows: rows(card), files: layout.files }
}

/// A card's text while it is written.
#[derive(Debug, Clone, Default)]
struct Content {
    markdown: String,
    line: Line,
    /// Among what is rarely needed.
    folds: bool,
    /// Whether lines are small print.
    small: bool,
}

/// Where the next words go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Line {
    /// On the first line.
    #[default]
    First,
    /// On a line that holds words.
    Begun,
    /// On the next line.
    Ended,
}

impl Content {
    /// Markdown on the current line.
    fn put(&mut self, markdown: &str) {
        if markdown.is_empty() {
            return;
        }
        let is_new = self.line != Line::Begun;
        self.next_line();
        if !self.small {
            return self.markdown.push_str(markdown);
        }
        for (nth, line) in markdown.split('\n').enumerate() {
            let end = if nth > 0 { "\n" } else { "" };
            let small = if (nth > 0 || is_new) && !line.is_empty() { "-# " } else { "" };
            self.markdown.extend([end, small, line]);
        }
    }

    /// A text between marks, which Discord does not take for such where a blank is within.
    fn marked(&mut self, mark: &str, text: &str) {
        let inner = text.trim_matches(' ');
        let (before, behind) = text.split_once(inner).unwrap_or_default();
        match inner {
            "" => self.put(text),
            inner => self.put(&format!("{before}{mark}{}{mark}{behind}", escape(inner))),
        }
    }

    fn next_line(&mut self) {
        if self.line == Line::Ended {
            self.markdown.push('\n');
        }
        self.line = Line::Begun;
    }
}

impl Markup for Content {
    const FOLDS: bool = false;
    const REASON_ON_LINE: bool = false;
    const BESIDE: &'static str = "";

    fn units(&self) -> usize {
        units(&self.markdown)
    }

    fn add(&mut self, words: &str, look: Look) {
        match look {
            Look::Plain | Look::Sign => self.put(words),
            Look::Label | Look::Agent | Look::Name => self.marked("**", words),
            Look::Remark => self.marked("*", words),
            Look::Own | Look::Value => self.put(&escape(words)),
        }
    }

    fn end_line(&mut self) {
        if self.line == Line::Begun {
            self.line = Line::Ended;
        }
    }

    fn deadline(&mut self, between: &str, at: i64) {
        let at = at.div_euclid(1000);
        self.put(&format!("{between}⏳ until <t:{at}:t>, <t:{at}:R>"));
    }

    fn boxed(&mut self, text: &str, dress: Dress) {
        self.next_line();
        let dressed = match dress {
            Dress::Code => code(text),
            Dress::Diff => diff(text),
            Dress::Quote | Dress::Reason => quote(text, if self.small { "-# " } else { "" }),
        };
        self.markdown.push_str(&dressed);
    }

    fn fold(&mut self) {
        self.folds = true;
    }

    fn unfold(&mut self) {
        (self.folds, self.small) = (false, false);
    }

    // There is no small print for code.
    fn begin(&mut self, block: &Block) {
        self.small = self.folds && !matches!(block, Block::Code { .. } | Block::Diff { .. });
    }
}

/// What a message holds, and what a select holds.
const ROWS: usize = 5;
const OPTIONS: usize = 25;
/// What a button's label and an option's label hold.
const LABEL: usize = 80;

fn rows(card: &Card) -> Vec<CreateActionRow> {
    let more = select(card);
    let buttons = card.buttons.iter().filter(|row| !row.is_empty());
    let buttons = buttons.take(ROWS - usize::from(more.is_some()));
    let row = |row: &Vec<Button>| CreateActionRow::Buttons(row.iter().map(button).collect());
    buttons.map(row).chain(more).collect()
}

/// What is behind *More…*. Each option carries its button's token.
fn select(card: &Card) -> Option<CreateActionRow> {
    let option = |button: &Button| CreateSelectMenuOption::new(label(button), &button.token);
    let options: Vec<_> = card.more.iter().take(OPTIONS).map(option).collect();
    if options.is_empty() {
        return None;
    }
    let kind = CreateSelectMenuKind::String { options };
    let select = CreateSelectMenu::new(format!("{}:more", card.id), kind).placeholder("More…");
    Some(CreateActionRow::SelectMenu(select))
}

fn button(button: &Button) -> CreateButton {
    let style = match button.style {
        ButtonStyle::Approve | ButtonStyle::Submit => Style::Success,
        ButtonStyle::Always | ButtonStyle::Chosen => Style::Primary,
        ButtonStyle::Deny | ButtonStyle::Confirm => Style::Danger,
        ButtonStyle::Choice | ButtonStyle::Text | ButtonStyle::Open => Style::Secondary,
    };
    CreateButton::new(&button.token).style(style).label(label(button))
}

fn label(button: &Button) -> String {
    let label = one_line(&button.label);
    // Discord counts, and trims, in a way of its own: UTF-16 units are never fewer.
    let mut label = excerpt(&label, LABEL).head;
    while units(&label) > LABEL {
        label.pop();
    }
    if label.trim().is_empty() { "…".to_owned() } else { label }
}

#[cfg(test)]
mod tests;
