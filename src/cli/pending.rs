//! `countersign pending`: what waits for an answer.

use super::{
    Context,
    say::{self, Cell, Colour},
    when::when,
};
use anyhow::{Context as _, Result};
use countersign_bridge::card::terminal::{self, row};
use countersign_domain::{
    question::{Choice, Question},
    wire::AskView,
};
use countersign_port::{Card, Tone};
use countersign_tokens::clock;
use serde_json::json;

#[derive(Debug, clap::Args)]
pub(super) struct PendingArgs {
    /// Show each ask as a whole card, with the options of questions
    #[arg(long)]
    full: bool,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(context: &Context, args: &PendingArgs) -> Result<()> {
    let client = context.reader()?;
    if args.json {
        return say::json(&json!({ "asks": client.pending().await? }));
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
    let mut rows = Vec::new();
    for ask in asks {
        let options = options(&ask);
        let card =
            terminal::of(ask).context("the daemon is of another version: it sends no cards")?;
        if args.full {
            say::lines(&[vec![terminal::draw(&card)], options].concat().join("\n"))?;
        } else {
            rows.push(summary(&card, clock::now_ms()));
        }
    }
    if rows.is_empty() { Ok(()) } else { say::rows(&rows, "") }
}

/// An ask on one line: its id, the time left, what it is about and where it comes from.
fn summary(card: &Card, now: i64) -> Vec<Cell> {
    let left = card.deadline.map(|at| format!("{} left", clock::brief_span((at - now).max(0))));
    let title = match card.tone {
        Tone::Critical => Cell::coloured(Colour::Red, &format!("CRITICAL {}", card.title)),
        _ => Cell::plain(&card.title),
    };
    let mut cells = vec![Cell::plain(&card.ask)];
    cells.extend(left.map(|left| Cell::plain(&left)));
    cells.extend([title, Cell::plain(&card.origin)]);
    cells
}

/// The options of an ask's questions, and how to answer; empty for a call.
fn options(ask: &AskView) -> Vec<String> {
    let questions = &ask.call.questions;
    let numbered = |name: &str, at: usize| format!("{name} {}", at + 1);
    let mut lines = Vec::new();
    // The card shows the options of the question that waits.
    for (at, question) in questions.iter().enumerate().filter(|_| questions.len() > 1) {
        lines.push(row(&numbered("question", at), &say::literal(&question.question)));
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
    use countersign_port_testkit::sample_card;

    #[test]
    fn an_ask_is_one_line_with_what_matters_first() {
        let card = Card {
            ask: "a1b2".into(),
            title: "git push\norigin".into(),
            origin: "tester · shop".into(),
            tone: Tone::Critical,
            deadline: Some(240_000),
            ..sample_card("a1b2")
        };
        let line = say::table(&[summary(&card, 0)]);
        assert_eq!(line, "a1b2  4 min left  CRITICAL git push ⏎ origin  tester · shop");
    }

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
