//! What an attempt to answer comes to. Pure: no clock, no store; the store's compare-and-set has
//! the last word.

use super::{
    approvers::Approver,
    ask::{Answer, Ask, By, Decision, Scope},
    question::{Progress, Question, Reply, all_at_once},
};
use crate::clock;
use countersign_profiles::OnDeny;
use serde_json::{Map, Value};

/// What an approver wants to do to an ask.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Let the call run.
    Approve {
        /// What that covers.
        scope: Scope,
    },
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
    /// Announce free text, or give it.
    Text {
        /// Which question, by index.
        question: usize,
        /// The text; `None` only announces it.
        text: Option<String>,
    },
    /// Answer all questions at once, by question text.
    Answers(Map<String, Value>),
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
}

/// Why an attempt changes nothing; its words are for the presser.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Not open any more.
    #[error("{0}")]
    Closed(String),
    /// The deadline has passed, even if the row does not say so yet.
    #[error("Too late: the deadline passed at {0}, and the agent was told that nobody answered.")]
    Late(String),
    /// This cannot be done to this ask.
    #[error("{0}")]
    Unfit(String),
}

/// Decides what an approver's attempt comes to.
///
/// # Errors
/// [`Refusal`], with words for the presser.
pub fn apply(ask: &Ask, by: &Approver, action: Action, now: i64) -> Result<Change, Refusal> {
    if let Some(answer) = ask.answer() {
        return Err(Refusal::Closed(already(answer)));
    }
    if let Some(deadline) = ask.deadline_at.filter(|deadline| *deadline <= now) {
        return Err(Refusal::Late(clock::short(deadline)));
    }
    let close = |decision, scope, reason, then, answers| {
        let by = person(by);
        Ok(Change::Close(Box::new(Answer { decision, scope, reason, then, answers, by, at: now })))
    };
    let questions = &ask.body.call.questions;
    let step = |progress: Progress| {
        if progress.current() < questions.len() {
            return Ok(Change::Go(progress));
        }
        let answers = progress.answers(questions);
        close(Decision::Answer, None, None, OnDeny::GoOn, Some(answers))
    };
    match action {
        Action::Deny { reason, then } => {
            close(Decision::Deny, None, reason, then.unwrap_or(ask.body.deny), None)
        }
        // FAIL-CLOSED: approving a question would make up an answer to it.
        Action::Approve { .. } if ask.is_question() => {
            unfit("This is a question: choose an answer, or decline to answer.")
        }
        Action::Approve { scope } if !ask.body.offers(scope) => {
            unfit("There is no rule to remember for this call: approve it once, or deny it.")
        }
        Action::Approve { scope } => {
            close(Decision::Approve, Some(scope), None, OnDeny::GoOn, None)
        }
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
            step(progress.answer(Reply::Labels(vec![choice.label.clone()])))
        }
        Action::Submit { question } => {
            let asked = current(ask, question)?;
            let chosen = ask.progress.chosen.iter().filter_map(|at| asked.options.get(*at));
            let labels: Vec<_> = chosen.map(|option| option.label.clone()).collect();
            if labels.is_empty() {
                return unfit("Nothing is chosen yet: press one or more options, then Submit.");
            }
            step(ask.progress.clone().answer(Reply::Labels(labels)))
        }
        Action::Text { question, text: None } => {
            Ok(Change::WantText(current(ask, question)?.question.clone()))
        }
        Action::Text { question, text: Some(text) } => {
            current(ask, question)?;
            if text.trim().is_empty() {
                return unfit("The answer is empty; nothing was changed.");
            }
            step(ask.progress.clone().answer(Reply::Text(text)))
        }
    }
}

/// The sentence for somebody who presses after the end.
#[must_use]
pub fn already(answer: &Answer) -> String {
    let at = clock::short(answer.at);
    match (&answer.by, answer.decision) {
        (By::Timeout | By::NoApprover, Decision::Deny) => {
            format!("Too late: nobody answered by {at}, and the agent was told so.")
        }
        (By::Timeout | By::NoApprover, Decision::Approve | Decision::Answer) => {
            format!("Too late: it was approved by the deadline at {at}, as configured.")
        }
        (By::Caller, _) => format!("This is no longer pending: its caller took it back at {at}."),
        (by, Decision::Answer) => format!("Already answered by {by} at {at}."),
        (by, Decision::Approve) => format!("Already approved by {by} at {at}."),
        (by, Decision::Deny) => format!("Already denied by {by} at {at}."),
    }
}

/// An approver as the one who decided.
#[must_use]
pub fn person(approver: &Approver) -> By {
    let who = approver.who();
    By::Person { platform: who.platform.to_owned(), id: who.id.clone(), name: who.name.clone() }
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

fn unfit<T>(sentence: &str) -> Result<T, Refusal> {
    Err(Refusal::Unfit(sentence.to_owned()))
}

#[cfg(test)]
mod tests;
