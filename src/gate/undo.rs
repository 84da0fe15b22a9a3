//! Undoing an answer: for ten minutes an approver can revoke the rules that it stored.

use super::{
    approvers::{Approver, person},
    ask::{Answer, Ask, Undone},
    refusal::Refusal,
};
use countersign_tokens::clock;

/// Decides what an approver's attempt to undo an answer comes to. Pure.
///
/// # Errors
/// [`Refusal`], with words for the presser.
pub(super) fn apply(ask: &Ask, by: &Approver, now: i64) -> Result<Undone, Refusal> {
    let Some(answer) = ask.answer() else {
        return Err(Refusal::Unfit("It is not answered yet: approve it or deny it.".to_owned()));
    };
    if let Some(undone) = &answer.stored.undone {
        let (by, at) = (&undone.by, clock::short(undone.at));
        return Err(Refusal::Closed(format!("Already undone by {by} at {at}.")));
    }
    if stored_nothing(ask, answer) {
        let nothing = "This answer stored no rule, so there is nothing to undo.";
        return Err(Refusal::Unfit(nothing.to_owned()));
    }
    match answer.stored.undo_until {
        Some(until) if now < until => Ok(Undone { by: person(by), at: now }),
        _ => Err(Refusal::Over(
            "Too late: an answer can be undone for 10 minutes. Its rules still hold; `countersign \
             grants revoke` takes them back."
                .to_owned(),
        )),
    }
}

fn stored_nothing(ask: &Ask, answer: &Answer) -> bool {
    ask.body.call.budget.is_none() && ask.body.stored_rules(answer).is_empty()
}

/// What the person who undid an answer is told. `kept` says why its rule is still in the file.
pub(super) fn sentence(ask: &Ask, kept: Option<&str>) -> String {
    if ask.body.call.budget.is_some() {
        return "Undone: what is left of the budget asks again.".to_owned();
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
