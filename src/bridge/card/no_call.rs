//! Cards of asks that are no call: a budget of calls ahead, a review of a call that ran, and an
//! agent that a limit has paused.

use crate::{
    card::{
        Sheet,
        buttons::{Buttons, Maker, deny_with_reason, row},
    },
    token::Pressed,
};
use countersign_gate::{
    ask::{Ask, Body, Scope, budget::Budget, review::CallReview},
    lasting,
};
use countersign_port::{ButtonStyle, line};
use countersign_tokens::clock;
use std::borrow::Cow;

/// The first line of a budget.
pub(super) fn budget_title(budget: &Budget) -> String {
    let many = budget.calls.len();
    let time = lasting(budget.for_s);
    let calls = if many == 1 { "call" } else { "calls" };
    format!("{many} {calls} ahead, once each, for {time}")
}

/// All calls of a budget, each on its line behind its number.
// SECURITY: a call has one line, so what stands behind a number is one call.
pub(super) fn draw_budget(ask: &Ask, budget: &Budget, sheet: &mut Sheet) {
    let cwd = ask.body.call.cwd.as_deref();
    let lines = budget.calls.iter().enumerate();
    let lines = lines.map(|(at, call)| format!("{}: {}", at + 1, call.text(cwd)));
    sheet.whole_code("each of these once", &lines.collect::<Vec<_>>().join("\n"));
    if ask.is_open() {
        sheet.note(format!(
            "Approve lets exactly these run without asking, for {}. What is critical by then asks.",
            lasting(budget.for_s)
        ));
    }
}

pub(super) fn budget_buttons(budget: &Budget, maker: Maker<'_>) -> Buttons {
    let label = format!("Approve these {}", budget.calls.len());
    let approve = maker.button(&label, ButtonStyle::Approve, Pressed::Approve(Scope::Once));
    let deny = maker.button("Deny", ButtonStyle::Deny, Pressed::Deny);
    Buttons { rows: vec![row([approve, deny])], more: row([deny_with_reason(maker)]) }
}

/// A review's ask as its card shows it: under the agent whose call ran.
pub(super) fn by_its_agent(ask: &Ask) -> Cow<'_, Ask> {
    let Some(review) = &ask.body.review else { return Cow::Borrowed(ask) };
    let call = review.reviewed(&ask.body.call);
    Cow::Owned(Ask { body: Body { call, ..ask.body.clone() }, ..ask.clone() })
}

/// Says what let the call run, and what the buttons do.
pub(super) fn draw_review(ask: &Ask, review: &CallReview, sheet: &mut Sheet) {
    let at = clock::short(review.at);
    sheet.note(format!("It ran at {at} without asking, by {}.", line(&review.through)));
    if ask.is_open() {
        sheet.note(format!("{} Fine changes nothing.", line(&review.tightening.promise())));
    }
}

pub(super) fn review_buttons(maker: Maker<'_>) -> Buttons {
    let fine = maker.button("Fine", ButtonStyle::Approve, Pressed::Approve(Scope::Once));
    let should = maker.button("Should have asked", ButtonStyle::Deny, Pressed::Deny);
    Buttons { rows: vec![row([fine, should])], more: Vec::new() }
}

/// Says what a pause of one agent means.
pub(super) fn draw_resumption(ask: &Ask, sheet: &mut Sheet) {
    if ask.is_open() {
        sheet.note("Its calls are denied until somebody resumes it.");
        sheet.note("What it asked before can be answered, and does not count any more.");
    }
}

pub(super) fn resumption_buttons(maker: Maker<'_>) -> Buttons {
    let resume = maker.button("Resume", ButtonStyle::Approve, Pressed::Approve(Scope::Once));
    let stay = maker.button("Keep it paused", ButtonStyle::Deny, Pressed::Deny);
    Buttons { rows: vec![row([resume, stay])], more: Vec::new() }
}
