//! Rules that are objects: an action with examples and an expiry.

use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Ranged;

use super::RulesReader;
use crate::rules::entry::Example;
use crate::rules::verdict::Verdict;
use crate::rules::{suggest, when};

impl RulesReader<'_> {
    pub(super) fn detail_action(&mut self, object: &Object<'_>) -> Option<Verdict> {
        match object.get_string("action") {
            Some(action) => self.action(action),
            None => {
                self.error(object.range, "a rule object needs an \"action\"");
                None
            }
        }
    }

    /// Reads `match`, `not_match` and `expires` into the rules pushed since `from`.
    pub(super) fn details(&mut self, object: &Object<'_>, from: usize) {
        let (mut examples, mut expires) = (Vec::new(), None);
        for property in &object.properties {
            match (property.name.as_str(), &property.value) {
                ("action", _) => {}
                (word @ ("match" | "not_match"), Value::Array(array)) => {
                    for element in &array.elements {
                        match element {
                            Value::StringLit(text) => examples.push(Example {
                                text: text.value.to_string(),
                                matches: word == "match",
                            }),
                            other => self.error(other.range(), "an example is a string"),
                        }
                    }
                }
                ("expires", Value::StringLit(time)) => {
                    expires = when::millis(&time.value);
                    if expires.is_none() {
                        self.error(
                            time.range,
                            "\"expires\" is a time like \"2026-12-01\" or \"2026-12-01T08:00:00Z\"",
                        );
                    }
                }
                (word @ ("match" | "not_match" | "expires"), other) => self.error(
                    other.range(),
                    format!("{word:?} has the wrong type; examples are lists, times are strings"),
                ),
                (other, _) => {
                    let known = ["action", "match", "not_match", "expires"];
                    let hint = suggest::nearest(other, known)
                        .map_or_else(String::new, |word| format!(" Did you mean \"{word}\"?"));
                    self.error(
                        property.range,
                        format!(
                            "{other:?} is not known; a rule object has \"action\", \"match\", \
                             \"not_match\" and \"expires\".{hint}"
                        ),
                    );
                }
            }
        }
        for entry in self.rules.entries.iter_mut().skip(from) {
            entry.expires = expires;
            entry.examples.clone_from(&examples);
        }
    }

    /// Returns true for an object that is itself the rule of a tool and not a list of patterns.
    pub(super) fn is_detail(object: &Object<'_>) -> bool {
        object.get_string("action").is_some()
            && object.properties.iter().any(|p| {
                matches!(
                    (p.name.as_str(), &p.value),
                    ("match" | "not_match", Value::Array(_)) | ("expires", _)
                )
            })
    }
}
