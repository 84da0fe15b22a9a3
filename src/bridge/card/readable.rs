//! Arguments of a tool for people: a line for each key, nested values below it, texts as they are.

use serde_json::Value;

/// Deeper values are written in one line; so do all where spreading them out would make them mostly
/// blanks.
const DEEPEST: usize = 12;
const SPREAD: usize = 16 * 1024;
/// A list of short values is written in one line.
const SHORT: usize = 60;

/// The value as lines of `key: value`.
///
/// SECURITY: every line of a text with several lines is put behind `│`, so that no text passes for
/// a key, and nothing but the depth decides where a line begins.
pub(super) fn readable(value: &Value) -> String {
    let mut out = String::new();
    lines(value, 0, &mut out);
    let compact = value.to_string();
    if out.len() > SPREAD.max(4 * compact.len()) {
        return compact;
    }
    out.trim_end_matches('\n').to_owned()
}

fn lines(value: &Value, depth: usize, out: &mut String) {
    match value {
        Value::Object(map) if depth < DEEPEST && !map.is_empty() => {
            for (key, value) in map {
                entry(&one_line(key), value, depth, out);
            }
        }
        Value::Array(list) if depth < DEEPEST && !list.is_empty() => {
            for value in list {
                entry("-", value, depth, out);
            }
        }
        value => {
            indent(depth, out);
            text(&plain(value), depth, out);
        }
    }
}

/// A key, or the dash of a list, and what follows it.
fn entry(key: &str, value: &Value, depth: usize, out: &mut String) {
    indent(depth, out);
    out.push_str(key);
    if key != "-" {
        out.push(':');
    }
    let nested = match value {
        Value::Object(map) => !map.is_empty(),
        Value::Array(list) => !list.is_empty() && in_line(list).is_none(),
        _ => false,
    };
    if nested && depth + 1 < DEEPEST {
        out.push('\n');
        return lines(value, depth + 1, out);
    }
    let short = value.as_array().and_then(|list| in_line(list));
    let plain = short.unwrap_or_else(|| plain(value));
    if !plain.contains('\n') {
        out.push(' ');
    }
    text(&plain, depth, out);
}

fn text(text: &str, depth: usize, out: &mut String) {
    if !text.contains('\n') {
        out.push_str(text);
        return out.push('\n');
    }
    out.push('\n');
    for line in text.split('\n') {
        indent(depth + 1, out);
        out.push_str("│ ");
        out.push_str(line);
        out.push('\n');
    }
}

/// A list of short plain values.
fn in_line(list: &[Value]) -> Option<String> {
    let short = |value: &Value| match value {
        Value::Array(_) | Value::Object(_) => None,
        value => Some(plain(value)).filter(|it| !it.contains(['\n', ',']) && it.len() <= SHORT),
    };
    let all = list.iter().take(SHORT).map(short).collect::<Option<Vec<_>>>()?.join(", ");
    (!list.is_empty() && all.len() <= SHORT && list.len() <= SHORT).then_some(all)
}

fn plain(value: &Value) -> String {
    match value {
        // A text that reads like something else, or like nothing, says that it is a text.
        Value::String(text) if serde_json::from_str::<Value>(text).is_ok() || text.is_empty() => {
            format!("\"{text}\"")
        }
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

fn one_line(key: &str) -> String {
    key.replace('\n', "⏎")
}

fn indent(depth: usize, out: &mut String) {
    out.extend(std::iter::repeat_n("  ", depth));
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nested_values_stand_below_their_keys_and_texts_are_not_escaped() {
        let args = json!({
            "owner": "ana", "labels": ["bug", "ui"], "draft": false, "number": "12",
            "body": "It fails.\nowner: root", "user": {"name": "Ana", "roles": []},
            "files": [{"path": "a"}, "b,c"],
        });
        let wanted = "\
owner: ana
labels: bug, ui
draft: false
number: \"12\"
body:
  │ It fails.
  │ owner: root
user:
  name: Ana
  roles: []
files:
  -
    path: a
  - b,c";
        assert_eq!(readable(&args), wanted);
    }

    #[test]
    fn deep_values_do_not_become_mostly_blanks() {
        let deep = (0..90).fold(json!(vec![json!([]); 5_000]), |inner, _| json!([inner]));
        assert!(readable(&deep).len() < 20_000);
    }
}
