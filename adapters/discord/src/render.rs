//! A card as the text, buttons and files of a Discord message.
//!
//! Text and not an embed: people can switch embeds off, servers can forbid them, and then a card would
//! be buttons without the command.

use crate::sheet::Sheet;
use countersign_port::{Button, ButtonStyle, Card, excerpt};
use serenity::all::{ButtonStyle as Style, CreateActionRow, CreateButton};

/// The most that a message's text holds.
const LIMIT: usize = 2000;
/// What a text is cut to before whole blocks are left out.
const LEAST: usize = 16;
/// No card has more blocks than this to read on a phone.
const BLOCKS: usize = 100;

/// A drawn card.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Drawn {
    /// At most 2000 long, markdown.
    pub content: String,
    /// The buttons.
    pub rows: Vec<CreateActionRow>,
    /// What the content does not show whole.
    pub files: Vec<File>,
}

/// A text that stands with a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct File {
    /// Letters, digits, `-`, `_` and `.`, so that Discord keeps it.
    pub name: String,
    /// Exactly.
    pub text: String,
}

/// Draws a card. Whatever it holds, it fits, and what is left out is said and attached.
pub(crate) fn draw(card: &Card) -> Drawn {
    let all = card.blocks.len();
    let whole = Sheet::compose(card, all.min(BLOCKS), LIMIT);
    let sheet = if whole.units() <= LIMIT { whole } else { cut(card) };
    Drawn { content: sheet.content, rows: rows(&card.buttons), files: sheet.files }
}

/// The card with as much of its texts as fits, and with fewer blocks where that is not enough.
fn cut(card: &Card) -> Sheet<'_> {
    let mut blocks = card.blocks.len().min(BLOCKS);
    let mut best = Sheet::compose(card, blocks, LEAST);
    while best.units() > LIMIT && blocks > 0 {
        blocks -= 1;
        best = Sheet::compose(card, blocks, LEAST);
    }
    let (mut room, mut too_much) = (LEAST, LIMIT);
    while too_much - room > 1 {
        let middle = room.midpoint(too_much);
        let sheet = Sheet::compose(card, blocks, middle);
        if sheet.units() <= LIMIT {
            (room, best) = (middle, sheet);
        } else {
            too_much = middle;
        }
    }
    best
}

fn rows(buttons: &[Vec<Button>]) -> Vec<CreateActionRow> {
    let rows = buttons.iter().filter(|row| !row.is_empty());
    rows.map(|row| CreateActionRow::Buttons(row.iter().map(button).collect())).collect()
}

fn button(button: &Button) -> CreateButton {
    let style = match button.style {
        ButtonStyle::Approve | ButtonStyle::Submit => Style::Success,
        ButtonStyle::Always | ButtonStyle::Chosen => Style::Primary,
        ButtonStyle::Deny => Style::Danger,
        ButtonStyle::Choice | ButtonStyle::Text => Style::Secondary,
    };
    let label = crate::markdown::one_line(&button.label);
    let label = if label.trim().is_empty() { "…" } else { &label };
    CreateButton::new(&button.token).style(style).label(excerpt(label, 80).head)
}
