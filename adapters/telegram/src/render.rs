//! A card as a Telegram message: at most 4096 characters, whole or openly cut, files for the rest.

use crate::attachment::Document;
use crate::keyboard::{Keyboard, Menu, keyboard};
use crate::page::Page;
use crate::sheet::{LEAST, PageLayout, texts};
use countersign_port::{Card, MessageSize, fitted};
use jiff::Timestamp;

/// What a message holds. Telegram counts code points; UTF-16 units are never fewer.
const SIZE: MessageSize = MessageSize { limit: 4_096, least: LEAST };

/// A card, ready to be sent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rendered {
    pub(crate) page: Page,
    /// What the message of an open card does not show exactly. The card says that these are
    /// attached.
    pub(crate) files: Vec<Document>,
    /// `None` takes the buttons away.
    pub(crate) keyboard: Option<Keyboard>,
}

/// Draws a card as it is at `now`, with this keyboard under it.
pub(crate) fn render(card: &Card, menu: Menu, now: Timestamp) -> Rendered {
    let texts = texts(card);
    let compose = |blocks, room| PageLayout::compose(card, &texts, blocks, room, now);
    let sheet = fitted(card, SIZE, compose, PageLayout::units);
    Rendered { page: sheet.page, files: sheet.files, keyboard: keyboard(card, menu) }
}

#[cfg(test)]
mod tests;
