//! Undoing an answer: for ten minutes an approver can revoke the rules that it stored.

use super::ask::Ask;

/// What the person who undid an answer is told. `kept` says why its rule is still in the file.
pub(super) fn sentence(ask: &Ask, kept: Option<&str>) -> String {
    if ask.body.call.budget.is_some() {
        return "Undone: what is left of the budget asks again.".to_owned();
    }
    if ask.body.call.appeal.is_some() {
        return "Undone: unless it ran already, it stays blocked.".to_owned();
    }
    let rules = ask.answer().map(|answer| ask.body.stored(answer)).unwrap_or_default();
    let hold = if rules.len() == 1 { "holds" } else { "hold" };
    match kept {
        None => format!(
            "Undone: {} no longer {hold}. A call that already runs is not stopped.",
            rules.join(", ")
        ),
        Some(why) => format!("Undone, but the rules file still has a rule of it: {why}"),
    }
}
