//! The card of a budget: every call whole, once each, for how long.

use super::{
    super::token::Pressed,
    maker::Maker,
    rows::{Buttons, row},
    sheet::Sheet,
};
use countersign_gate::{
    ask::{Ask, Scope, budget::Budget},
    lasting,
};
use countersign_people::answer::TextPurpose;
use countersign_port::ButtonStyle;

/// The first line.
pub(super) fn title(budget: &Budget) -> String {
    let (many, time) = (budget.calls.len(), lasting(budget.for_s));
    let calls = if many == 1 { "call" } else { "calls" };
    format!("{many} {calls} ahead, once each, for {time}")
}

/// All calls, each on its line behind its number.
// SECURITY: a call has one line, so what stands behind a number is one call.
pub(super) fn draw(ask: &Ask, budget: &Budget, sheet: &mut Sheet) {
    let cwd = ask.body.call.cwd.as_deref();
    let lines = budget.calls.iter().enumerate();
    let lines = lines.map(|(at, call)| format!("{}: {}", at + 1, call.text(cwd)));
    sheet.code("each of these once", &lines.collect::<Vec<_>>().join("\n"));
    if ask.is_open() {
        sheet.note(format!(
            "Approve lets exactly these run without asking, for {}. What is critical by then asks.",
            lasting(budget.for_s)
        ));
    }
}

pub(super) fn buttons(budget: &Budget, maker: Maker<'_>) -> Buttons {
    let label = format!("Approve these {}", budget.calls.len());
    let approve = maker.button(&label, ButtonStyle::Approve, Pressed::Approve(Scope::Once));
    let deny = maker.button("Deny", ButtonStyle::Deny, Pressed::Deny);
    let reason =
        maker.button("Deny with reason…", ButtonStyle::Text, Pressed::Words(TextPurpose::Reason));
    Buttons { rows: vec![row([approve, deny])], more: row([reason]) }
}
