//! The card of a review: a call that ran without asking, and whether it should have asked.

use super::{
    super::token::Pressed,
    maker::Maker,
    rows::{Buttons, row},
    sheet::Sheet,
};
use countersign_gate::ask::{Ask, Body, Scope, review::CallReview};
use countersign_port::{ButtonStyle, line};
use countersign_tokens::clock;
use std::borrow::Cow;

/// A review's ask as its card shows it: under the agent whose call ran.
pub(super) fn by_its_agent(ask: &Ask) -> Cow<'_, Ask> {
    let Some(review) = &ask.body.review else { return Cow::Borrowed(ask) };
    let call = review.reviewed(&ask.body.call);
    Cow::Owned(Ask { body: Body { call, ..ask.body.clone() }, ..ask.clone() })
}

/// Says what let the call run, and what the buttons do.
pub(super) fn draw(ask: &Ask, review: &CallReview, sheet: &mut Sheet) {
    let at = clock::short(review.at);
    sheet.note(format!("It ran at {at} without asking, by {}.", line(&review.through)));
    if ask.is_open() {
        sheet.note(format!("{} Fine changes nothing.", line(&review.tightening.promise())));
    }
}

pub(super) fn buttons(maker: Maker<'_>) -> Buttons {
    let fine = maker.button("Fine", ButtonStyle::Approve, Pressed::Approve(Scope::Once));
    let should = maker.button("Should have asked", ButtonStyle::Deny, Pressed::Deny);
    Buttons { rows: vec![row([fine, should])], more: Vec::new() }
}
