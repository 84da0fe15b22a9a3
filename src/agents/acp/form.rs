//! A form of the agent (`elicitation/create`) as questions, and their answers as its content.

use countersign_client::{Decided, Ending};
use countersign_domain::{
    Decision,
    question::{Choice, Question},
};
use serde_json::{Map, Value, json};

/// The field for a person's own words beside a field with choices (claude-agent-acp).
const OWN_WORDS: &str = "_custom";
const YES: &str = "Yes";
const NO: &str = "No";

/// A form that people can fill in on a card.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Form {
    fields: Vec<FormField>,
}

#[derive(Debug, Clone, PartialEq)]
struct FormField {
    name: String,
    kind: FieldKind,
    question: Question,
    /// The field for other words, if there is one.
    own_words: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
enum FieldKind {
    /// One of these: label and value.
    One(Vec<(String, Value)>),
    /// Several of these.
    Several(Vec<(String, Value)>),
    YesOrNo,
    Number,
    Integer,
    Text,
}

impl Form {
    /// Reads the parameters of `elicitation/create`; `None` for a form that a card cannot show.
    pub(super) fn read(params: &Map<String, Value>) -> Option<Self> {
        if params.get("mode").is_some_and(|mode| mode != "form") {
            return None;
        }
        let properties = params.get("requestedSchema")?.get("properties")?.as_object()?;
        let message = params.get("message").and_then(Value::as_str).unwrap_or_default();
        let mut fields = Vec::new();
        for (name, schema) in properties {
            let base = name.strip_suffix(OWN_WORDS).filter(|base| properties.contains_key(*base));
            if base.is_none() {
                fields.push(FormField::read(name, schema, properties)?);
            }
        }
        if let [only] = &mut *fields
            && !message.is_empty()
            && only.question.question != message
        {
            only.question.question = format!("{message}\n{}", only.question.question);
        }
        (!fields.is_empty()).then_some(Self { fields })
    }

    pub(super) fn questions(&self) -> Vec<Question> {
        self.fields.iter().map(|field| field.question.clone()).collect()
    }

    /// The reply: the content, or that there is none.
    // FAIL-CLOSED: an answer that does not fit its field declines the whole form.
    pub(super) fn reply(&self, decided: &Decided) -> Value {
        let content = match (decided.decision, &decided.ending) {
            (Decision::Answer, Ending::Answered(answer)) => {
                answer.answers.as_ref().and_then(|said| self.content(said))
            }
            _ => None,
        };
        match content {
            Some(content) => json!({ "action": "accept", "content": content }),
            None => declined(),
        }
    }

    fn content(&self, said: &Map<String, Value>) -> Option<Map<String, Value>> {
        let mut content = Map::new();
        for field in &self.fields {
            let said = said.get(&field.question.question)?;
            match (field.kind.value(said), &field.own_words) {
                (Some(value), _) => content.insert(field.name.clone(), value),
                (None, Some(other)) => content.insert(other.clone(), json!(said.as_str()?)),
                (None, None) => return None,
            };
        }
        Some(content)
    }
}

/// The reply of a person who fills nothing in.
pub(super) fn declined() -> Value {
    json!({ "action": "decline" })
}

impl FormField {
    fn read(name: &str, schema: &Value, all: &Map<String, Value>) -> Option<Self> {
        let text = |key: &str| schema.get(key).and_then(Value::as_str).map(str::to_owned);
        let kind = FieldKind::read(schema)?;
        let title = text("title");
        let words = text("description").or_else(|| title.clone());
        let choice = |label: &str, of: Option<&Value>| Choice {
            label: label.to_owned(),
            description: of.and_then(|of| of["description"].as_str()).map(str::to_owned),
            preview: None,
        };
        let options = match &kind {
            FieldKind::One(options) | FieldKind::Several(options) => {
                let described = listed(schema).unwrap_or_default();
                let each = options.iter().enumerate();
                each.map(|(at, (label, _))| choice(label, described.get(at).copied())).collect()
            }
            FieldKind::YesOrNo => vec![choice(YES, None), choice(NO, None)],
            FieldKind::Number | FieldKind::Integer | FieldKind::Text => Vec::new(),
        };
        let question = Question {
            question: words.unwrap_or_else(|| name.to_owned()),
            header: title,
            multi_select: matches!(kind, FieldKind::Several(_)),
            options,
        };
        let own_words = Some(format!("{name}{OWN_WORDS}")).filter(|own| all.contains_key(own));
        Some(Self { name: name.to_owned(), kind, question, own_words })
    }
}

impl FieldKind {
    fn read(schema: &Value) -> Option<Self> {
        let options = || {
            let each = listed(schema)?.into_iter();
            let option = |option: &Value| {
                let value = option.get("const").unwrap_or(option).clone();
                let label = option.get("title").and_then(Value::as_str);
                Some((label.or(value.as_str())?.to_owned(), value))
            };
            each.map(option).collect::<Option<Vec<_>>>()
        };
        match schema.get("type").and_then(Value::as_str)? {
            "string" if listed(schema).is_some() => Some(Self::One(options()?)),
            "string" => Some(Self::Text),
            "array" => Some(Self::Several(options()?)),
            "boolean" => Some(Self::YesOrNo),
            "number" => Some(Self::Number),
            "integer" => Some(Self::Integer),
            _ => None,
        }
    }

    /// What the person said as a value of the field.
    fn value(&self, said: &Value) -> Option<Value> {
        let of = |options: &[(String, Value)], label: &Value| {
            options.iter().find(|(known, _)| label == known).map(|(_, value)| value.clone())
        };
        let text = said.as_str().map(str::trim);
        match self {
            Self::One(options) => of(options, said),
            Self::Several(options) => match said {
                Value::Array(labels) => {
                    labels.iter().map(|label| of(options, label)).collect::<Option<_>>()
                }
                label => of(options, label).map(|value| json!([value])),
            },
            Self::YesOrNo => match text? {
                YES => Some(json!(true)),
                NO => Some(json!(false)),
                _ => None,
            },
            Self::Number => text?.parse::<f64>().ok().filter(|n| n.is_finite()).map(|n| json!(n)),
            Self::Integer => text?.parse::<i64>().ok().map(|number| json!(number)),
            Self::Text => said.is_string().then(|| said.clone()),
        }
    }
}

/// The options of a schema, in each form that the protocol has for them.
fn listed(schema: &Value) -> Option<Vec<&Value>> {
    let items = schema.get("items").unwrap_or(schema);
    let list = ["oneOf", "anyOf", "enum"].iter().find_map(|key| items.get(*key)?.as_array())?;
    Some(list.iter().collect())
}
