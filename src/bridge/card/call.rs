//! What a call would do, on its card: all of it, the command or the file first.

use super::{lines, sheet::Sheet};
use crate::gate::call::Call;
use countersign_policy::tools::{Kind, kind_of};
use serde_json::{Map, Value};

/// Arguments that are larger, or grow more by being spread out, are shown in one line; bytes.
const SPREAD: usize = 16 * 1024;

/// Writes all arguments of a call.
pub(super) fn draw(call: &Call, sheet: &mut Sheet) {
    let mut rest = call.args.clone();
    match command(call) {
        Some((key, text)) => {
            sheet.code("command", &text);
            lines::draw(call, &text, sheet);
            rest = key.map_or(Value::Null, |key| without(rest, &[key]));
        }
        None => {
            for (label, keys) in PARTS {
                let key = keys.iter().find(|key| rest.get(**key).is_some_and(Value::is_string));
                let Some(key) = key else { continue };
                if let Some(text) = rest.get(*key).and_then(Value::as_str) {
                    sheet.code(label, text);
                }
                rest = without(rest, &[key]);
            }
        }
    }
    if call.args.get("description").and_then(Value::as_str) == call.description.as_deref() {
        rest = without(rest, &["description"]);
    }
    if !is_nothing(&rest) {
        sheet.code("arguments", &spread(&rest));
    } else if sheet.is_empty() {
        sheet.note("It has no arguments.");
    }
}

/// Whether the call's tool runs shell texts, and it has one.
pub(super) fn is_command(call: &Call) -> bool {
    kind_of(&call.tool) == Kind::Shell && command(call).is_some()
}

/// What is shown first of a tool that is no shell.
const PARTS: &[(&str, &[&str])] = &[
    ("file", &["file_path", "path", "notebook_path"]),
    ("address", &["url"]),
    ("old text", &["old_string", "old_text"]),
    ("new text", &["new_string", "new_text", "new_source"]),
    ("content", &["content", "contents"]),
];

/// The command text of a call and the argument that it stands in, if it stands in one.
// SECURITY: a tool that is known to do something else has no command, whatever it is handed; of
// several commands this is the one that rules look at, and the others are shown as arguments.
pub(super) fn command(call: &Call) -> Option<(Option<&'static str>, String)> {
    match kind_of(&call.tool) {
        Kind::Shell if call.args.is_string() => {
            return Some((None, call.args.as_str()?.to_owned()));
        }
        Kind::Shell | Kind::Other => {}
        _ => return None,
    }
    let mut named = ["command", "cmd", "script"].into_iter();
    let key = named.find(|key| call.args.get(key).is_some())?;
    words(call.args.get(key)?).map(|text| (Some(key), text))
}

/// A command as one text: as it is, or the words of an argument list.
pub(super) fn words(command: &Value) -> Option<String> {
    match command {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => {
            let words = words.iter().map(Value::as_str).collect::<Option<Vec<_>>>()?;
            Some(words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "))
        }
        _ => None,
    }
}

/// A word of an argument list, so that blanks in it cannot pass for two words.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

pub(super) fn without(mut value: Value, keys: &[&str]) -> Value {
    if let Some(map) = value.as_object_mut() {
        for key in keys {
            map.shift_remove(*key);
        }
    }
    value
}

pub(super) fn is_nothing(value: &Value) -> bool {
    value.is_null() || value.as_object().is_some_and(Map::is_empty)
}

/// JSON for people, and in one line where many levels would make it mostly blanks.
pub(super) fn spread(value: &Value) -> String {
    let compact = value.to_string();
    if compact.len() > SPREAD {
        return compact;
    }
    match serde_json::to_string_pretty(value) {
        Ok(pretty) if pretty.len() <= SPREAD.max(4 * compact.len()) => pretty,
        _ => compact,
    }
}
