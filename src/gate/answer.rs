//! What an attempt to answer comes to. Pure: no clock, no store; the store's compare-and-set has
//! the last word.

pub use super::{
    action::{Action, EditStep, TextPurpose},
    approvers::person,
    refusal::Refusal,
};

use super::{
    approvers::Approver,
    ask::{
        Answer, Ask, By, Decision, Scope, StoredRules, Undone,
        edit::{ProposedEdit, UpdatedInput, editable, edited_text},
    },
    call::Accepts,
    question::{Progress, Question, QuestionAnswer, all_at_once},
    undo,
};
use countersign_tokens::clock;

/// What a valid attempt comes to.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub enum Change {
    /// The ask is answered.
    Close(Box<Answer>),
    /// The ask stays open with more answered.
    Go(Progress),
    /// Nothing changes yet; the person is asked for text with these words.
    WantText(String),
    /// What the answer stored is revoked.
    Undo(Undone),
    /// Nothing changes.
    Nothing,
}

const NO_APPROVAL: &str = "This is a question: choose an answer, or decline to answer.";
/// How a person is asked for words.
const REASON: &str = "Why not? The agent reads your words as they are.";
const EDIT: &str =
    "What should it be instead? Send the whole text. You see the change before it counts.";
pub(super) const NO_EDIT: &str = "There is no command or new text here that could be changed.";
const NOTE: &str = "What should the agent know? Your text approves the call, once.";

/// Decides what an approver's attempt comes to.
///
/// # Errors
/// [`Refusal`], with words for the presser.
pub fn apply(ask: &Ask, by: &Approver, action: Action, now: i64) -> Result<Change, Refusal> {
    if action == Action::Undo {
        return undo::apply(ask, by, now).map(Change::Undo);
    }
    if let Some(answer) = ask.answer() {
        let closed = match ask.body.review {
            Some(_) => reviewed_already(answer),
            None => already(answer),
        };
        return Err(Refusal::Closed(closed));
    }
    if let Some(deadline) = ask.deadline_at.filter(|deadline| *deadline <= now) {
        return Err(Refusal::Late(clock::short(deadline)));
    }
    let new = |decision| Answer::new(decision, person(by), now);
    let approve = |scope| Answer { scope: Some(scope), ..new(Decision::Approve) };
    let questions = &ask.body.call.questions;
    let step = |progress: Progress| {
        if progress.current() < questions.len() {
            return Ok(Change::Go(progress));
        }
        let answers = Some(progress.answers(questions));
        close(Answer { answers, ..new(Decision::Answer) })
    };
    match action {
        Action::Deny { reason, then } => {
            let then = then.unwrap_or(ask.body.deny);
            close(Answer { reason, then, ..new(Decision::Deny) })
        }
        // FAIL-CLOSED: a person who approves while a change is proposed may mean the change.
        Action::Approve { .. }
        | Action::ApproveParts(_)
        | Action::Words { wanted: TextPurpose::Note, .. }
            if ask.progress.edit.is_some() =>
        {
            unfit("A change is proposed: approve that, or drop it first. The card shows it.")
        }
        // FAIL-CLOSED: approving a question would make up an answer to it.
        Action::Approve { .. } | Action::ApproveParts(_) if ask.is_question() => unfit(NO_APPROVAL),
        Action::Approve { scope } if !ask.body.offers(scope) => {
            unfit("There is no rule to remember for this call: approve it once, or deny it.")
        }
        Action::Approve { scope } => close(approve(scope)),
        Action::Words { wanted, text: None } => match wanted {
            TextPurpose::Note if ask.is_question() => unfit(NO_APPROVAL),
            TextPurpose::Reason => Ok(Change::WantText(REASON.to_owned())),
            TextPurpose::Note => Ok(Change::WantText(NOTE.to_owned())),
            TextPurpose::Edit if editable(&ask.body.call).is_none() => unfit(NO_EDIT),
            TextPurpose::Edit => Ok(Change::WantText(EDIT.to_owned())),
        },
        Action::Words { text: Some(text), .. } if text.trim().is_empty() => {
            unfit("The text is empty; nothing was changed.")
        }
        Action::Words { wanted: TextPurpose::Reason, text } => {
            close(Answer { reason: text, then: ask.body.deny, ..new(Decision::Deny) })
        }
        Action::Words { wanted: TextPurpose::Note, .. } if ask.is_question() => unfit(NO_APPROVAL),
        // FAIL-CLOSED: an edit counts only once policy has looked at it.
        Action::Words { wanted: TextPurpose::Edit, .. } => unfit(NO_EDIT),
        Action::Propose(edit) => {
            let edits = ask.progress.edits + 1;
            let edit = Some(ProposedEdit { nth: edits, reviewed: false, ..*edit });
            Ok(Change::Go(Progress { edit, edits, ..ask.progress.clone() }))
        }
        Action::Edit { nth, step } => {
            let Some(edit) = ask.progress.edit.as_ref().filter(|edit| edit.nth == nth) else {
                return unfit("That change is not proposed any more; look at the card.");
            };
            edit_step(ask, edit, step, new)
        }
        Action::Words { wanted: TextPurpose::Note, text } => {
            close(Answer { reason: text, ..approve(Scope::Once) })
        }
        Action::ApproveParts(parts) => store_parts(ask, parts, new(Decision::Approve)),
        Action::Look => Ok(Change::Nothing),
        Action::Undo => unfit("It is not answered yet: approve it or deny it."),
        Action::Answers(answers) if ask.is_question() => match all_at_once(questions, &answers) {
            Ok(progress) => step(progress),
            Err(malformed) => unfit(&malformed.0),
        },
        Action::Answers(_) => unfit("This is no question: approve it or deny it."),
        Action::Choose { question, option } => {
            let asked = current(ask, question)?;
            let Some(choice) = asked.options.get(option) else {
                return unfit("There is no such option.");
            };
            let progress = ask.progress.clone();
            if asked.multi_select {
                return Ok(Change::Go(progress.toggle(option)));
            }
            step(progress.answer(QuestionAnswer::Labels(vec![choice.label.clone()])))
        }
        Action::Submit { question } => {
            step(submitted(ask, current(ask, question)?, ask.progress.chosen.iter())?)
        }
        Action::SubmitOptions { question, options } => {
            let asked = current(ask, question)?;
            // FAIL-CLOSED: one option that is none spoils the answer; it is not left out.
            if !asked.multi_select || options.iter().any(|at| *at >= asked.options.len()) {
                return unfit("There is no such option.");
            }
            step(submitted(ask, asked, options.iter())?)
        }
        Action::Text { question, text: None } => {
            Ok(Change::WantText(current(ask, question)?.question.clone()))
        }
        Action::Text { question, text: Some(text) } => {
            current(ask, question)?;
            if text.trim().is_empty() {
                return unfit("The answer is empty; nothing was changed.");
            }
            step(ask.progress.clone().answer(QuestionAnswer::Text(text)))
        }
    }
}

/// The progress once these options answer a question.
fn submitted<'a>(
    ask: &Ask,
    asked: &Question,
    chosen: impl Iterator<Item = &'a usize>,
) -> Result<Progress, Refusal> {
    let options = chosen.filter_map(|at| asked.options.get(*at));
    let labels: Vec<_> = options.map(|option| option.label.clone()).collect();
    if labels.is_empty() {
        return unfit("Nothing is chosen yet: press one or more options, then Submit.");
    }
    Ok(ask.progress.clone().answer(QuestionAnswer::Labels(labels)))
}

/// What a person's step with the proposed edit comes to.
fn edit_step(
    ask: &Ask,
    edit: &ProposedEdit,
    step: EditStep,
    new: impl Fn(Decision) -> Answer,
) -> Result<Change, Refusal> {
    let go = |edit| Ok(Change::Go(Progress { edit, ..ask.progress.clone() }));
    match step {
        EditStep::Drop => go(None),
        EditStep::Review => go(Some(ProposedEdit { reviewed: true, ..edit.clone() })),
        EditStep::Approve if edit.critical && !edit.reviewed => {
            unfit("The changed call is critical: review it first.")
        }
        EditStep::Approve | EditStep::Confirm => close(as_edited(ask, edit, new)),
    }
}

/// The answer that an approved edit is.
// FAIL-CLOSED: an agent that does not say that it takes changed input is told no, with the text as
// the reason; the others get a decision of its own, which nobody can take for a plain yes.
fn as_edited(ask: &Ask, edit: &ProposedEdit, new: impl Fn(Decision) -> Answer) -> Answer {
    let ProposedEdit { args, digest, .. } = edit.clone();
    let accepts = ask.body.call.accepts.contains(&Accepts::UpdatedInput);
    let text = edited_text(&ask.body.call, &args);
    let (decision, updated) = match accepts {
        true => (Decision::Edit, Some(UpdatedInput { args, digest })),
        false => (Decision::Deny, None),
    };
    Answer {
        scope: accepts.then_some(Scope::Once),
        reason: (!accepts).then(|| format!("not like this; do this instead:\n{text}")),
        updated,
        ..new(decision)
    }
}

/// Approves with the chosen ones of the rules that Always offers; with none of them, once.
// FAIL-CLOSED: a part that does not exist is refused, never left out.
fn store_parts(ask: &Ask, mut parts: Vec<usize>, approval: Answer) -> Result<Change, Refusal> {
    if !ask.body.offers(Scope::Always) {
        return unfit("There is no rule to remember for this call: approve it once, or deny it.");
    }
    if let Some(wrong) = parts.iter().find(|at| **at >= ask.body.always.len()) {
        return Err(Refusal::Unfit(format!(
            "There is no rule {}: this call has {}.",
            wrong.saturating_add(1),
            ask.body.always.len()
        )));
    }
    parts.sort_unstable();
    parts.dedup();
    let scope = if parts.is_empty() { Scope::Once } else { Scope::Always };
    let parts = Some(parts).filter(|parts| (1..ask.body.always.len()).contains(&parts.len()));
    let stored = StoredRules { parts, ..StoredRules::default() };
    close(Answer { scope: Some(scope), stored, ..approval })
}

/// The sentence for somebody who presses after the end.
#[must_use]
pub fn already(answer: &Answer) -> String {
    let at = clock::short(answer.at);
    match (&answer.by, answer.decision) {
        (By::Timeout | By::NoApprover, Decision::Deny) => {
            format!("Too late: nobody answered by {at}, and the agent was told so.")
        }
        (By::Timeout | By::NoApprover, Decision::Approve | Decision::Answer | Decision::Edit) => {
            format!("Too late: it was approved by the deadline at {at}, as configured.")
        }
        (By::Caller, _) => format!("This is no longer pending: its caller cancelled it at {at}."),
        (by, Decision::Answer) => format!("Already answered by {by} at {at}."),
        (by, Decision::Approve) => format!("Already approved by {by} at {at}."),
        (by, Decision::Edit) => format!("Already approved with a change by {by} at {at}."),
        (by, Decision::Deny) => format!("Already denied by {by} at {at}."),
    }
}

/// The same of a review.
fn reviewed_already(answer: &Answer) -> String {
    let at = clock::short(answer.at);
    match (&answer.by, answer.decision) {
        (By::Timeout | By::NoApprover, _) => format!("Too late: nobody reviewed it by {at}."),
        (By::Caller, _) => format!("This review was cancelled at {at}."),
        (by, Decision::Deny) => format!("Already reviewed by {by} at {at}: should have asked."),
        (by, _) => format!("Already reviewed by {by} at {at}: fine."),
    }
}

fn current(ask: &Ask, question: usize) -> Result<&Question, Refusal> {
    let Some(asked) = ask.body.call.questions.get(question) else {
        return unfit("There is no such question.");
    };
    if ask.progress.current() != question {
        return unfit("That question has been answered already; the card shows the next one.");
    }
    Ok(asked)
}

fn close(answer: Answer) -> Result<Change, Refusal> {
    Ok(Change::Close(Box::new(answer)))
}

fn unfit<T>(sentence: &str) -> Result<T, Refusal> {
    Err(Refusal::Unfit(sentence.to_owned()))
}

#[cfg(test)]
mod tests;
