//! What an attempt to answer comes to. Pure: no clock, no store; the store's compare-and-set has
//! the last word.

pub use crate::approvers::person;

use crate::approvers::Approver;
use countersign_domain::{
    Answer, Ask, By, Decision, NextTry, OnDeny, Scope, State, StoredRules, Undone,
    call::Accepts,
    edit::{ProposedEdit, UpdatedInput, editable, edited_text},
    question::{Progress, Question, QuestionAnswer, all_at_once},
};
use countersign_tokens::clock;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// What an approver wants to do to an ask.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Let the call run.
    Approve {
        /// What that covers.
        scope: Scope,
    },
    /// Let the call run, and store these of the rules that Always offers, by their places.
    ApproveParts(Vec<usize>),
    /// Revoke what the answer stored.
    Undo,
    /// Approve the next try of a call whose ask has expired, for as long as the ask says.
    ApproveNext,
    /// Look at a further step of an open ask; nothing changes.
    Look,
    /// Do not let it run; or, for questions, do not answer them.
    Deny {
        /// Words for the agent.
        reason: Option<String>,
        /// What else that does; as the ask says where `None`.
        then: Option<OnDeny>,
    },
    /// Press an option of a question.
    Choose {
        /// Which question, by index.
        question: usize,
        /// Which option, by index.
        option: usize,
    },
    /// End a multiple choice.
    Submit {
        /// Which question, by index.
        question: usize,
    },
    /// End a multiple choice with these options, whatever was chosen before.
    SubmitOptions {
        /// Which question, by index.
        question: usize,
        /// The options, by index.
        options: BTreeSet<usize>,
    },
    /// Announce free text, or give it.
    Text {
        /// Which question, by index.
        question: usize,
        /// The text; `None` only announces it.
        text: Option<String>,
    },
    /// Answer all questions at once, by question text.
    Answers(Map<String, Value>),
    /// Propose an edit that policy has looked at. Nothing runs because of that.
    Propose(Box<ProposedEdit>),
    /// Do something about the proposed edit.
    Edit {
        /// Which edit of the ask, from 1.
        nth: usize,
        /// What.
        step: EditStep,
    },
    /// Announce words for the agent, or give them.
    Words {
        /// What they are for.
        wanted: TextPurpose,
        /// The words; `None` only announces them.
        text: Option<String>,
    },
}

/// What a person's words for the agent are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextPurpose {
    /// A denial with this reason.
    Reason,
    /// An approval of this call with a note.
    Note,
    /// The text that the call is to have instead.
    Edit,
}

/// What is done about a proposed edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditStep {
    /// The first of the two steps that a critical one takes.
    Review,
    /// Approve it.
    Approve,
    /// Approve it by its digest, which is both steps: a person who names it has read the change.
    Confirm,
    /// Drop it: the call is again as it was submitted.
    Drop,
}

/// Why an attempt changes nothing; its words are for the presser.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Not open any more.
    #[error("{0}")]
    Closed(String),
    /// The deadline has passed, even if the row does not say so yet.
    #[error("Too late: the deadline passed at {0}, and the agent has its answer.")]
    Late(String),
    /// The answer cannot be undone any more.
    #[error("{0}")]
    Over(String),
    /// This cannot be done to this ask.
    #[error("{0}")]
    Unfit(String),
}

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
    /// The next try of exactly this call is approved.
    Next(NextTry),
    /// Nothing changes.
    Nothing,
}

const NO_APPROVAL: &str = "This is a question: choose an answer, or decline to answer.";
const NO_RULE: &str = "No rule can be stored for this call: approve it once, or deny it.";
/// How a person is asked for words.
const REASON: &str = "Reason, sent to the agent word for word:";
const EDIT: &str = "New text (replaces all of it). You confirm the diff next.";
pub const NO_EDIT: &str = "This call has no command or new text to edit.";
const NOTE: &str = "What should the agent know? Your text approves the call, once.";

/// Decides what an approver's attempt comes to.
///
/// # Errors
/// [`Refusal`], with words for the presser.
pub fn apply(ask: &Ask, by: &Approver, action: Action, now: i64) -> Result<Change, Refusal> {
    let open = || Attempt::at_open(ask, by, now);
    match action {
        Action::Approve { scope } => open()?.approve(scope),
        Action::ApproveParts(parts) => open()?.approve_parts(parts),
        Action::Deny { reason, then } => open()?.deny(reason, then),
        Action::Words { wanted, text } => open()?.words(wanted, text),
        Action::Propose(edit) => open()?.propose(*edit),
        Action::Edit { nth, step } => open()?.edit(nth, step),
        Action::Answers(answers) => open()?.answer_all(&answers),
        Action::Choose { question, option } => open()?.choose(question, option),
        Action::Submit { question } => open()?.submit(question, ask.progress.chosen.iter()),
        Action::SubmitOptions { question, options } => open()?.submit_options(question, &options),
        Action::Text { question, text } => open()?.text(question, text),
        Action::Look => open().map(|_| Change::Nothing),
        Action::Undo => undo(ask, by, now).map(Change::Undo),
        Action::ApproveNext => next_try(ask, by, now).map(Change::Next),
    }
}

/// An attempt at an ask that is open.
struct Attempt<'a> {
    ask: &'a Ask,
    by: &'a Approver,
    now: i64,
}

impl<'a> Attempt<'a> {
    fn at_open(ask: &'a Ask, by: &'a Approver, now: i64) -> Result<Self, Refusal> {
        if let Some(answer) = ask.answer() {
            let closed = match ask.body.review {
                Some(_) => reviewed_already(answer),
                None => already(answer),
            };
            return Err(Refusal::Closed(closed));
        }
        match ask.deadline_at {
            Some(deadline) if deadline <= now => Err(Refusal::Late(clock::short(deadline))),
            _ => Ok(Self { ask, by, now }),
        }
    }

    fn new_answer(&self, decision: Decision) -> Answer {
        Answer::new(decision, person(self.by), self.now)
    }

    fn approval(&self, scope: Scope) -> Answer {
        Answer { scope: Some(scope), ..self.new_answer(Decision::Approve) }
    }

    fn denial(&self, reason: Option<String>, then: OnDeny) -> Result<Change, Refusal> {
        close(Answer { reason, then, ..self.new_answer(Decision::Deny) })
    }

    // Permissions.

    fn takes_approval(&self) -> Result<(), Refusal> {
        // FAIL-CLOSED: a person who approves while a change is proposed may mean the change.
        if self.ask.progress.edit.is_some() {
            return unfit(
                "A change is proposed: approve that, or drop it first. The card shows it.",
            );
        }
        // FAIL-CLOSED: approving a question would make up an answer to it.
        if self.ask.is_question() {
            return unfit(NO_APPROVAL);
        }
        Ok(())
    }

    fn approve(&self, scope: Scope) -> Result<Change, Refusal> {
        self.takes_approval()?;
        if !self.ask.body.offers(scope) {
            return unfit(NO_RULE);
        }
        close(self.approval(scope))
    }

    /// Approves with the chosen ones of the rules that Always offers; with none of them, once.
    // FAIL-CLOSED: a part that does not exist is refused, never left out.
    fn approve_parts(&self, mut parts: Vec<usize>) -> Result<Change, Refusal> {
        self.takes_approval()?;
        let body = &self.ask.body;
        if !body.offers(Scope::Always) {
            return unfit(NO_RULE);
        }
        if let Some(wrong) = parts.iter().find(|at| **at >= body.always.len()) {
            let wrong = wrong.saturating_add(1);
            let count = body.always.len();
            return unfit(&format!("There is no rule {wrong}: this call has {count}."));
        }
        parts.sort_unstable();
        parts.dedup();
        let scope = if parts.is_empty() { Scope::Once } else { Scope::Always };
        let parts = Some(parts).filter(|parts| (1..body.always.len()).contains(&parts.len()));
        let stored = StoredRules { parts, ..StoredRules::default() };
        close(Answer { stored, ..self.approval(scope) })
    }

    fn deny(&self, reason: Option<String>, then: Option<OnDeny>) -> Result<Change, Refusal> {
        self.denial(reason, then.unwrap_or(self.ask.body.deny))
    }

    /// Text of a person, or the wish to type it.
    fn words(&self, wanted: TextPurpose, text: Option<String>) -> Result<Change, Refusal> {
        if wanted == TextPurpose::Note {
            self.takes_approval()?;
        }
        let Some(text) = text else {
            return match wanted {
                TextPurpose::Reason => Ok(Change::WantText(REASON.to_owned())),
                TextPurpose::Note => Ok(Change::WantText(NOTE.to_owned())),
                TextPurpose::Edit if editable(&self.ask.body.call).is_none() => unfit(NO_EDIT),
                TextPurpose::Edit => Ok(Change::WantText(EDIT.to_owned())),
            };
        };
        if text.trim().is_empty() {
            return unfit("The text is empty; nothing was changed.");
        }
        match wanted {
            TextPurpose::Reason => self.denial(Some(text), self.ask.body.deny),
            TextPurpose::Note => close(Answer { reason: Some(text), ..self.approval(Scope::Once) }),
            // FAIL-CLOSED: an edit counts only once policy has looked at it.
            TextPurpose::Edit => unfit(NO_EDIT),
        }
    }

    // Edits.

    fn propose(&self, edit: ProposedEdit) -> Result<Change, Refusal> {
        let edits = self.ask.progress.edits + 1;
        let edit = Some(ProposedEdit { nth: edits, reviewed: false, ..edit });
        Ok(Change::Go(Progress { edit, edits, ..self.ask.progress.clone() }))
    }

    fn edit(&self, nth: usize, step: EditStep) -> Result<Change, Refusal> {
        let proposed = self.ask.progress.edit.as_ref().filter(|edit| edit.nth == nth);
        let Some(edit) = proposed else {
            return unfit("That change is not proposed any more; look at the card.");
        };
        let go = |edit| Ok(Change::Go(Progress { edit, ..self.ask.progress.clone() }));
        match step {
            EditStep::Drop => go(None),
            EditStep::Review => go(Some(ProposedEdit { reviewed: true, ..edit.clone() })),
            EditStep::Approve if edit.critical && !edit.reviewed => {
                unfit("The changed call is critical: review it first.")
            }
            EditStep::Approve | EditStep::Confirm => close(self.edited(edit.clone())),
        }
    }

    /// The answer that an approved edit is.
    // FAIL-CLOSED: an agent that does not say that it takes changed input is told no, with the text
    // as the reason; the others get a decision of its own, which nobody can take for a plain yes.
    fn edited(&self, ProposedEdit { args, digest, .. }: ProposedEdit) -> Answer {
        let call = &self.ask.body.call;
        if call.accepts.contains(&Accepts::UpdatedInput) {
            let updated = Some(UpdatedInput { args, digest });
            let answer = self.new_answer(Decision::Edit);
            return Answer { scope: Some(Scope::Once), updated, ..answer };
        }
        let text = edited_text(call, &args);
        let reason = format!("not like this; do this instead:\n{text}");
        Answer { reason: Some(reason), ..self.new_answer(Decision::Deny) }
    }

    // Questions.

    fn answer_all(&self, answers: &Map<String, Value>) -> Result<Change, Refusal> {
        if !self.ask.is_question() {
            return unfit("This is not a question: approve or deny it.");
        }
        match all_at_once(&self.ask.body.call.questions, answers) {
            Ok(progress) => self.go_on(progress),
            Err(malformed) => unfit(&malformed.0),
        }
    }

    fn choose(&self, question: usize, option: usize) -> Result<Change, Refusal> {
        let asked = self.current(question)?;
        let Some(choice) = asked.options.get(option) else {
            return unfit("There is no such option.");
        };
        let progress = self.ask.progress.clone();
        if asked.multi_select {
            return Ok(Change::Go(progress.toggle(option)));
        }
        self.go_on(progress.answer(QuestionAnswer::Labels(vec![choice.label.clone()])))
    }

    fn submit_options(
        &self,
        question: usize,
        options: &BTreeSet<usize>,
    ) -> Result<Change, Refusal> {
        let asked = self.current(question)?;
        // FAIL-CLOSED: one option that does not exist spoils the answer; it is not left out.
        if !asked.multi_select || options.iter().any(|at| *at >= asked.options.len()) {
            return unfit("There is no such option.");
        }
        self.submit(question, options.iter())
    }

    fn submit<'o>(
        &self,
        question: usize,
        chosen: impl Iterator<Item = &'o usize>,
    ) -> Result<Change, Refusal> {
        let asked = self.current(question)?;
        let options = chosen.filter_map(|at| asked.options.get(*at));
        let labels: Vec<_> = options.map(|option| option.label.clone()).collect();
        if labels.is_empty() {
            return unfit("Nothing is chosen yet: press one or more options, then Submit.");
        }
        self.go_on(self.ask.progress.clone().answer(QuestionAnswer::Labels(labels)))
    }

    fn text(&self, question: usize, text: Option<String>) -> Result<Change, Refusal> {
        let asked = self.current(question)?;
        let Some(text) = text else {
            return Ok(Change::WantText(asked.question.clone()));
        };
        if text.trim().is_empty() {
            return unfit("The answer is empty; nothing was changed.");
        }
        self.go_on(self.ask.progress.clone().answer(QuestionAnswer::Text(text)))
    }

    /// The question, if it is the one that waits.
    fn current(&self, question: usize) -> Result<&'a Question, Refusal> {
        let Some(asked) = self.ask.body.call.questions.get(question) else {
            return unfit("There is no such question.");
        };
        if self.ask.progress.current() != question {
            return unfit("That question has been answered already; the card shows the next one.");
        }
        Ok(asked)
    }

    /// The next question, or the answer to all.
    fn go_on(&self, progress: Progress) -> Result<Change, Refusal> {
        let questions = &self.ask.body.call.questions;
        if progress.current() < questions.len() {
            return Ok(Change::Go(progress));
        }
        let answers = Some(progress.answers(questions));
        close(Answer { answers, ..self.new_answer(Decision::Answer) })
    }
}

/// The sentence for somebody who presses after the end.
#[must_use]
pub fn already(answer: &Answer) -> String {
    let at = clock::short(answer.at);
    match (&answer.by, answer.decision) {
        (By::Timeout | By::NoApprover, Decision::Deny) => {
            format!("Too late: nobody answered by {at}, so it was denied.")
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

fn close(answer: Answer) -> Result<Change, Refusal> {
    Ok(Change::Close(Box::new(answer)))
}

fn unfit<T>(sentence: &str) -> Result<T, Refusal> {
    Err(Refusal::Unfit(sentence.to_owned()))
}

/// Decides what an approver's attempt to undo an answer comes to.
///
/// # Errors
/// [`Refusal`], with words for the presser.
fn undo(ask: &Ask, by: &Approver, now: i64) -> Result<Undone, Refusal> {
    let Some(answer) = ask.answer() else {
        return Err(Refusal::Unfit("It is not answered yet: approve it or deny it.".to_owned()));
    };
    if let Some(undone) = &answer.stored.undone {
        let by = &undone.by;
        let at = clock::short(undone.at);
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
             grants revoke` removes them."
                .to_owned(),
        )),
    }
}

/// Decides what a late yes comes to.
// SECURITY: only what nobody answered, never what a person denied; and not what takes its second
// step or its answers at the time.
fn next_try(ask: &Ask, by: &Approver, now: i64) -> Result<NextTry, Refusal> {
    let refuse = |sentence: &str| Err(Refusal::Unfit(sentence.to_owned()));
    match &ask.state {
        State::Open => return refuse("It is not answered yet: approve it or deny it."),
        State::Expired(answer) if answer.decision == Decision::Deny => {
            if let Some(NextTry { by, at, .. }) = &answer.next_try {
                let at = clock::short(*at);
                return Err(Refusal::Closed(format!("{by} approved the next try at {at}.")));
            }
        }
        State::Expired(answer) | State::Answered(answer) | State::Cancelled(answer) => {
            return Err(Refusal::Closed(already(answer)));
        }
    }
    if !ask.takes_next_try() {
        return refuse(
            "Only an ordinary call is approved ahead; this one asks when it comes again.",
        );
    }
    let lasts = i64::from(ask.body.late_yes_s).saturating_mul(1_000);
    let until = now.saturating_add(lasts);
    Ok(NextTry { by: person(by), at: now, until })
}

fn stored_nothing(ask: &Ask, answer: &Answer) -> bool {
    let call = &ask.body.call;
    call.budget.is_none() && call.appeal.is_none() && ask.body.stored_rules(answer).is_empty()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]
    use super::*;
    use crate::approvers::{Approvers, Local, Who};
    use countersign_domain::{Body, call::Call};
    use countersign_policy::{Rule, Verdict};
    use serde_json::json;

    /// For how long an answer that stored something can be undone.
    const UNDO_MS: i64 = 600_000;

    fn approver() -> Approver {
        let approvers = Approvers { local: Local::On, ..Approvers::default() };
        let who = Who { platform: "inbox", id: "local".into(), name: "Ana".into(), roles: vec![] };
        approvers.admit(who).unwrap()
    }

    fn ask(call: Value, always: bool) -> Ask {
        let call: Call = serde_json::from_value(call).unwrap();
        let rule = Rule { tool: "t".into(), pattern: "*".into(), verdict: Verdict::Allow };
        let digest = call.digest();
        let body = Body {
            always: always.then_some(rule).into_iter().collect(),
            ..Body::new(call.spell_out().unwrap(), "no rule")
        };
        Ask { deadline_at: Some(1_000), ..Ask::opened("a", digest, body, 0) }
    }

    fn permission(always: bool) -> Ask {
        ask(json!({"agent": "a", "session": "s", "tool": "t", "args": {}}), always)
    }

    fn questions() -> Ask {
        ask(
            json!({"agent": "a", "session": "s", "tool": "AskUserQuestion", "args": {"questions": [
                {"question": "One?", "options": [{"label": "A"}, {"label": "B"}]},
                {"question": "Many?", "multiSelect": true, "options": [{"label": "C"}, {"label": "D"}]}
            ]}}),
            false,
        )
    }

    fn unfit(ask: &Ask, action: Action) -> String {
        match apply(ask, &approver(), action, 10) {
            Err(Refusal::Unfit(sentence)) => sentence,
            other => format!("not unfit: {other:?}"),
        }
    }

    fn go(ask: &Ask, action: Action) -> Ask {
        match apply(ask, &approver(), action, 10).unwrap() {
            Change::Go(progress) => Ask { progress, ..ask.clone() },
            other => Ask { id: format!("{other:?}"), ..ask.clone() },
        }
    }

    #[test]
    fn an_approval_closes_the_ask_and_names_its_approver() {
        let by = By::Person { platform: "inbox".into(), id: "local".into(), name: "Ana".into() };
        let change =
            apply(&permission(false), &approver(), Action::Approve { scope: Scope::Once }, 10);
        let answer = Answer { scope: Some(Scope::Once), ..Answer::new(Decision::Approve, by, 10) };
        assert_eq!(change, Ok(Change::Close(Box::new(answer))));
    }

    #[test]
    fn what_remembers_needs_a_rule_to_remember() {
        for scope in [Scope::Session, Scope::Always, Scope::Timed(600)] {
            let refused = unfit(&permission(false), Action::Approve { scope });
            assert!(refused.starts_with("No rule can be stored"), "{refused}");
            let taken = apply(&permission(true), &approver(), Action::Approve { scope }, 10);
            assert!(matches!(taken, Ok(Change::Close(_))));
        }
    }

    #[test]
    fn at_the_deadline_it_is_too_late_even_if_the_row_is_still_open() {
        let approve = || Action::Approve { scope: Scope::Once };
        assert!(apply(&permission(false), &approver(), approve(), 999).is_ok());
        let late = apply(&permission(false), &approver(), approve(), 1_000);
        assert_eq!(late, Err(Refusal::Late(clock::short(1_000))));
    }

    #[test]
    fn a_question_is_never_approved_and_a_permission_never_answered() {
        let approved = unfit(&questions(), Action::Approve { scope: Scope::Once });
        assert!(approved.starts_with("This is a question"), "{approved}");
        let answered = unfit(&permission(false), Action::Answers(Map::new()));
        assert_eq!(answered, "This is not a question: approve or deny it.");
        let chosen = unfit(&permission(false), Action::Choose { question: 0, option: 0 });
        assert_eq!(chosen, "There is no such question.");
    }

    #[test]
    fn questions_are_answered_one_after_the_other_and_the_last_closes_the_ask() {
        let asked = go(&questions(), Action::Choose { question: 0, option: 1 });
        assert_eq!(asked.progress.current(), 1);
        let stale = unfit(&asked, Action::Choose { question: 0, option: 0 });
        assert!(stale.starts_with("That question has been answered already"), "{stale}");
        let nothing = unfit(&asked, Action::Submit { question: 1 });
        assert!(nothing.starts_with("Nothing is chosen yet"), "{nothing}");
        let asked = go(&asked, Action::Choose { question: 1, option: 1 });
        let asked = go(&asked, Action::Choose { question: 1, option: 0 });
        let asked = go(&asked, Action::Choose { question: 1, option: 1 });
        let Change::Close(answer) =
            apply(&asked, &approver(), Action::Submit { question: 1 }, 10).unwrap()
        else {
            panic!("the last answer closes the ask")
        };
        assert_eq!(Value::from(answer.answers.unwrap()), json!({"One?": "B", "Many?": ["C"]}));
    }

    #[test]
    fn ticked_options_count_as_they_were_ticked_and_none_of_them_may_be_wrong() {
        let asked = go(&questions(), Action::Choose { question: 0, option: 1 });
        // Chosen on another surface, where nobody submitted it.
        let asked = go(&asked, Action::Choose { question: 1, option: 0 });
        let submit = |question, options: &[usize]| Action::SubmitOptions {
            question,
            options: options.iter().copied().collect(),
        };
        for none in [2, 99] {
            assert_eq!(unfit(&asked, submit(1, &[1, none])), "There is no such option.");
        }
        assert!(unfit(&asked, submit(1, &[])).starts_with("Nothing is chosen yet"));
        let single = unfit(&questions(), submit(0, &[0]));
        assert_eq!(single, "There is no such option.", "it takes one choice");
        let Change::Close(answer) = apply(&asked, &approver(), submit(1, &[1]), 10).unwrap() else {
            panic!("the last answer closes the ask")
        };
        assert_eq!(Value::from(answer.answers.unwrap()), json!({"One?": "B", "Many?": ["D"]}));
    }

    #[test]
    fn free_text_is_asked_for_and_then_taken_and_never_empty() {
        let asked = apply(&questions(), &approver(), Action::Text { question: 0, text: None }, 10);
        assert_eq!(asked, Ok(Change::WantText("One?".into())));
        let empty = unfit(&questions(), Action::Text { question: 0, text: Some(" \n".into()) });
        assert_eq!(empty, "The answer is empty; nothing was changed.");
        let other = unfit(&questions(), Action::Text { question: 1, text: Some("neither".into()) });
        assert_eq!(other, "That question has been answered already; the card shows the next one.");
        let asked = go(&questions(), Action::Text { question: 0, text: Some("neither".into()) });
        assert_eq!(asked.progress.answered, [QuestionAnswer::Text("neither".into())]);
    }

    #[test]
    fn a_denial_does_what_the_ask_says_unless_the_presser_says_otherwise() {
        let mut ask = permission(false);
        ask.body.deny = OnDeny::Stop;
        let denied = |then| match apply(&ask, &approver(), Action::Deny { reason: None, then }, 10)
        {
            Ok(Change::Close(answer)) => answer.then,
            other => panic!("{other:?}"),
        };
        assert_eq!(denied(None), OnDeny::Stop);
        assert_eq!(denied(Some(OnDeny::GoOn)), OnDeny::GoOn);
        assert_eq!(denied(Some(OnDeny::Explain)), OnDeny::Explain);
    }

    #[test]
    fn a_scope_that_the_profile_does_not_offer_is_refused() {
        let mut ask = permission(true);
        ask.body.choices = vec![];
        let always = Action::Approve { scope: Scope::Always };
        assert!(matches!(apply(&ask, &approver(), always, 10), Err(Refusal::Unfit(_))));
    }

    /// The ask as an approval of this kind left it at 10, with its rules stored.
    fn stored(action: Action) -> Ask {
        let ask = permission(true);
        match apply(&ask, &approver(), action, 10) {
            Ok(Change::Close(mut answer)) => {
                let any = !ask.body.stored_rules(&answer).is_empty();
                answer.stored.undo_until = any.then_some(10 + UNDO_MS);
                Ask { state: State::Answered(*answer), ..ask }
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_answer_is_undone_once_and_in_time_and_only_where_it_stored_something() {
        let undo = |ask: &Ask, now| apply(ask, &approver(), Action::Undo, now);
        let always = stored(Action::Approve { scope: Scope::Always });
        let undone = Undone { by: person(&approver()), at: 20 };
        assert_eq!(undo(&always, 20), Ok(Change::Undo(undone.clone())));
        let late = undo(&always, 10 + UNDO_MS).unwrap_err();
        assert!(late.to_string().starts_with("Too late: an answer can be undone for 10 minutes."));
        let mut twice = always.clone();
        if let State::Answered(answer) = &mut twice.state {
            answer.stored.undo_until = None;
            answer.stored.undone = Some(undone);
        }
        let again = undo(&twice, 30).unwrap_err().to_string();
        assert!(again.starts_with("Already undone by Ana at "), "{again}");
        let nothing = undo(&stored(Action::Approve { scope: Scope::Once }), 20).unwrap_err();
        let sentence = "This answer stored no rule, so there is nothing to undo.";
        assert_eq!(nothing, Refusal::Unfit(sentence.into()));
        assert!(matches!(undo(&permission(true), 20), Err(Refusal::Unfit(_))));
    }

    #[test]
    fn chosen_parts_are_stored_alone_and_one_that_does_not_exist_is_refused() {
        let mut ask = permission(true);
        ask.body.always.push(Rule::allow("t", "two"));
        let parts =
            |parts: &[usize]| apply(&ask, &approver(), Action::ApproveParts(parts.into()), 10);
        let scope_and_parts = |change| match change {
            Ok(Change::Close(answer)) => (answer.scope, answer.stored.parts.clone()),
            other => panic!("{other:?}"),
        };
        assert_eq!(scope_and_parts(parts(&[1])), (Some(Scope::Always), Some(vec![1])));
        assert_eq!(scope_and_parts(parts(&[1, 0, 1])), (Some(Scope::Always), None), "all of them");
        assert_eq!(scope_and_parts(parts(&[])), (Some(Scope::Once), None));
        for wrong in [&[2][..], &[0, usize::MAX]] {
            assert!(matches!(parts(wrong), Err(Refusal::Unfit(_))), "{wrong:?}");
        }
        let mut three = ask.clone();
        three.body.always.push(Rule::allow("t", "three"));
        let some = apply(&three, &approver(), Action::ApproveParts(vec![2, 0, 2]), 10);
        assert_eq!(scope_and_parts(some), (Some(Scope::Always), Some(vec![0, 2])));
        let none = apply(&permission(false), &approver(), Action::ApproveParts(vec![]), 10);
        assert!(matches!(none, Err(Refusal::Unfit(_))));
        assert_eq!(apply(&ask, &approver(), Action::Look, 10), Ok(Change::Nothing));
    }

    /// A call with a proposed change, as policy looked at it.
    fn with_edit(critical: bool, reviewed: bool) -> Ask {
        let call = json!({"agent": "a", "session": "s", "tool": "shell_exec",
        "args": {"command": "make deploy"}, "accepts": ["updated_input"]});
        let mut ask = ask(call, true);
        ask.progress.edit = Some(ProposedEdit {
            nth: 1,
            args: json!({"command": "make check"}),
            digest: "d2".to_owned(),
            by: "Ana".to_owned(),
            effects: Vec::new(),
            critical,
            reviewed,
        });
        ask
    }

    #[test]
    fn while_a_change_is_proposed_the_call_as_it_was_is_not_approved() {
        let proposed = with_edit(false, false);
        for action in [
            Action::Approve { scope: Scope::Once },
            Action::Approve { scope: Scope::Always },
            Action::ApproveParts(vec![0]),
            Action::Words { wanted: TextPurpose::Note, text: Some("go".to_owned()) },
            Action::Words { wanted: TextPurpose::Note, text: None },
        ] {
            let refused = unfit(&proposed, action);
            assert!(refused.starts_with("A change is proposed"), "{refused}");
        }
        let deny = apply(&proposed, &approver(), Action::Deny { reason: None, then: None }, 10);
        assert!(matches!(deny, Ok(Change::Close(_))), "{deny:?}");
        // Without it, it is.
        let mut dropped = proposed;
        dropped.progress.edit = None;
        let approve = apply(&dropped, &approver(), Action::Approve { scope: Scope::Once }, 10);
        assert!(matches!(approve, Ok(Change::Close(_))), "{approve:?}");
    }

    #[test]
    fn a_critical_change_is_approved_only_after_its_review_and_no_other_than_the_one_that_was_seen()
    {
        let step = |nth, step| Action::Edit { nth, step };
        let refused = unfit(&with_edit(true, false), step(1, EditStep::Approve));
        assert!(refused.contains("review it first"), "{refused}");
        let reviewed = go(&with_edit(true, false), step(1, EditStep::Review));
        assert!(reviewed.progress.edit.as_ref().unwrap().reviewed);
        for ask in [reviewed, with_edit(false, false)] {
            let closed = apply(&ask, &approver(), step(1, EditStep::Approve), 10).unwrap();
            let Change::Close(answer) = closed else { panic!("{closed:?}") };
            assert_eq!(answer.updated.map(|it| it.digest).as_deref(), Some("d2"));
            assert!(unfit(&ask, step(2, EditStep::Approve)).contains("not proposed any more"));
        }
    }

    fn closed(ask: &Ask, action: Action) -> Answer {
        match apply(ask, &approver(), action, 10) {
            Ok(Change::Close(answer)) => *answer,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn words_for_the_agent_stand_in_the_answer_with_what_a_denial_does() {
        let mut ask = permission(false);
        ask.body.deny = OnDeny::Stop;
        let by = || person(&approver());
        let said = |text: &str| Some(text.to_owned());
        let denied = Answer {
            reason: said("no"),
            then: OnDeny::Stop,
            ..Answer::new(Decision::Deny, by(), 10)
        };
        let approved = Answer {
            reason: said("use the cache"),
            scope: Some(Scope::Once),
            ..Answer::new(Decision::Approve, by(), 10)
        };
        assert_eq!(closed(&ask, Action::Deny { reason: said("no"), then: None }), denied);
        let words = |wanted, text: &str| Action::Words { wanted, text: said(text) };
        assert_eq!(closed(&ask, words(TextPurpose::Reason, "no")), denied);
        assert_eq!(closed(&ask, words(TextPurpose::Note, "use the cache")), approved);
        for wanted in [TextPurpose::Reason, TextPurpose::Note, TextPurpose::Edit] {
            let empty = unfit(&ask, words(wanted, " \n"));
            assert_eq!(empty, "The text is empty; nothing was changed.", "{wanted:?}");
        }
    }

    #[test]
    fn words_are_asked_for_where_they_could_be_used() {
        let wants =
            |ask: &Ask, wanted| apply(ask, &approver(), Action::Words { wanted, text: None }, 10);
        let mut command = with_edit(false, false);
        command.progress.edit = None;
        for (wanted, words) in
            [(TextPurpose::Reason, REASON), (TextPurpose::Note, NOTE), (TextPurpose::Edit, EDIT)]
        {
            assert_eq!(wants(&command, wanted), Ok(Change::WantText(words.to_owned())));
        }
        assert_eq!(
            wants(&questions(), TextPurpose::Reason),
            Ok(Change::WantText(REASON.to_owned()))
        );
        let refused = |sentence: &str| Err(Refusal::Unfit(sentence.to_owned()));
        assert_eq!(wants(&questions(), TextPurpose::Note), refused(NO_APPROVAL));
        assert_eq!(wants(&permission(false), TextPurpose::Edit), refused(NO_EDIT));
        let text = || Some("go".to_owned());
        let note = Action::Words { wanted: TextPurpose::Note, text: text() };
        assert_eq!(unfit(&questions(), note), NO_APPROVAL);
        let unseen = Action::Words { wanted: TextPurpose::Edit, text: text() };
        assert_eq!(unfit(&command, unseen), NO_EDIT, "policy has not looked at it");
    }

    #[test]
    fn answers_that_are_given_at_once_close_the_ask_and_one_that_is_missing_spoils_them() {
        let all = |answers: Value| Action::Answers(answers.as_object().unwrap().clone());
        let given = json!({"One?": "A", "Many?": ["C", "D"]});
        let answer = closed(&questions(), all(given.clone()));
        assert_eq!((answer.decision, answer.scope), (Decision::Answer, None));
        assert_eq!(Value::from(answer.answers.unwrap()), given);
        let missing = unfit(&questions(), all(json!({"One?": "A"})));
        assert_eq!(missing, "`answers` does not hold an answer to `Many?`");
    }

    #[test]
    fn a_proposed_change_gets_the_next_number_and_has_to_be_reviewed_anew() {
        let before = with_edit(true, true);
        let edit = ProposedEdit { nth: 0, ..before.progress.edit.clone().unwrap() };
        let after = go(&before, Action::Propose(Box::new(edit.clone())));
        let edits = before.progress.edits + 1;
        let edit = ProposedEdit { nth: edits, reviewed: false, ..edit };
        assert_eq!(after.progress, Progress { edit: Some(edit), edits, ..before.progress });
        let third = go(&after, Action::Propose(Box::new(after.progress.edit.clone().unwrap())));
        assert_eq!(third.progress.edit.map(|it| it.nth), Some(edits + 1));
        let step = Action::Edit { nth: edits, step: EditStep::Drop };
        assert_eq!(go(&after, step).progress.edit, None);
    }

    #[test]
    fn an_agent_that_takes_no_changed_input_is_told_no_with_the_text_as_the_reason() {
        let approve = || Action::Edit { nth: 1, step: EditStep::Confirm };
        let takes = with_edit(true, false);
        let args = json!({"command": "make check"});
        let digest = "d2".to_owned();
        let edited = Answer {
            scope: Some(Scope::Once),
            updated: Some(UpdatedInput { args, digest }),
            ..Answer::new(Decision::Edit, person(&approver()), 10)
        };
        assert_eq!(closed(&takes, approve()), edited);
        let mut takes_none = takes;
        takes_none.body.call.accepts.clear();
        let told = Answer {
            reason: Some("not like this; do this instead:\nmake check".to_owned()),
            ..Answer::new(Decision::Deny, person(&approver()), 10)
        };
        assert_eq!(closed(&takes_none, approve()), told);
    }

    /// What a person is told who presses after this end.
    fn told_after(review: bool, by: By, decision: Decision) -> String {
        let mut ask = permission(false);
        if review {
            let review = json!({"agent": "a", "session": "s", "digest": "d", "at": 0,
                "through": "a rule", "tightening": {"kind": "revoke", "grant": "g", "rule": "t"}});
            ask.body.review = serde_json::from_value(review).ok();
            assert!(ask.body.review.is_some());
        }
        ask.state = State::Answered(Answer::new(decision, by, 0));
        match apply(&ask, &approver(), Action::Approve { scope: Scope::Once }, 10) {
            Err(Refusal::Closed(sentence)) => sentence.replace(&clock::short(0), "AT"),
            other => format!("not closed: {other:?}"),
        }
    }

    #[test]
    fn who_presses_after_the_end_is_told_which_end_it_was() {
        let ana = || person(&approver());
        let grant = || By::Policy { grant: "g1".to_owned() };
        for (by, decision, sentence) in [
            (ana(), Decision::Approve, "Already approved by Ana at AT."),
            (ana(), Decision::Edit, "Already approved with a change by Ana at AT."),
            (ana(), Decision::Answer, "Already answered by Ana at AT."),
            (ana(), Decision::Deny, "Already denied by Ana at AT."),
            (grant(), Decision::Approve, "Already approved by the grant g1 at AT."),
            (By::Timeout, Decision::Deny, "Too late: nobody answered by AT, so it was denied."),
            (
                By::NoApprover,
                Decision::Approve,
                "Too late: it was approved by the deadline at AT, as configured.",
            ),
            (
                By::Caller,
                Decision::Deny,
                "This is no longer pending: its caller cancelled it at AT.",
            ),
        ] {
            assert_eq!(told_after(false, by, decision), sentence);
        }
        for (by, decision, sentence) in [
            (ana(), Decision::Approve, "Already reviewed by Ana at AT: fine."),
            (ana(), Decision::Deny, "Already reviewed by Ana at AT: should have asked."),
            (By::Timeout, Decision::Deny, "Too late: nobody reviewed it by AT."),
            (By::Caller, Decision::Deny, "This review was cancelled at AT."),
        ] {
            assert_eq!(told_after(true, by, decision), sentence);
        }
    }

    #[test]
    fn the_next_try_is_approved_once_for_an_ordinary_call_that_nobody_answered() {
        let mut expired = permission(false);
        expired.body.late_yes_s = 60;
        let unanswered = Answer::new(Decision::Deny, By::Timeout, 1_000);
        expired.state = State::Expired(unanswered.clone());
        let next = |ask: &Ask| apply(ask, &approver(), Action::ApproveNext, 2_000);
        let yes = NextTry { by: person(&approver()), at: 2_000, until: 62_000 };
        assert_eq!(next(&expired), Ok(Change::Next(yes.clone())));
        let ends = |state| Ask { state, ..expired.clone() };
        let closed = |sentence: String| Err(Refusal::Closed(sentence));
        let twice = Answer { next_try: Some(yes), ..unanswered.clone() };
        let at = clock::short(2_000);
        let again = format!("Ana approved the next try at {at}.");
        assert_eq!(next(&ends(State::Expired(twice))), closed(again));
        let approved = Answer::new(Decision::Approve, By::Timeout, 1_000);
        let denied = Answer::new(Decision::Deny, person(&approver()), 1_000);
        for state in [
            State::Expired(approved.clone()),
            State::Answered(denied.clone()),
            State::Cancelled(Answer::new(Decision::Deny, By::Caller, 1_000)),
        ] {
            let sentence = already(state.answer().unwrap());
            assert_eq!(next(&ends(state)), closed(sentence));
        }
        let open = next(&ends(State::Open));
        let sentence = "It is not answered yet: approve it or deny it.";
        assert_eq!(open, Err(Refusal::Unfit(sentence.to_owned())));
        let mut critical = expired;
        critical.body.critical = true;
        let sentence =
            "Only an ordinary call is approved ahead; this one asks when it comes again.";
        assert_eq!(next(&critical), Err(Refusal::Unfit(sentence.to_owned())));
    }
}
