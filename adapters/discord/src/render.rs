//! A card as the text, buttons and files of a Discord message.
//!
//! Text and not an embed: people can switch embeds off, servers can forbid them, and then a card
//! would be buttons without the command.

use crate::markdown::{one_line, units};
use crate::sheet::{LEAST, MessageContent, TextFile, texts};
use countersign_port::{Button, ButtonStyle, Card, MessageSize, excerpt, fitted};
use serenity::all::{
    ButtonStyle as Style, CreateActionRow, CreateButton, CreateSelectMenu, CreateSelectMenuKind,
    CreateSelectMenuOption,
};

/// The most that a message's text holds, less the line that mentions a role.
const LIMIT: usize = 2000 - 30;
const SIZE: MessageSize = MessageSize { limit: LIMIT, least: LEAST };

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
    let texts = texts(card);
    let compose = |blocks, room| MessageContent::compose(card, &texts, blocks, room);
    let sheet = fitted(card, SIZE, compose, MessageContent::units);
    RenderedCard { content: sheet.content, rows: rows(card), files: sheet.files }
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
