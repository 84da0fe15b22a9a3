//! `countersign pending`: what waits for an answer.

use super::{Context, Exit, say, when::when};
use anyhow::{Context as _, Result};
use countersign_bridge::card::terminal::{self, row};
use countersign_domain::{
    question::{Choice, Question},
    wire::AskView,
};
use serde_json::json;

#[derive(Debug, clap::Args)]
pub(super) struct PendingArgs {
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(context: &Context, args: &PendingArgs) -> Result<Exit> {
    let client = context.reader()?;
    if args.json {
        say::json(&json!({ "asks": client.pending().await? }))?;
        return Ok(Exit::Good);
    }
    let asks = client.cards().await?;
    // Without an answer to this the list is worth as much.
    if let Ok(ready) = client.ready().await {
        if let Some(pause) = ready.paused {
            let since = say::literal(&when(&pause.since));
            let by = say::literal(&pause.by.to_string());
            say::out(&format!("! Everything is paused by {by}, {since}."))?;
        }
        for problem in ready.problems {
            say::out(&format!("! {}", say::literal(&problem)))?;
        }
    }
    if asks.is_empty() {
        say::out("Nothing waits.")?;
    }
    for ask in asks {
        let options = options(&ask);
        let card =
            terminal::of(ask).context("the daemon is of another version: it sends no cards")?;
        say::out(&[vec![terminal::draw(&card)], options].concat().join("\n"))?;
    }
    Ok(Exit::Good)
}

/// The options of an ask's questions, and how to answer; empty for a call.
fn options(ask: &AskView) -> Vec<String> {
    let questions = &ask.call.questions;
    let numbered = |name: &str, at: usize| match questions.len() {
        1 => name.to_owned(),
        _ => format!("{name} {}", at + 1),
    };
    let mut lines = Vec::new();
    for (at, question) in questions.iter().enumerate() {
        if questions.len() > 1 {
            lines.push(row(&numbered("question", at), &say::literal(&question.question)));
        }
        for (nth, Choice { label, description, .. }) in question.options.iter().enumerate() {
            let name = if nth == 0 { numbered("options", at) } else { String::new() };
            let meaning = description.as_deref().map(|text| format!(" — {text}"));
            let option = format!("{label}{}", meaning.unwrap_or_default());
            lines.push(row(&name, &say::literal(&option)));
        }
    }
    let word = |question: &Question| match (question.options.is_empty(), question.multi_select) {
        (true, _) => "TEXT",
        (false, true) => "OPTION,OPTION",
        (false, false) => "OPTION",
    };
    if !questions.is_empty() {
        let words: Vec<&str> = questions.iter().map(word).collect();
        lines.push(row("answer", &format!("countersign answer {} {}", ask.id, words.join(" "))));
    }
    lines
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;

    #[test]
    fn every_question_is_listed_with_its_options_and_the_command_that_answers() {
        let ask = json!({"id": "a1b2", "state": "open", "digest": "", "why": "", "created": "",
            "call": {"agent": "a", "session": "s", "tool": "ask_user", "args": {}, "questions": [
                {"question": "Which?", "options": [
                    {"label": "SQLite", "description": "a file"}, {"label": "Post\u{1b}gres"}]},
                {"question": "What else?", "multiSelect": true, "options": [{"label": "Lint"}]},
                {"question": "Why?"}]}});
        let lines = options(&serde_json::from_value(ask).unwrap());
        let wanted = [
            "    question 1 Which?",
            "    options 1  SQLite — a file",
            "               Post\\u{1b}gres",
            "    question 2 What else?",
            "    options 2  Lint",
            "    question 3 Why?",
            "    answer     countersign answer a1b2 OPTION OPTION,OPTION TEXT",
        ];
        assert_eq!(lines, wanted);
    }
}
