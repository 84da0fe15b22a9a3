//! `countersign pending`: what waits for an answer.

use super::{Context, Exit, say};
use crate::clock;
use anyhow::Result;
use serde_json::{Value, json};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(context: &Context, args: &Args) -> Result<Exit> {
    let asks = context.client()?.pending().await?;
    if args.json {
        say::json(&json!({ "asks": asks }))?;
    } else if asks.is_empty() {
        say::out("Nothing waits.")?;
    } else {
        let shown: Vec<_> = asks.iter().map(show).collect();
        say::out(&shown.join("\n"))?;
    }
    Ok(Exit::Good)
}

/// An ask in a few lines, everything that the agent wrote made literal.
fn show(ask: &Value) -> String {
    let text = |path: &str| ask.pointer(path).and_then(Value::as_str).map(say::literal);
    let mut lines = vec![format!(
        "{}  {} asks for {} ({})",
        text("/id").unwrap_or_default(),
        text("/call/agent").unwrap_or_default(),
        text("/call/tool").unwrap_or_default(),
        text("/call/session").unwrap_or_default(),
    )];
    let mut line = |name: &str, value: Option<String>| {
        lines.extend(value.map(|value| format!("    {name:<9} {value}")));
    };
    let questions = ask.pointer("/call/questions").and_then(Value::as_array);
    for question in questions.into_iter().flatten() {
        line("question", question.get("question").and_then(Value::as_str).map(say::literal));
    }
    if questions.is_none() {
        let args = || ask.pointer("/call/args").map(|args| say::literal(&args.to_string()));
        match text("/call/args/command") {
            Some(command) => line("command", Some(command)),
            None => line("arguments", args()),
        }
    }
    line("folder", text("/call/cwd"));
    line("reason", text("/call/reason"));
    line("deadline", text("/deadline").map(|at| deadline(&at)));
    lines.join("\n")
}

fn deadline(at: &str) -> String {
    let left = at.parse::<jiff::Timestamp>().map(|at| at.as_millisecond() - clock::now_ms());
    match left {
        Ok(left) if left > 0 => format!("in {}", clock::span(left)),
        Ok(_) => "over".to_owned(),
        Err(_) => at.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ask_shows_its_command_and_nothing_that_an_agent_wrote_can_pass_for_ours() {
        let ask = json!({
            "id": "a1b2", "state": "open", "call": {
                "agent": "claude-code", "session": "s\n9", "tool": "Bash", "cwd": "/srv",
                "args": {"command": "ls\n    reason    trust me"}},
        });
        let shown = "a1b2  claude-code asks for Bash (s\\n9)\n    command   ls\\n    reason    trust \
                     me\n    folder    /srv";
        assert_eq!(show(&ask), shown);
    }

    #[test]
    fn questions_are_shown_instead_of_arguments() {
        let ask = json!({"id": "q", "call": {"agent": "a", "session": "s", "tool": "ask_user",
            "args": {}, "questions": [{"question": "Which?"}]}});
        assert_eq!(show(&ask), "q  a asks for ask_user (s)\n    question  Which?");
    }
}
