//! A card as the text, buttons and files of a Discord message.
//!
//! Text and not an embed: people can switch embeds off, servers can forbid them, and then a card
//! would be buttons without the command.

use crate::sheet::{File, LEAST, Sheet, texts};
use countersign_port::{Button, ButtonStyle, Card, excerpt};
use serenity::all::{ButtonStyle as Style, CreateActionRow, CreateButton};

/// The most that a message's text holds.
const LIMIT: usize = 2000;
/// Room that cuts nothing which could fit: words beside what would run get half of it.
const WHOLE: usize = 2 * LIMIT;
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

/// Draws a card. Whatever it holds, it fits, and what is left out is said and attached.
pub(crate) fn draw(card: &Card) -> Drawn {
    let texts = texts(card);
    let whole = Sheet::compose(card, &texts, card.blocks.len().min(BLOCKS), WHOLE);
    let sheet = if whole.units() <= LIMIT { whole } else { cut(card, &texts) };
    Drawn { content: sheet.content, rows: rows(&card.buttons), files: sheet.files }
}

/// The card with as much of its texts as fits, and with fewer blocks where that is not enough.
fn cut<'a>(card: &'a Card, texts: &'a [String]) -> Sheet<'a> {
    let fits = |blocks, room| Sheet::compose(card, texts, blocks, room).units() <= LIMIT;
    let blocks = most(0, card.blocks.len().min(BLOCKS), |blocks| fits(blocks, LEAST));
    let room = most(LEAST, WHOLE, |room| fits(blocks, room));
    Sheet::compose(card, texts, blocks, room)
}

/// The most of `from..=to` that fits, or `from`.
fn most(from: usize, to: usize, fits: impl Fn(usize) -> bool) -> usize {
    let (mut good, mut beyond) = (from, to + 1);
    while beyond - good > 1 {
        let middle = good.midpoint(beyond);
        if fits(middle) {
            good = middle;
        } else {
            beyond = middle;
        }
    }
    good
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

#[cfg(test)]
mod tests;
