//! Rules from elsewhere as the text of a `permissions.jsonc`.

use serde_json::{Map, Value, json};

use countersign_policy::{Verdict, tools::canonical};

/// Why nothing was imported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// The text is not JSON (comments are fine).
    #[error("the settings are not valid JSON: {0}")]
    Syntax(String),
    /// There are no permissions in it.
    #[error("the settings hold no {0}")]
    Nothing(&'static str),
    /// Something is not of the expected form.
    #[error("{0}")]
    Shape(String),
}

/// Claude Code's `settings.json`: the lists of its `permissions`, deny over ask over allow.
///
/// # Errors
/// When the text holds no such lists.
pub fn claude_settings(text: &str) -> Result<String, ImportError> {
    let settings = parse(text)?;
    let permissions = settings
        .get("permissions")
        .and_then(Value::as_object)
        .ok_or(ImportError::Nothing("\"permissions\" of Claude Code"))?;
    let mut lists = Map::new();
    // What no list names asks, and comes first so that every list wins over it.
    lists.insert("*".to_owned(), json!("ask"));
    for list in ["allow", "ask", "deny"] {
        let Some(value) = permissions.get(list) else { continue };
        let strings = value.as_array().is_some_and(|list| list.iter().all(Value::is_string));
        if !strings {
            return Err(ImportError::Shape(format!("permissions.{list} is not a list of strings")));
        }
        lists.insert(list.to_owned(), value.clone());
    }
    write("Claude Code settings", &lists)
}

/// opencode's `opencode.json`: its `permission` object, last match wins as here.
///
/// # Errors
/// When the text holds no such object, or an action that is not one of ours.
pub fn opencode(text: &str) -> Result<String, ImportError> {
    let config = parse(text)?;
    let permission =
        config.get("permission").ok_or(ImportError::Nothing("\"permission\" of opencode"))?;
    let mut rules = Map::new();
    match permission {
        Value::String(action) => {
            rules.insert("*".to_owned(), json!(known(action)?));
        }
        Value::Object(tools) => {
            // opencode allows what no rule names; here that asks.
            if !tools.contains_key("*") {
                rules.insert("*".to_owned(), json!("ask"));
            }
            for (tool, value) in tools {
                rules.insert(opencode_tool(tool).to_owned(), opencode_value(tool, value)?);
            }
        }
        _ => {
            return Err(ImportError::Shape(
                "\"permission\" is neither a word nor an object".into(),
            ));
        }
    }
    write("an opencode configuration", &rules)
}

/// opencode's `edit` stands for every tool that changes files; ours are globs over both.
fn opencode_tool(tool: &str) -> &str {
    match tool {
        "edit" => "{edit,write}_file",
        other => canonical(other),
    }
}

fn opencode_value(tool: &str, value: &Value) -> Result<Value, ImportError> {
    match value {
        Value::String(action) => Ok(json!(known(action)?)),
        Value::Object(patterns) => {
            let mut rules = Map::new();
            for (pattern, action) in patterns {
                let word = action.as_str().ok_or_else(|| {
                    ImportError::Shape(format!("permission.{tool}.{pattern} is not a valid action"))
                })?;
                // opencode's trailing ` *` includes the bare command.
                if let Some(bare) = pattern.strip_suffix(" *").filter(|bare| !bare.contains('*')) {
                    rules.insert(bare.to_owned(), json!(known(word)?));
                }
                rules.insert(pattern.clone(), json!(known(word)?));
            }
            Ok(Value::Object(rules))
        }
        _ => Err(ImportError::Shape(format!("permission.{tool} is neither a word nor an object"))),
    }
}

fn known(word: &str) -> Result<&'static str, ImportError> {
    Verdict::from_word(word).map(Verdict::word).ok_or_else(|| {
        ImportError::Shape(format!(
            "{word:?} is not a valid action; the actions are allow, ask and deny"
        ))
    })
}

fn parse(text: &str) -> Result<Value, ImportError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    jsonc_parser::parse_to_serde_value(text, &jsonc_parser::ParseOptions::default())
        .map_err(|error| ImportError::Syntax(error.to_string()))
}

fn write(from: &str, rules: &Map<String, Value>) -> Result<String, ImportError> {
    let body = serde_json::to_string_pretty(rules)
        .map_err(|error| ImportError::Syntax(error.to_string()))?;
    Ok(format!("// Imported from {from} by countersign. The last matching rule wins.\n{body}\n"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::{ImportError, claude_settings, opencode};
    use countersign_policy::Verdict::{self, Allow, Ask, Deny};
    use countersign_policy::{Call, Guardrail, Layers, Mode, Rules, decide};

    fn ruled(text: &str, call: &Call) -> Verdict {
        let rules = Rules::parse(text, "imported", None).unwrap();
        let grants = Rules::default();
        let guardrail = Guardrail::default();
        let layers = Layers {
            agent: None,
            rules: &rules,
            grants: &grants,
            guardrail: &guardrail,
            now_ms: 0,
        };
        decide(call, &layers, Mode::Default).verdict
    }

    #[test]
    fn claude_lists_keep_their_order_of_strictness() {
        let text = claude_settings(
            r#"{ "permissions": {
                "deny": ["Bash(git push *)", "Read(.env)"],
                "allow": ["Bash(git *)", "Read", "Edit(/src/*.ts)", "mcp__fs__*"] } }"#,
        )
        .unwrap();
        let path =
            |tool: &str, path: &str| Call::new(tool, serde_json::json!({ "file_path": path }));
        assert_eq!(ruled(&text, &Call::shell("git status")), Allow);
        assert_eq!(ruled(&text, &Call::shell("git")), Allow);
        assert_eq!(ruled(&text, &Call::shell("git push")), Deny);
        assert_eq!(ruled(&text, &Call::shell("ls")), Ask);
        assert_eq!(ruled(&text, &path("Read", "src/a.rs")), Allow);
        assert_eq!(ruled(&text, &path("Read", "config/.env")), Deny);
        assert_eq!(ruled(&text, &path("Write", "src/a.ts")), Allow);
        assert_eq!(ruled(&text, &path("Edit", "src/deep/a.ts")), Ask);
        assert_eq!(ruled(&text, &Call::new("mcp__fs__read", serde_json::json!({}))), Allow);
    }

    #[test]
    fn opencode_permissions_keep_their_order() {
        let text = opencode(
            r#"{ "permission": {
                "edit": "ask",
                "bash": { "*": "ask", "git *": "allow", "git push *": "deny" } } }"#,
        )
        .unwrap();
        assert_eq!(ruled(&text, &Call::shell("git log")), Allow);
        assert_eq!(ruled(&text, &Call::shell("git push x")), Deny);
        assert_eq!(ruled(&text, &Call::shell("ls")), Ask);
    }

    #[test]
    fn what_is_not_understood_is_not_imported() {
        assert_eq!(
            opencode(r#"{ "permission": { "bash": "sometimes" } }"#),
            Err(ImportError::Shape(
                "\"sometimes\" is not a valid action; the actions are allow, ask and deny"
                    .to_owned()
            ))
        );
        assert!(claude_settings("{}").is_err());
    }
}
