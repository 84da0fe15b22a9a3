//! The operator's own programs: `"programs": { "deployctl": { … } }`.

use jsonc_parser::ast::{Object, ObjectProp, Value};
use jsonc_parser::common::{Range, Ranged};

use super::RulesReader;
use crate::facts::builtins::builtin;
use crate::facts::programs;
use crate::facts::programs::files::Access;
use crate::facts::programs::own::{OperatorProgram, OwnCase, OwnForm};
use crate::rules::suggest;
use crate::shell::{Word, WordKind};

/// The keys of a description.
const KEYS: [&str; 8] =
    ["values", "reads", "asks", "critical", "operands", "runs", "reaches", "words"];

/// Limit on the words that name a command.
const MOST_WORDS: usize = 5;

impl RulesReader<'_> {
    pub(super) fn programs(&mut self, object: &Object<'_>) {
        let mut seen: Vec<&str> = Vec::new();
        for property in &object.properties {
            let name = property.name.as_str();
            if let Some(problem) = refused(name) {
                self.error(property.range, problem);
            } else if seen.contains(&name) {
                self.error(property.range, format!("{name:?} is described a second time"));
            } else if let Value::Object(description) = &property.value {
                seen.push(name);
                let program = self.program(name, description);
                self.rules.push_program(program);
            } else {
                let form =
                    "a description is an object, like { \"critical\": { \"destroy\": \"why\" } }";
                self.error(property.value.range(), form);
            }
        }
    }

    fn program(&mut self, name: &str, object: &Object<'_>) -> OperatorProgram {
        let mut program = OperatorProgram { name: name.to_owned(), ..OperatorProgram::default() };
        for property in &object.properties {
            match property.name.as_str() {
                "values" => program.values = self.options(property).join(" "),
                "reads" => program.reads = self.forms(property),
                "asks" => program.asks = self.cases(property),
                "critical" => program.critical = self.cases(property),
                "operands" => program.operands = self.access(property),
                "runs" => program.runs = self.texts(property, "a word, like \"--\""),
                "reaches" => program.reaches = self.texts(property, "a host"),
                "words" => program.words = self.count(property),
                other => {
                    let hint = suggest::nearest(other, KEYS)
                        .map_or_else(String::new, |word| format!(" Did you mean \"{word}\"?"));
                    let all = KEYS.join(", ");
                    let message = format!(
                        "{other:?} is not known in the description of {name:?}; it may have \
                         {all}.{hint}"
                    );
                    self.error(property.range, message);
                }
            }
        }
        program
    }

    /// Reads `{ "env destroy --force": "why" }`.
    fn cases(&mut self, property: &ObjectProp<'_>) -> Vec<OwnCase> {
        let key = property.name.as_str();
        let Value::Object(object) = &property.value else {
            self.error(
                property.value.range(),
                format!("{key:?} is an object: {{ \"words\": \"why\" }}"),
            );
            return Vec::new();
        };
        let mut cases = Vec::new();
        for case in &object.properties {
            let words = case.name.as_str();
            match &case.value {
                Value::StringLit(why) if !is_blank(words) && !is_blank(&why.value) => {
                    let (words, why) = (words.to_owned(), why.value.to_string());
                    cases.push(OwnCase { words, why });
                }
                _ => self.error(
                    case.range,
                    format!("{words:?} needs words, and a reason: \"destroy\": \"removes it\""),
                ),
            }
        }
        cases
    }

    /// Reads `{ "status": ["-v", "--output="], "logs": [] }`.
    fn forms(&mut self, property: &ObjectProp<'_>) -> Vec<OwnForm> {
        let Value::Object(object) = &property.value else {
            let form = "\"reads\" is an object: { \"status\": [\"-v\"] }, or \"*\" for every call";
            self.error(property.value.range(), form);
            return Vec::new();
        };
        let mut forms = Vec::new();
        for form in &object.properties {
            let sub = form.name.as_str();
            if sub.trim().is_empty() || sub.split_whitespace().any(|word| word.starts_with('-')) {
                self.error(
                    form.range,
                    "name the sub-command that only reads, or \"*\" for every call",
                );
                continue;
            }
            // `*` is the program without a sub-command.
            let sub = if sub == "*" { String::new() } else { sub.to_owned() };
            forms.push(OwnForm { sub, options: self.options(form).join(" ") });
        }
        forms
    }

    fn options(&mut self, property: &ObjectProp<'_>) -> Vec<String> {
        let options = self.texts(property, "an option, like \"-n\"");
        if options.iter().any(|option| !option.starts_with('-') || option.len() < 2) {
            self.error(property.value.range(), "an option begins with a dash");
        }
        options
    }

    /// Reads a list of texts without blanks, or a single text.
    fn texts(&mut self, property: &ObjectProp<'_>, what: &str) -> Vec<String> {
        let all: Vec<&Value<'_>> = match &property.value {
            Value::Array(array) => array.elements.iter().collect(),
            one => vec![one],
        };
        let mut texts = Vec::new();
        for value in all {
            match value {
                Value::StringLit(text) if !text.value.is_empty() && !text.value.contains(' ') => {
                    texts.push(text.value.to_string());
                }
                other => {
                    let key = property.name.as_str();
                    self.error(other.range(), format!("{key:?} is a list, and this is not {what}"));
                }
            }
        }
        texts
    }

    fn access(&mut self, property: &ObjectProp<'_>) -> Option<Access> {
        let access = match &property.value {
            Value::StringLit(text) => match &*text.value {
                "reads" => Some(Access::Read),
                "writes" => Some(Access::Write),
                "deletes" => Some(Access::Delete),
                "moves" => Some(Access::Move),
                _ => None,
            },
            _ => None,
        };
        if access.is_none() {
            let form = "\"operands\" is \"reads\", \"writes\", \"deletes\" or \"moves\"";
            self.error(property.value.range(), form);
        }
        access
    }

    fn count(&mut self, property: &ObjectProp<'_>) -> Option<usize> {
        let count = match &property.value {
            Value::NumberLit(number) => number.value.parse().ok(),
            _ => None,
        };
        let count = count.filter(|count| (1..=MOST_WORDS).contains(count));
        if count.is_none() {
            let range: Range = property.value.range();
            self.error(range, format!("\"words\" is a number from 1 to {MOST_WORDS}"));
        }
        count
    }
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// Returns why a program of this name cannot be described.
// SECURITY: built-in descriptions cannot be replaced, so no file makes one less strict.
fn refused(name: &str) -> Option<String> {
    let word = Word { text: name.into(), kind: WordKind::Literal, quoted: false, span: 0..0 };
    if programs::of(name).is_some() || builtin(&[word]).is_some() {
        return Some(format!(
            "{name:?} is known already, and what is built in stays as it is; rules say what of it \
             is allowed"
        ));
    }
    let odd =
        |c: char| c.is_whitespace() || c.is_control() || "/*?[]{}$`'\"\\|&;<>()~#=!".contains(c);
    (name.is_empty() || name.starts_with('-') || name.contains(odd)).then(|| {
        format!(
            "{name:?} is no name of a program; write it without its folder and without patterns"
        )
    })
}
