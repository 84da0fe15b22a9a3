//! A card as a Telegram message: at most 4096 characters, whole or openly cut, files for the rest.

use crate::attachment::File;
use crate::keyboard::{Keyboard, Menu, keyboard};
use crate::page::Page;
use crate::sheet::{LEAST, Sheet, texts};
use countersign_port::Card;
use jiff::Timestamp;

/// The most that a message holds. Telegram counts code points; UTF-16 units are never fewer.
const LIMIT: usize = 4_096;
/// Room that cuts nothing which could fit: words beside what would run get half of it.
const WHOLE: usize = 2 * LIMIT;
/// No card has more blocks than this to read on a phone.
const BLOCKS: usize = 100;

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

/// Draws a card as it stands at `now`, with this keyboard under it.
pub(crate) fn render(card: &Card, menu: Menu, now: Timestamp) -> Rendered {
    let texts = texts(card);
    let whole = Sheet::compose(card, &texts, card.blocks.len().min(BLOCKS), WHOLE, now);
    let sheet = if whole.units() <= LIMIT { whole } else { cut(card, &texts, now) };
    Rendered { page: sheet.page, files: sheet.files, keyboard: keyboard(card, menu) }
}

/// The card with as much of its texts as fits, and with fewer blocks where that is not enough.
fn cut<'a>(card: &'a Card, texts: &'a [String], now: Timestamp) -> Sheet<'a> {
    let fits = |blocks, room| Sheet::compose(card, texts, blocks, room, now).units() <= LIMIT;
    let blocks = most(0, card.blocks.len().min(BLOCKS), |blocks| fits(blocks, LEAST));
    let room = most(LEAST, WHOLE, |room| fits(blocks, room));
    Sheet::compose(card, texts, blocks, room, now)
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

#[cfg(test)]
mod tests;
