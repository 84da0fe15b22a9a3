//! JSON as text: parsed with and without comments, and as a tree that keeps its form.

use jsonc_parser::{
    ParseOptions,
    cst::{CstInputValue, CstNode, CstRootNode},
    parse_to_serde_value,
};
use serde_json::Value;

/// Parses JSON with comments.
pub(super) fn commented(text: &str) -> Result<Value, String> {
    parse_to_serde_value(text, &ParseOptions::default()).map_err(|error| error.to_string())
}

/// Parses JSON.
pub(super) fn strict(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| {
        let what = error.to_string();
        let what = what.split(" at line").next().unwrap_or_default();
        format!("{}:{}: {what}", error.line(), error.column())
    })
}

/// Splits off the mark with which some editors begin a file.
pub(super) fn byte_order_mark(text: &str) -> (&str, &str) {
    match text.strip_prefix('\u{feff}') {
        Some(rest) => ("\u{feff}", rest),
        None => ("", text),
    }
}

/// Parses JSON with comments so that it can be edited in its form; an empty text is an object.
pub(super) fn tree(text: &str) -> Result<CstRootNode, String> {
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    CstRootNode::parse(text, &ParseOptions::default()).map_err(|error| error.to_string())
}

/// The value of a node.
pub(super) fn value(node: &CstNode) -> Value {
    parse_to_serde_value(&node.to_string(), &ParseOptions::default()).unwrap_or_default()
}

/// Keeps the file's last line ending; a new file gets one.
pub(super) fn ending(before: &str, mut after: String) -> String {
    if before.trim().is_empty() && !after.ends_with('\n') {
        after.push('\n');
    }
    after
}

/// A value that can be added to a tree.
pub(super) fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(truth) => CstInputValue::Bool(*truth),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(list) => CstInputValue::Array(list.iter().map(input).collect()),
        Value::Object(map) => CstInputValue::Object(
            map.iter().map(|(key, value)| (key.clone(), input(value))).collect(),
        ),
    }
}
