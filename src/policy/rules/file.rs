//! Edits a rules file without touching what a person wrote: comments, layout, line ends.

use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};

use crate::facts::tools::canonical;
use crate::rules::Rule;
use crate::rules::read::{OPTIONS, PROGRAMS};
use crate::rules::verdict::Verdict;

/// The reason why a rules file was not changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// The file cannot be parsed, so nothing is added to it.
    #[error("the rules file is not valid JSONC ({0}); fix it first")]
    Syntax(String),
    /// The file holds neither an object nor a list.
    #[error("the rules file holds no rules object; begin it with {{ }}")]
    Shape,
    /// The rule is for a tool whose name the file uses for descriptions of programs.
    #[error("a rules file has no place for rules of a tool named \"programs\"")]
    Reserved,
    /// The rule allows what a person has denied with the same pattern.
    #[error("the rules file says {tool}: {pattern:?}: deny; a grant does not overwrite that")]
    Denied {
        /// The tool.
        tool: String,
        /// The pattern.
        pattern: String,
    },
}

const MARK: char = '\u{feff}';

/// Returns the text with `rules` added so that they come last in their tool. A rule that is there
/// already is left alone. When one rule cannot be added, none is.
///
/// # Errors
/// When the text is not a rules file, or when a person has denied one of the patterns.
// INVARIANT: a hand-written deny is never overwritten.
pub fn append(text: &str, rules: &[Rule]) -> Result<String, FileError> {
    let (mark, text) = split_mark(text);
    let root = parse(text)?;
    // `object_value_or_set` would replace a root of another shape, such as `[1]`, so the shape is
    // checked here.
    let object = match root.value() {
        None => root.object_value_or_create().ok_or(FileError::Shape)?,
        Some(value) => match (value.as_object(), value.as_array()) {
            (Some(object), _) => object,
            (_, Some(array)) => {
                rules.iter().for_each(|rule| append_flat(&array, rule));
                return Ok(format!("{mark}{root}"));
            }
            (None, None) => return Err(FileError::Shape),
        },
    };
    // An error drops `root`, so a text is never half changed.
    for rule in rules {
        append_one(&object, rule)?;
    }
    Ok(format!("{mark}{root}"))
}

/// Returns the text without `rule`; unchanged when the rule is not there.
///
/// # Errors
/// When the text is not a rules file.
pub fn remove(text: &str, rule: &Rule) -> Result<String, FileError> {
    let (mark, text) = split_mark(text);
    let root = parse(text)?;
    match root.value() {
        None => {}
        Some(value) => match (value.as_object(), value.as_array()) {
            (Some(object), _) => remove_from_object(&object, rule),
            (_, Some(array)) => remove_flat(&array, rule),
            (None, None) => return Err(FileError::Shape),
        },
    }
    Ok(format!("{mark}{root}"))
}

fn split_mark(text: &str) -> (&str, &str) {
    // The parser takes a byte order mark for an error. It belongs to the person's file, so it is
    // put back afterwards.
    match text.strip_prefix(MARK) {
        Some(rest) => ("\u{feff}", rest),
        None => ("", text),
    }
}

fn parse(text: &str) -> Result<CstRootNode, FileError> {
    CstRootNode::parse(text, &OPTIONS).map_err(|error| FileError::Syntax(error.to_string()))
}

fn action(rule: &Rule) -> CstInputValue {
    CstInputValue::String(rule.verdict.word().to_owned())
}

fn append_one(object: &CstObject, rule: &Rule) -> Result<(), FileError> {
    if rule.tool == PROGRAMS {
        return Err(FileError::Reserved);
    }
    let property = last_of(object, &rule.tool);
    let Some(property) = property else {
        let value = match rule.pattern.as_str() {
            "*" => action(rule),
            pattern => CstInputValue::Object(vec![(pattern.to_owned(), action(rule))]),
        };
        object.append(&rule.tool, value);
        return Ok(());
    };
    let patterns = match property.object_value() {
        Some(patterns) => patterns,
        None => {
            let before = string(property.value()).unwrap_or_default();
            if rule.pattern == "*" && before == rule.verdict.word() {
                return Ok(());
            }
            // A simple value becomes the first pattern: `"ask"` is `{ "*": "ask" }`.
            let first = ("*".to_owned(), CstInputValue::String(before));
            property.set_value(CstInputValue::Object(vec![first]));
            property.object_value().ok_or(FileError::Shape)?
        }
    };
    // Duplicate keys stay in the tree in their order, so a deny can hide before another entry.
    let same: Vec<CstObjectProp> = patterns
        .properties()
        .into_iter()
        .filter(|p| p.decoded_name().as_deref() == Some(&rule.pattern))
        .collect();
    let says = |p: &CstObjectProp| match p.object_value() {
        Some(detail) => detail.get("action").and_then(|action| string(action.value())),
        None => string(p.value()),
    };
    let denied = same.iter().any(|p| says(p).as_deref() == Some(Verdict::Deny.word()));
    if denied && rule.verdict != Verdict::Deny && rule.pattern != "*" {
        return Err(FileError::Denied { tool: rule.tool.clone(), pattern: rule.pattern.clone() });
    }
    // The last match wins: a rule that is present but not last may have no effect.
    let last = patterns.properties().last().cloned();
    let stands_last = last.is_some_and(|last| {
        last.decoded_name().as_deref() == Some(&rule.pattern)
            && says(&last).as_deref() == Some(rule.verdict.word())
            && last.object_value().is_none()
    });
    if !stands_last {
        patterns.append(&rule.pattern, action(rule));
    }
    Ok(())
}

/// Returns the last property for the tool, under any of its names.
fn last_of(object: &CstObject, tool: &str) -> Option<CstObjectProp> {
    object.properties().into_iter().rfind(|property| {
        let holds_patterns = property.object_value().is_some_and(|object| !is_detail(&object));
        property.decoded_name().is_some_and(|name| canonical(&name) == canonical(tool))
            && (holds_patterns || string(property.value()).is_some())
    })
}

fn is_detail(object: &CstObject) -> bool {
    // A tool may have a pattern named `action`. Only together with one of these keys is the object
    // itself the rule.
    object.get("action").is_some()
        && ["match", "not_match", "expires"].iter().any(|key| object.get(key).is_some())
}

fn string(node: Option<CstNode>) -> Option<String> {
    node?.as_string_lit()?.decoded_value().ok()
}

fn append_flat(array: &CstArray, rule: &Rule) {
    let text = |text: &str| CstInputValue::String(text.to_owned());
    array.append(CstInputValue::Object(vec![
        ("permission".to_owned(), text(&rule.tool)),
        ("pattern".to_owned(), text(&rule.pattern)),
        ("action".to_owned(), text(rule.verdict.word())),
    ]));
}

fn remove_from_object(object: &CstObject, rule: &Rule) {
    for property in object.properties() {
        let named = |name: String| canonical(&name) == canonical(&rule.tool);
        if !property.decoded_name().is_some_and(named) {
            continue;
        }
        match property.object_value() {
            Some(patterns) => {
                // Every equal entry goes: one that stayed behind would still allow.
                for pattern in patterns.properties() {
                    if pattern.decoded_name().as_deref() == Some(&rule.pattern)
                        && string(pattern.value()).as_deref() == Some(rule.verdict.word())
                    {
                        pattern.remove();
                    }
                }
                if patterns.properties().is_empty() {
                    property.remove();
                }
            }
            None if rule.pattern == "*"
                && string(property.value()).as_deref() == Some(rule.verdict.word()) =>
            {
                property.remove();
            }
            None => {}
        }
    }
}

fn remove_flat(array: &CstArray, rule: &Rule) {
    for element in array.elements() {
        let Some(object) = element.as_object() else { continue };
        let says = |key: &str| object.get(key).and_then(|property| string(property.value()));
        if says("permission").or_else(|| says("tool")).as_deref() == Some(&rule.tool)
            && says("pattern").as_deref() == Some(&rule.pattern)
            && says("action").as_deref() == Some(rule.verdict.word())
        {
            element.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

    use crate::rules::Rule;
    use crate::rules::file::{FileError, append, remove};

    fn allow(pattern: &str) -> Rule {
        Rule::allow("shell_exec", pattern)
    }

    #[test]
    fn every_pattern_of_a_pipeline_is_stored_and_comments_stay() {
        let before =
            "{\n  // mine\n  \"shell_exec\": \"ask\", // shell\n  \"glob\": \"allow\"\n}\n";
        let after = append(before, &[allow("cat *"), allow("wc *")]).unwrap();
        assert_eq!(
            after,
            "{\n  // mine\n  \"shell_exec\": {\n    \"*\": \"ask\",\n    \
             \"cat *\": \"allow\",\n    \
             \"wc *\": \"allow\"\n  }, // shell\n  \"glob\": \"allow\"\n}\n"
        );
    }

    #[test]
    fn line_ends_and_byte_order_mark_stay() {
        let after = append("\u{feff}{\r\n  \"a\": \"ask\"\r\n}\r\n", &[allow("ls")]).unwrap();
        assert_eq!(
            after,
            "\u{feff}{\r\n  \"a\": \"ask\",\r\n  \"shell_exec\": {\r\n    \
             \"ls\": \"allow\"\r\n  }\r\n}\r\n"
        );
    }

    #[test]
    fn a_hand_written_deny_is_never_overwritten() {
        let before = r#"{"shell_exec": {"git push *": "deny", "*": "ask"}}"#;
        assert_eq!(
            append(before, &[allow("ls"), allow("git push *")]),
            Err(FileError::Denied {
                tool: "shell_exec".to_owned(),
                pattern: "git push *".to_owned()
            })
        );
    }

    #[test]
    fn a_rule_is_stored_under_the_name_that_the_file_uses() {
        let after = append(r#"{"Bash": {"ls": "allow"}}"#, &[allow("pwd")]).unwrap();
        assert!(after.contains(r#""pwd": "allow""#) && !after.contains("shell_exec"), "{after}");
    }

    #[test]
    fn storing_a_rule_twice_changes_nothing() {
        let once = append("{}", &[allow("ls *")]).unwrap();
        assert_eq!(append(&once, &[allow("ls *")]).unwrap(), once);
    }

    #[test]
    fn what_was_added_can_be_removed_again() {
        let before = "{\n  \"shell_exec\": {\n    \"*\": \"ask\" // all\n  }\n}\n";
        let after = append(before, &[allow("ls *")]).unwrap();
        assert_eq!(remove(&after, &allow("ls *")).unwrap(), before);
        assert_eq!(remove(before, &allow("ls *")).unwrap(), before);
    }

    #[test]
    fn other_roots_are_refused_and_left_alone() {
        assert_eq!(append("1", &[allow("ls")]), Err(FileError::Shape));
        assert!(matches!(append("{\"a\": ", &[allow("ls")]), Err(FileError::Syntax(_))));
    }
}
