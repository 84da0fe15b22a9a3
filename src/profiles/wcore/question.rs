//! AskUserQuestion: how its arguments are read, and what an answer does.

use serde_json::{Value, json};

/// The one tool whose answer is its output.
pub const TOOL: &str = "AskUserQuestion";

/// A question with its choices; where there are none a person answers in their own words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineQuestion {
    /// What is asked.
    pub text: String,
    /// What to choose from.
    pub choices: Vec<EngineChoice>,
    /// Whether several may be chosen.
    pub several: bool,
}

/// One choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineChoice {
    /// What is answered when it is chosen.
    pub label: String,
    /// What it means.
    pub description: Option<String>,
}

/// What an approved call does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Approved {
    /// The tool runs.
    Runs,
    /// The tool does not run: this is its output.
    Outputs(String),
    /// The tool does not run: it is an error that nobody answered.
    Unanswered(&'static str),
}

/// What an approval with or without an answer does.
// SECURITY: an answer is the output of a question and of no other tool; nobody can make up what a
// command printed.
#[must_use]
pub fn approved(tool: &str, answer: Option<String>) -> Approved {
    match (tool, answer) {
        (TOOL, Some(answer)) => Approved::Outputs(answer),
        (TOOL, None) => Approved::Unanswered("the question was approved without an answer"),
        _ => Approved::Runs,
    }
}

/// Reads the arguments of a question in any of the shapes that models give them: `question`,
/// `header` or `prompt` with `choices` or `options`, or a list `questions` of such.
#[must_use]
pub fn parse_all(args: &Value) -> Vec<EngineQuestion> {
    let list = args.get("questions").and_then(Value::as_array).filter(|list| !list.is_empty());
    list.map_or_else(|| vec![question(args)], |list| list.iter().map(question).collect())
}

/// The first question, which is the only one that wayland-core's own card shows.
#[must_use]
pub fn parse(args: &Value) -> EngineQuestion {
    parse_all(args).into_iter().next().unwrap_or_default()
}

/// What the tool's arguments look like, as a JSON schema for the model.
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
