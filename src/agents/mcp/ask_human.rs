//! The tool `ask_human`: its arguments as a question, and the answer as text for the model.

use countersign_client::{Decided, Ending};
use countersign_domain::{
    Decision,
    question::{Choice, Question},
};
use serde::Deserialize;
use serde_json::{Map, Value};

/// The tool that the question is submitted as: it asks and does nothing else.
pub(super) const TOOL: &str = "ask_user";

/// The arguments.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HumanQuestion {
    question: String,
    #[serde(default)]
    options: Vec<HumanOption>,
    #[serde(default)]
    multiple: bool,
    #[serde(default)]
    pub(super) reason: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum HumanOption {
    Label(String),
    Described {
        label: String,
        #[serde(default)]
        description: Option<String>,
    },
}

impl HumanQuestion {
    /// Reads the arguments of the tool.
    pub(super) fn read(arguments: &Map<String, Value>) -> Result<Self, String> {
        let read = Self::deserialize(Value::Object(arguments.clone()));
        read.map_err(|error| format!("the arguments of `ask_human` cannot be read: {error}"))
    }

    /// The question as people see it.
    pub(super) fn question(&self) -> Question {
        let choice = |option: &HumanOption| match option {
            HumanOption::Label(label) => {
                Choice { label: label.clone(), description: None, preview: None }
            }
            HumanOption::Described { label, description } => {
                Choice { label: label.clone(), description: description.clone(), preview: None }
            }
        };
        Question {
            question: self.question.clone(),
            header: None,
            multi_select: self.multiple,
            options: self.options.iter().map(choice).collect(),
        }
    }
}

/// The person's answer, one line for each choice; otherwise why there is none.
// FAIL-CLOSED: only an answered question is an answer.
pub(super) fn answer(decided: &Decided) -> Result<String, String> {
    match (decided.decision, &decided.ending) {
        (Decision::Answer, Ending::Answered(answer)) => {
            let answers = answer.answers.iter().flatten().map(|(_, said)| words(said));
            let text: Vec<String> = answers.collect();
            match text.iter().all(String::is_empty) {
                true => Err("The question has no answer.".to_owned()),
                false => Ok(text.join("\n")),
            }
        }
        _ => Err(sentence(&decided.reason)),
    }
}

fn words(said: &Value) -> String {
    match said {
        Value::String(text) => text.clone(),
        Value::Array(labels) => {
            let labels: Vec<&str> = labels.iter().filter_map(Value::as_str).collect();
            labels.join("\n")
        }
        _ => String::new(),
    }
}

/// The reason as a sentence of its own.
pub(super) fn sentence(reason: &str) -> String {
    let mut letters = reason.chars();
    match letters.next() {
        Some(first) => format!("{}{}.", first.to_uppercase(), letters.as_str()),
        None => "Nobody answered.".to_owned(),
    }
}
