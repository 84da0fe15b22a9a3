//! The rule `"*"` under `permissions.ask` in Claude Code's settings. With it every call is a prompt in
//! every mode, whatever its classifier and its vendor's switches say (seen with 2.1.330).
//!
//! A rule that a person wrote is never ours: ours stands beside it, and one of both goes again.

use crate::json_settings::{byte_order_mark, cut, parse_tree};
use jsonc_parser::{ast::Value as JsonNode, common::Ranged};
use std::ops::Range;

/// The rule that every call matches.
const ALL: &str = "*";

/// Whether there is such a rule, of whomever.
pub(super) fn is_there(text: &str) -> bool {
    let settings: serde_json::Value =
        serde_json::from_str(byte_order_mark(text).1).unwrap_or_default();
    let rules = settings.pointer("/permissions/ask").and_then(|rules| rules.as_array());
    rules.is_some_and(|rules| rules.iter().any(|rule| rule == ALL))
}

/// The settings with one such rule more, in front of all else in its place; what is there is
/// unchanged.
///
/// # Errors
/// A sentence where something else is in its place.
pub(super) fn add(text: &str) -> Result<String, String> {
    let (mark, text) = byte_order_mark(text);
    let wrong =
        |what: &str| format!("`{what}` is not valid in the settings of Claude Code; fix it first");
    let parsed = parse_tree(text).ok_or_else(|| wrong("this"))?;
    let root = parsed.as_object().ok_or_else(|| wrong("this"))?;
    let added = match root.get("permissions").map(|prop| &prop.value) {
        None => insert(text, &parsed, &format!("\"permissions\": {{\"ask\": [\"{ALL}\"]}}")),
        Some(permissions) => {
            let rules = permissions.as_object().ok_or_else(|| wrong("permissions"))?;
            match rules.get("ask").map(|prop| &prop.value) {
                None => insert(text, permissions, &format!("\"ask\": [\"{ALL}\"]")),
                Some(ask @ JsonNode::Array(_)) => insert(text, ask, &format!("\"{ALL}\"")),
                Some(_) => return Err(wrong("permissions.ask")),
            }
        }
    };
    // A key that is there twice: Claude Code reads the other one.
    if is_there(&added) {
        Ok([mark, &added].concat())
    } else {
        Err("`permissions`, or `ask` in it, is there twice; fix it first".to_owned())
    }
}

/// Puts a text in front of what an object or an array holds, set off as that is.
fn insert(text: &str, parent: &JsonNode<'_>, new: &str) -> String {
    let (head, tail) = text.split_at_checked(parent.start() + 1).unwrap_or((text, ""));
    let rest = tail.trim_start();
    let lead = tail.strip_suffix(rest).unwrap_or_default();
    if rest.starts_with(['}', ']']) {
        [head, new, tail].concat()
    } else {
        [head, lead, new, ",", tail].concat()
    }
}

/// The settings without one such rule, and without what is empty then.
pub(super) fn without(text: &str) -> String {
    let (mark, text) = byte_order_mark(text);
    let place = parse_tree(text).and_then(|parsed| place(&parsed));
    [mark, &place.map_or_else(|| text.to_owned(), |place| cut(text, place))].concat()
}

/// The place of a rule, or of what holds nothing else.
fn place(root: &JsonNode<'_>) -> Option<Range<usize>> {
    let settings = root.as_object()?;
    let permissions = settings.get("permissions")?;
    let rules = permissions.value.as_object()?;
    let ask = rules.get("ask")?;
    let list = ask.value.as_array()?;
    let is_rule = |rule: &&JsonNode<'_>| rule.as_string_lit().is_some_and(|it| it.value == ALL);
    let rule = list.elements.iter().find(is_rule)?;
    // With what sets it off, where it stands first, as `add` has put it.
    let from = |first: Option<usize>, parent: usize, at: usize| {
        if first == Some(at) { parent + 1 } else { at }
    };
    Some(match (list.elements.len(), rules.properties.len()) {
        (1, 1) => {
            let first = settings.properties.first().map(Ranged::start);
            from(first, root.start(), permissions.start())..permissions.end()
        }
        (1, _) => {
            let first = rules.properties.first().map(Ranged::start);
            from(first, permissions.value.start(), ask.start())..ask.end()
        }
        _ => {
            let first = list.elements.first().map(Ranged::start);
            from(first, ask.value.start(), rule.start())..rule.end()
        }
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;

    #[test]
    fn a_rule_is_added_and_goes_again_to_the_byte() {
        for theirs in [
            "{\n  \"a\": 1\n}\n",
            "{\n  \"permissions\": {\n    \"allow\": [\"Read\"]\n  }\n}\n",
            "{\n  \"permissions\": {\n    \"ask\": [\n      \"Bash(rm *)\"\n    ]\n  }\n}",
            "{\n  \"permissions\": {\n    \"ask\": [\"*\"]\n  }\n}\n",
            "{\n  \"a\": 1, \"permissions\": { \"allow\": [\"Read\"] }\n}\n",
            "{}",
            r#"{"a":1}"#,
            r#"{ "permissions": { "allow": ["Read"] }, "b": 2 }"#,
            r#"{"permissions":{"ask":["*"]}}"#,
            "\u{feff}{\"permissions\": {\"ask\": [ \"Bash(rm *)\" ]}}\n",
        ] {
            let added = add(theirs).unwrap();
            assert!(is_there(&added), "{added}");
            let rules = |text: &str| text.matches("\"*\"").count();
            assert_eq!(rules(&added), rules(theirs) + 1, "{added}");
            assert_eq!(without(&added), theirs, "{added}");
        }
    }

    #[test]
    fn something_else_in_its_place_is_refused() {
        for (text, what) in [
            ("{\"permissions\": 5}", "permissions"),
            ("{\n\"permissions\": {\"ask\": \"*\"}\n}", "permissions.ask"),
        ] {
            let why = format!("`{what}` is not valid in the settings of Claude Code; fix it first");
            assert_eq!(add(text), Err(why));
        }
        let twice = "{\n\"permissions\": {},\n\"permissions\": {}\n}";
        assert!(add(twice).is_err_and(|why| why.contains("is there twice")));
    }
}
