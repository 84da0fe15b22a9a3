//! `countersign approve`, `deny` and `answer`: a person answers from the command line.

use super::{Context, Exit, exit::Misused, say, token};
use crate::gate::ask::Scope;
use anyhow::Result;
use serde_json::{Map, Value, json};

#[derive(Debug, clap::Args)]
pub(super) struct Approve {
    /// The ask, as `countersign pending` shows it; its first letters are enough
    #[arg(value_name = "ID")]
    ask: String,
    /// What it covers: once, session, always, or a time such as 10m
    #[arg(long, default_value = "once")]
    scope: Scope,
    /// Print the outcome as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct Deny {
    /// The ask, as `countersign pending` shows it; its first letters are enough
    #[arg(value_name = "ID")]
    ask: String,
    /// Why, in words for the agent
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Make the agent end its turn
    #[arg(long)]
    stop: bool,
    /// Print the outcome as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: an ask with two questions, of which the second takes several choices:
  countersign answer a1b2 SQLite Lint,Docs")]
pub(super) struct Answer {
    /// The ask, as `countersign pending` shows it; its first letters are enough
    #[arg(value_name = "ID")]
    ask: String,
    /// One answer for each question, in order: a choice, choices with commas between, or your own
    /// words
    #[arg(value_name = "ANSWER", required = true)]
    answers: Vec<String>,
    /// Print the outcome as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn approve(context: &Context, args: Approve) -> Result<Exit> {
    let body = json!({"decision": "approve", "scope": args.scope});
    send(context, &args.ask, &body, args.json).await
}

pub(super) async fn deny(context: &Context, args: Deny) -> Result<Exit> {
    let mut body = json!({"decision": "deny", "stop": args.stop});
    if let (Some(reason), Some(body)) = (args.reason, body.as_object_mut()) {
        body.insert("reason".to_owned(), reason.into());
    }
    send(context, &args.ask, &body, args.json).await
}

pub(super) async fn answer(context: &Context, args: Answer) -> Result<Exit> {
    let ask = token::approver(context)?.ask(&args.ask).await?;
    let answers = by_question(&ask, &args.answers)?;
    let body = json!({"decision": "approve", "answers": answers});
    send(context, &args.ask, &body, args.json).await
}

async fn send(context: &Context, id: &str, body: &Value, json: bool) -> Result<Exit> {
    if id.trim().is_empty() {
        return Err(
            Misused("the ask's id is empty; `countersign pending` shows them".into()).into()
        );
    }
    let outcome = token::approver(context)?.answer(id, body).await?;
    let applied = outcome.get("applied").and_then(Value::as_bool) == Some(true);
    if json {
        say::json(&outcome)?;
    } else {
        let message = outcome.get("message").and_then(Value::as_str).unwrap_or("Done.");
        say::out(&say::literal(message))?;
    }
    // Somebody else was first, or it was too late: this answer decided nothing.
    Ok(if applied { Exit::Good } else { Exit::Fault })
}

/// The given answers under their questions' own texts.
fn by_question(ask: &Value, given: &[String]) -> Result<Map<String, Value>> {
    let questions = ask.pointer("/call/questions").and_then(Value::as_array);
    let questions = questions.map(Vec::as_slice).unwrap_or_default();
    if questions.len() != given.len() {
        let say = match questions.len() {
            0 => "it asks no questions; approve or deny it".to_owned(),
            count => format!("it asks {count} questions, and {} answers are given", given.len()),
        };
        return Err(Misused(say).into());
    }
    let answer = |(question, given): (&Value, &String)| {
        let text = question.get("question")?.as_str()?.to_owned();
        Some((text, one(question, given)))
    };
    Ok(questions.iter().zip(given).filter_map(answer).collect())
}

/// Choices where several may be taken and all parts are some; else the words as they stand.
fn one(question: &Value, given: &str) -> Value {
    let labels: Vec<&str> = question
        .get("options")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|option| option.get("label")?.as_str())
        .collect();
    let several = question.get("multiSelect").and_then(Value::as_bool) == Some(true);
    let parts: Vec<&str> = given.split(',').map(str::trim).collect();
    if several && parts.iter().all(|part| labels.contains(part)) {
        return parts.into();
    }
    given.into()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;

    fn ask() -> Value {
        let options = json!([{"label": "Lint"}, {"label": "Docs"}]);
        json!({"call": {"questions": [
            {"question": "One?", "multiSelect": false, "options": options},
            {"question": "Many?", "multiSelect": true, "options": options}]}})
    }

    #[test]
    fn answers_go_under_their_questions_as_choices_or_as_words() {
        let given = |one: &str, many: &str| {
            Value::Object(by_question(&ask(), &[one.into(), many.into()]).unwrap())
        };
        let choices = json!({"One?": "Lint", "Many?": ["Lint", "Docs"]});
        assert_eq!(given("Lint", "Lint, Docs"), choices);
        let words = json!({"One?": "Lint,Docs", "Many?": "Lint, or not"});
        assert_eq!(given("Lint,Docs", "Lint, or not"), words);
    }

    #[test]
    fn a_wrong_number_of_answers_is_refused() {
        let refused = by_question(&ask(), &["Lint".into()]).unwrap_err().to_string();
        assert_eq!(refused, "it asks 2 questions, and 1 answers are given");
        let none = by_question(&json!({"call": {}}), &["x".into()]).unwrap_err().to_string();
        assert_eq!(none, "it asks no questions; approve or deny it");
    }
}
