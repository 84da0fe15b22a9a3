//! The card that asks whether to resume an agent that a limit has paused.

use super::{
    super::token::Pressed,
    maker::Maker,
    rows::{Buttons, row},
    sheet::Sheet,
};
use countersign_gate::ask::{Ask, Scope};
use countersign_port::ButtonStyle;

/// Says what a pause of one agent means.
pub(super) fn draw(ask: &Ask, sheet: &mut Sheet) {
    if ask.is_open() {
        sheet.note("Its calls are denied until somebody resumes it.");
        sheet.note("What it asked before can be answered, and does not count any more.");
    }
}

pub(super) fn buttons(maker: Maker<'_>) -> Buttons {
    let resume = maker.button("Resume", ButtonStyle::Approve, Pressed::Approve(Scope::Once));
    let stay = maker.button("Keep it paused", ButtonStyle::Deny, Pressed::Deny);
    Buttons { rows: vec![row([resume, stay])], more: Vec::new() }
}
