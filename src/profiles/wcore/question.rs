//! AskUserQuestion: reading its arguments, and the effect of an answer.

use serde_json::{Value, json};

/// The only tool whose answer is its output.
pub const TOOL: &str = "AskUserQuestion";

/// A question with its choices; without any, a person answers in their own words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineQuestion {
    /// The text of the question.
    pub text: String,
    /// The choices.
    pub choices: Vec<EngineChoice>,
    /// True when several may be chosen.
    pub several: bool,
}

/// One choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineChoice {
    /// The answer when it is chosen.
    pub label: String,
    /// Its meaning.
    pub description: Option<String>,
}

/// The effect of an approved call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Approved {
    /// The tool runs.
    Runs,
    /// The tool does not run; this is its output.
    Outputs(String),
    /// The tool does not run; the result is an error that nobody answered.
    Unanswered(&'static str),
}

/// Returns the effect of an approval with or without an answer.
// SECURITY: an answer becomes the output of a question and of no other tool, so nobody can invent
// what a command printed.
#[must_use]
pub fn approved(tool: &str, answer: Option<String>) -> Approved {
    // In an earlier wayland-core, an answer to any tool replaced that tool's output.
    match (tool, answer) {
        (TOOL, Some(answer)) => Approved::Outputs(answer),
        (TOOL, None) => Approved::Unanswered("the question was approved without an answer"),
        _ => Approved::Runs,
    }
}

/// Reads the arguments of a question in every shape that models use: `question`, `header` or
/// `prompt` with `choices` or `options`, or a list `questions` of such.
#[must_use]
pub fn parse_all(args: &Value) -> Vec<EngineQuestion> {
    // An empty list counts as missing.
    let list = args.get("questions").and_then(Value::as_array).filter(|list| !list.is_empty());
    list.map_or_else(|| vec![question(args)], |list| list.iter().map(question).collect())
}

/// Returns the first question, the only one that wayland-core's own card shows.
#[must_use]
pub fn parse(args: &Value) -> EngineQuestion {
    parse_all(args).into_iter().next().unwrap_or_default()
}

/// Returns the tool's arguments as a JSON schema for the model.
#[must_use]
pub fn schema() -> Value {
    let text = json!({ "type": "string" });
    json!({
        "type": "object",
        "properties": {
            "question": text,
            "header": text,
            "multiSelect": { "type": "boolean" },
            "options": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": { "label": text, "description": text, "preview": text },
                    "required": ["label", "description"],
                },
            },
        },
        "required": ["question", "options"],
    })
}

fn question(from: &Value) -> EngineQuestion {
    let choices = ["choices", "options"].iter().find_map(|key| from.get(key)?.as_array());
    EngineQuestion {
        text: text(from, &["question", "header", "prompt"]).unwrap_or_default(),
        choices: choices.into_iter().flatten().filter_map(choice).collect(),
        several: from.get("multiSelect").and_then(Value::as_bool).unwrap_or(false),
    }
}

fn choice(item: &Value) -> Option<EngineChoice> {
    let label = match item {
        Value::String(label) => Some(label.trim().to_owned()).filter(|label| !label.is_empty()),
        _ => text(item, &["label", "header", "value"]),
    };
    Some(EngineChoice { label: label?, description: text(item, &["description"]) })
}

fn text(from: &Value, keys: &[&str]) -> Option<String> {
    let found = keys.iter().find_map(|key| from.get(key)?.as_str())?.trim();
    (!found.is_empty()).then(|| found.to_owned())
}
