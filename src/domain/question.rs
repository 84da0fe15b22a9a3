//! Questions to a person, and their answers so far. Pure.

use super::{
    call::{Malformed, excerpt, is_no_longer},
    edit::ProposedEdit,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::HashSet;

/// One question. The names are those of Claude Code's AskUserQuestion; `text` is taken for
/// `question`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// The whole question; the key of its answer.
    #[serde(alias = "text")]
    pub question: String,
    /// A short heading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// Whether several options may be chosen.
    #[serde(default, alias = "multi", alias = "multi_select")]
    pub multi_select: bool,
    /// What to choose from; may be empty where free text is wanted.
    #[serde(default)]
    pub options: Vec<Choice>,
}

/// One option of a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Choice {
    /// What is answered when it is chosen.
    pub label: String,
    /// What it means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// A longer picture of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
}

/// The answers to an ask's questions so far.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Answers to the first questions, in order.
    pub answered: Vec<QuestionAnswer>,
    /// The options chosen so far in the current question, if it permits several.
    pub chosen: Vec<usize>,
    /// What somebody wants the call to be instead, and has not approved yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edit: Option<ProposedEdit>,
    /// How many edits there were: a button of an earlier one does nothing.
    #[serde(default, skip_serializing_if = "is_none")]
    pub edits: usize,
}

fn is_none(edits: &usize) -> bool {
    *edits == 0
}

/// The answer to one question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum QuestionAnswer {
    /// Labels of chosen options.
    Labels(Vec<String>),
    /// The person's own words.
    Text(String),
}

/// Checks what the types do not express.
///
/// # Errors
/// A sentence that names the field.
pub fn check(questions: &[Question]) -> Result<(), Malformed> {
    if questions.len() > 10 {
        return Err(Malformed("`questions` holds more than 10; ask them in several calls".into()));
    }
    // Answers refer to questions by text and to options by label, so each must be unique.
    if let Some(twice) = twice(questions.iter().map(|question| &*question.question)) {
        let twice = excerpt(twice);
        return Err(Malformed(format!("`questions` asks `{twice}` twice; answers go by its text")));
    }
    questions.iter().try_for_each(Question::check)
}

impl Question {
    fn check(&self) -> Result<(), Malformed> {
        let Self { question, header, options, .. } = self;
        if question.trim().is_empty() {
            return Err(Malformed("`questions[].question` is empty".into()));
        }
        is_no_longer("questions[].question", question, 4_000)?;
        is_no_longer("questions[].header", header.as_deref().unwrap_or_default(), 200)?;
        if options.len() > 20 {
            return Err(Malformed(
                "`questions[].options` holds more than 20; a chat cannot show them".into(),
            ));
        }
        for Choice { label, description, preview } in options {
            if label.trim().is_empty() {
                return Err(Malformed("`questions[].options[].label` is empty".into()));
            }
            let field = |name: &str| format!("questions[].options[].{name}");
            is_no_longer(&field("label"), label, 500)?;
            is_no_longer(&field("description"), description.as_deref().unwrap_or_default(), 4_000)?;
            is_no_longer(&field("preview"), preview.as_deref().unwrap_or_default(), 20_000)?;
        }
        match twice(options.iter().map(|option| option.label.trim())) {
            None => Ok(()),
            Some(label) => Err(Malformed(format!(
                "`questions[].options` holds the label `{}` twice; nobody could tell which was \
                 meant",
                excerpt(label)
            ))),
        }
    }
}

/// The first text that occurs a second time.
fn twice<'t>(texts: impl Iterator<Item = &'t str>) -> Option<&'t str> {
    let mut seen = HashSet::new();
    texts.into_iter().find(|text| !seen.insert(*text))
}

impl Progress {
    /// The index of the question that waits for an answer.
    #[must_use]
    pub fn current(&self) -> usize {
        self.answered.len()
    }

    /// Records the answer to the current question and continues with the next.
    #[must_use]
    pub fn answer(mut self, reply: QuestionAnswer) -> Self {
        self.answered.push(reply);
        self.chosen.clear();
        self
    }

    /// Selects an option of the current question, or deselects it.
    #[must_use]
    pub fn toggle(mut self, option: usize) -> Self {
        match self.chosen.iter().position(|chosen| *chosen == option) {
            Some(at) => drop(self.chosen.remove(at)),
            None => self.chosen.push(option),
        }
        // Sorted, so that labels come out in the order of the options and not of the presses.
        self.chosen.sort_unstable();
        self
    }

    /// The answers by question, in Claude Code's form: a label, a list of labels for a multi-select
    /// question, or the person's own words.
    #[must_use]
    pub fn answers(&self, questions: &[Question]) -> Map<String, Value> {
        let said = |(question, reply): (&Question, &QuestionAnswer)| {
            let value = match reply {
                QuestionAnswer::Text(text) => Value::from(text.as_str()),
                QuestionAnswer::Labels(labels) if question.multi_select => {
                    Value::from(labels.clone())
                }
                QuestionAnswer::Labels(labels) => Value::from(labels.join(", ")),
            };
            (question.question.clone(), value)
        };
        questions.iter().zip(&self.answered).map(said).collect()
    }
}

/// Parses the answers to all questions at once, by question text.
///
/// # Errors
/// A sentence, if a question has no answer, an answer has no question, or a value is invalid.
pub fn all_at_once(
    questions: &[Question],
    answers: &Map<String, Value>,
) -> Result<Progress, Malformed> {
    if let Some(stray) = answers.keys().find(|key| questions.iter().all(|q| q.question != **key)) {
        return Err(Malformed(format!(
            "`answers` holds `{stray}`, which is not one of the questions"
        )));
    }
    questions.iter().try_fold(Progress::default(), |progress, question| {
        let text = &question.question;
        let Some(value) = answers.get(text) else {
            return Err(Malformed(format!("`answers` does not hold an answer to `{text}`")));
        };
        let no_answer = || Malformed(format!("the answer to `{text}` is neither text nor labels"));
        Ok(progress.answer(reply(question, value).ok_or_else(no_answer)?))
    })
}

fn reply(question: &Question, value: &Value) -> Option<QuestionAnswer> {
    let known = |label: &str| question.options.iter().any(|option| option.label == label);
    match value {
        Value::String(text) if text.trim().is_empty() => None,
        // A text that equals a label is a choice, so that both give the same answer.
        Value::String(text) if known(text) => Some(QuestionAnswer::Labels(vec![text.clone()])),
        Value::String(text) => Some(QuestionAnswer::Text(text.clone())),
        Value::Array(labels) if question.multi_select && !labels.is_empty() => {
            let labels = labels.iter().map(|label| label.as_str().map(str::to_owned));
            labels.collect::<Option<Vec<_>>>().map(QuestionAnswer::Labels)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use serde_json::json;

    fn questions() -> Vec<Question> {
        serde_json::from_value(json!([
            {"question": "Which store?", "header": "Store", "multiSelect": false,
             "options": [{"label": "SQLite", "description": "one file"}, {"label": "Postgres"}]},
            {"question": "Which checks?", "multiSelect": true,
             "options": [{"label": "Lint"}, {"label": "Docs"}]}
        ]))
        .unwrap()
    }

    #[test]
    fn answers_come_out_by_question_in_the_shape_claude_takes() {
        let progress = Progress::default()
            .answer(QuestionAnswer::Text("neither, redb".into()))
            .toggle(1)
            .toggle(0)
            .toggle(1)
            .answer(QuestionAnswer::Labels(vec!["Lint".into()]));
        let answers = Value::from(progress.answers(&questions()));
        assert_eq!(answers, json!({"Which store?": "neither, redb", "Which checks?": ["Lint"]}));
    }

    #[test]
    fn answers_given_at_once_must_name_every_question_and_no_other() {
        let given = |value: Value| all_at_once(&questions(), value.as_object().unwrap());
        let progress = given(json!({"Which store?": "SQLite", "Which checks?": ["Lint", "Docs"]}));
        assert_eq!(
            progress.unwrap().answered,
            [
                QuestionAnswer::Labels(vec!["SQLite".into()]),
                QuestionAnswer::Labels(vec!["Lint".into(), "Docs".into()])
            ]
        );
        let missing = given(json!({"Which store?": "SQLite"})).unwrap_err();
        assert_eq!(missing.to_string(), "`answers` does not hold an answer to `Which checks?`");
        let stray = given(json!({"Which": "x"})).unwrap_err();
        assert_eq!(stray.to_string(), "`answers` holds `Which`, which is not one of the questions");
        let odd = given(json!({"Which store?": true, "Which checks?": "Lint"})).unwrap_err();
        assert_eq!(odd.to_string(), "the answer to `Which store?` is neither text nor labels");
    }
}
