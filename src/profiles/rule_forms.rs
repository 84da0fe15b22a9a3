//! The forms in which lines of `countersign policy check` and the `meta` of calls contain rules.

use countersign_policy::rules::{RuleProblem, Rules};
use serde_json::{Value, json};

/// Reads rules in any form that a line, or a call's `meta`, may contain.
///
/// # Errors
/// A sentence that says what is wrong with them.
pub fn rules_of(value: &Value, name: &str, home: Option<&str>) -> Result<Rules, String> {
    match value {
        Value::Null => Ok(Rules::default()),
        Value::String(text) => parsed(text, name, home),
        Value::Object(_) => parsed(&value.to_string(), name, home),
        Value::Array(items) => parsed(&flat_rules(items, name)?, name, home),
        _ => Err(format!("{name} is neither an object nor a list of rules")),
    }
}

/// Returns a list of rules as the text of a rules file.
pub(crate) fn flat_rules(items: &[Value], name: &str) -> Result<String, String> {
    let flat: Option<Vec<Value>> = items.iter().map(flat_rule).collect();
    let flat = flat.ok_or_else(|| {
        format!("{name}: a rule of a list is [tool, pattern, action] or an object of these")
    })?;
    Ok(Value::Array(flat).to_string())
}

fn flat_rule(item: &Value) -> Option<Value> {
    let get = |keys: &[&str], at: usize| {
        // By name, or by position in a list.
        keys.iter().find_map(|key| item.get(key)).or_else(|| item.get(at)).cloned()
    };
    Some(json!({
        "permission": get(&["permission", "tool"], 0)?,
        "pattern": get(&["pattern"], 1).unwrap_or_else(|| json!("*")),
        "action": get(&["action", "verdict"], 2)?,
    }))
}

fn parsed(text: &str, name: &str, home: Option<&str>) -> Result<Rules, String> {
    Rules::parse(text, name, home).map_err(|problems| {
        problems.iter().map(RuleProblem::to_string).collect::<Vec<_>>().join("; ")
    })
}
