//! Questions to a person, on their card.

use crate::card::{
    Sheet, answer,
    buttons::LABEL,
    call::{is_nothing, readable, without},
    fact, glance,
};
use countersign_gate::{
    ask::Ask,
    call::Call,
    question::{Choice, Question},
};
use countersign_policy::tools::SUSPENDED;
use countersign_port::{Field, line};
use serde_json::Value;

/// How much of an earlier question is shown before its answer.
const EARLIER: usize = 120;

/// Writes the question that waits, and what has been answered before it; `in_title` where the
/// first line shows the whole of it.
pub(super) fn draw(ask: &Ask, question: &Question, in_title: bool, sheet: &mut Sheet) {
    let count = ask.body.call.questions.len();
    if count > 1 {
        sheet.note(format!("Question {} of {count}", ask.progress.current() + 1));
    }
    if !in_title {
        sheet.quote("question", &question.question);
    }
    about(question, sheet);
    let described = question.options.iter().any(|option| option.description.is_some());
    if described || is_crowded(question) {
        let option = |(at, option): (usize, &Choice)| {
            let said = option.description.as_deref().unwrap_or_default();
            let dash = if said.is_empty() { "" } else { " — " };
            fact((at + 1).to_string(), &format!("{}{dash}{said}", option.label))
        };
        sheet.fields(question.options.iter().enumerate().map(option).collect());
    }
    for (at, option) in question.options.iter().enumerate() {
        if let Some(preview) = &option.preview {
            sheet.code(&format!("preview of option {}", at + 1), preview);
        }
    }
    if offers_several(question) {
        sheet.note("Several can be chosen; then press Submit.");
    }
    let permits = |option: &Choice| {
        let letters = letters(option);
        PERMISSION.iter().any(|word| letters.starts_with(word))
    };
    // A suspended engine goes on when its question is answered so.
    if ask.body.call.tool != SUSPENDED && question.options.iter().any(permits) {
        sheet.note("These are answers to a question: none of them lets anything run.");
    }
    sheet.fields(so_far(ask));
    beside(&ask.body.call, sheet);
}

/// Writes all questions of an ask that is closed, and their answers; `in_title` where the first line
/// shows the whole of the first.
pub(super) fn settled(ask: &Ask, in_title: bool, sheet: &mut Sheet) {
    let questions = &ask.body.call.questions;
    for (at, question) in questions.iter().enumerate() {
        if at > 0 || !in_title {
            sheet.quote("question", &question.question);
        }
        about(question, sheet);
    }
    // A short answer to the only question stands on the first line.
    let outcome = ask.answer().map(|answer| answer::outcome(ask, answer)).unwrap_or_default();
    let is_said = |field: &Field| {
        let answer = field.value.rsplit(" → ").next();
        questions.len() == 1 && answer.is_some_and(|answer| outcome.starts_with(answer))
    };
    sheet.fields(so_far(ask).into_iter().filter(|field| !is_said(field)).collect());
    beside(&ask.body.call, sheet);
}

fn about(question: &Question, sheet: &mut Sheet) {
    sheet.fields(question.header.iter().map(|header| fact("about", header)).collect());
}

/// What an agent sends beside its questions is not hidden by them.
fn beside(call: &Call, sheet: &mut Sheet) {
    let rest = beyond_questions(call);
    if !is_nothing(&rest) {
        sheet.code("arguments", &readable(&rest));
    }
}

/// The arguments without those that say what the questions say already.
fn beyond_questions(call: &Call) -> Value {
    let questions = &call.questions;
    let says = |text: &str| {
        questions.iter().any(|one| one.question == text || one.header.as_deref() == Some(text))
    };
    let offered = |label: &str| {
        questions.iter().flat_map(|one| &one.options).any(|option| option.label == label)
            || says(label)
    };
    let label = |value: &Value| {
        let named = || ["label", "name"].iter().find_map(|key| value.get(key)?.as_str());
        value.as_str().or_else(named).is_some_and(offered)
    };
    let said = |key: &str, value: &Value| match key {
        "questions" => serde_json::from_value(value.clone())
            .is_ok_and(|list: Vec<Question>| list == *questions),
        "question" | "text" | "header" | "prompt" => value.as_str().is_some_and(says),
        "options" | "choices" | "fields" => {
            value.as_array().is_some_and(|list| list.iter().all(label))
        }
        "multi_select" | "multiSelect" | "multi" => value.is_boolean(),
        _ => false,
    };
    let Some(args) = call.args.as_object() else { return call.args.clone() };
    let known: Vec<&str> =
        args.iter().filter(|(key, value)| said(key, value)).map(|(key, _)| key.as_str()).collect();
    without(call.args.clone(), &known)
}

fn so_far(ask: &Ask) -> Vec<Field> {
    let given = ask.answer().and_then(|answer| answer.answers.clone());
    let answers = given.unwrap_or_else(|| ask.progress.answers(&ask.body.call.questions));
    let field = |(at, (question, answer)): (usize, (&String, &Value))| {
        fact(
            format!("answer {}", at + 1),
            &format!("{} → {}", glance(question, EARLIER), answer::said(answer)),
        )
    };
    answers.iter().enumerate().map(field).collect()
}

/// Whether several options may be chosen, and there are any.
pub(super) fn offers_several(question: &Question) -> bool {
    question.multi_select && !question.options.is_empty()
}

/// Whether the options' labels do not fit on buttons, which then carry numbers.
fn is_crowded(question: &Question) -> bool {
    let room = if collides(question) { LABEL - 4 } else { LABEL };
    let long = |option: &Choice| line(&option.label).chars().count() > room;
    question.options.len() > 8 || question.options.iter().any(long)
}

/// The label of an option's button.
pub(super) fn label(question: &Question, at: usize, option: &Choice) -> String {
    let number = at + 1;
    match (is_crowded(question), collides(question)) {
        (true, _) => number.to_string(),
        (false, true) => format!("{number}. {}", line(&option.label)),
        (false, false) => line(&option.label),
    }
}

/// Whether an option reads like a button under every question.
fn collides(question: &Question) -> bool {
    question.options.iter().any(|option| UNDER_QUESTIONS.contains(&&*letters(option)))
}

/// Our own buttons under a question.
const UNDER_QUESTIONS: &[&str] = &["submit", "other", "decline"];

/// How our own buttons under a wish for permission begin.
const PERMISSION: &[&str] =
    &["approve", "allow", "always", "deny", "skip", "10minutes", "24hours", "thissession"];

/// A label as people read it in passing: its letters and digits.
fn letters(option: &Choice) -> String {
    let letters = option.label.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}
