//! What a call would do, on its card: all of it, the command or the file first.

use crate::card::{Sheet, change, effects, fact};
use countersign_gate::{
    ask::{Ask, Existing},
    call::Call,
};
use countersign_policy::{
    argument_names::{COMMANDS, CONTENTS, FILES, NEW_TEXTS, OLD_TEXTS},
    tools::{Kind, kind_of},
};
use countersign_port::Field;
use serde_json::{Map, Value};

/// Writes all arguments of a call; `in_title` where the first line shows the whole command.
pub(super) fn draw(ask: &Ask, in_title: bool, sheet: &mut Sheet, details: &mut Sheet) {
    let call = &ask.body.call;
    let mut rest = call.args.clone();
    if let Some((key, text)) = command(call) {
        effects::draw_highlights(call, &text, sheet);
        if !in_title {
            sheet.code("", &text);
        }
        rest = key.map_or(Value::Null, |key| without(rest, &[key]));
    } else if let Some(plan) = plan(call) {
        sheet.quote("plan", plan);
        rest = without(rest, &["plan"]);
    } else if let Some(change) = change::of(call) {
        rest = if rest.is_string() { Value::Null } else { without(rest, &change.shows) };
        // The first line names the file.
        let path = if in_title { String::new() } else { change.paths.join(", ") };
        sheet.change(&path, change);
    } else {
        let shown = kind_of(&call.tool);
        rest = parts(shown, in_title, rest, sheet, details);
    }
    if call.args.get("description").and_then(Value::as_str) == call.description.as_deref() {
        rest = without(rest, &["description"]);
    }
    rest = limits(call, rest, details);
    if !is_nothing(&rest) {
        sheet.code("arguments", &readable(&rest));
    } else if is_nothing(&call.args) {
        sheet.note("It has no arguments.");
    }
}

/// What is shown first of a tool that is no shell: its file, its address, its text. The first line
/// may show the file of a tool that writes and the address of one that fetches; the line below it
/// says how much a tool writes.
fn parts(
    kind: Kind,
    in_title: bool,
    mut rest: Value,
    sheet: &mut Sheet,
    details: &mut Sheet,
) -> Value {
    let first_line = Some(kind).filter(|_| in_title);
    let text = |rest: &Value, keys: &[&'static str]| {
        first_of(rest, keys).map(|(key, text)| (key, text.to_owned()))
    };
    let content = text(&rest, CONTENTS);
    if let Some((key, path)) = text(&rest, FILES) {
        let file = (first_line != Some(Kind::Write)).then(|| fact("file", &path));
        sheet.fields(file.into_iter().collect());
        let size = content.as_ref().map(|(_, content)| fact("size", &size_of(content)));
        let size = size.into_iter().collect();
        if kind == Kind::Write {
            details.fields(size)
        } else {
            sheet.fields(size)
        }
        rest = without(rest, &[key]);
    }
    if let Some((key, url)) = text(&rest, &["url"]) {
        if first_line != Some(Kind::Fetch) {
            sheet.code("address", &url);
        }
        rest = without(rest, &[key]);
    }
    for (label, keys) in TEXTS {
        if let Some((key, text)) = text(&rest, keys) {
            sheet.code(label, &text);
            rest = without(rest, &[key]);
        }
    }
    rest
}

const TEXTS: &[(&str, &[&str])] =
    &[("old text", OLD_TEXTS), ("new text", NEW_TEXTS), ("content", CONTENTS)];

fn size_of(content: &str) -> String {
    format!("{}, {} bytes", lines(content.lines().count() as u64), content.len())
}

/// How much a tool writes into a file, and what is there now as far as the agent's side tells.
pub(super) fn written(call: &Call) -> Option<String> {
    if kind_of(&call.tool) != Kind::Write {
        return None;
    }
    first_of(&call.args, FILES)?;
    let (_, content) = first_of(&call.args, CONTENTS)?;
    let new = content.lines().count() as u64;
    Some(match call.existing {
        None => format!("writes {}", lines(new)),
        Some(Existing::Nothing) => format!("new file of {}", lines(new)),
        Some(Existing::File { lines: Some(1), .. }) if new == 1 => "replaces its 1 line".to_owned(),
        Some(Existing::File { bytes: 0, .. }) => format!("fills an empty file with {}", lines(new)),
        Some(Existing::File { lines: Some(old), .. }) => {
            format!("replaces {} with {new}", lines(old))
        }
        Some(Existing::File { bytes, lines: None }) => {
            format!("replaces {bytes} bytes with {}", lines(new))
        }
    })
}

fn lines(count: u64) -> String {
    if count == 1 { "1 line".to_owned() } else { format!("{count} lines") }
}

/// Numbers and switches of a command that change nothing of what runs are facts.
fn limits(call: &Call, mut rest: Value, details: &mut Sheet) -> Value {
    if command(call).is_none() {
        return rest;
    }
    let mut facts = Vec::<Field>::new();
    for key in ["timeout", "timeout_ms", "run_in_background"] {
        if let Some(value) = rest.get(key).filter(|it| it.is_number() || it.is_boolean()) {
            facts.push(fact(key, &value.to_string()));
            rest = without(rest, &[key]);
        }
    }
    details.fields(facts);
    rest
}

/// The plan that an agent in plan mode wants to leave it with.
pub(super) fn plan(call: &Call) -> Option<&str> {
    call.args.get("plan").filter(|_| call.is_plan())?.as_str()
}

/// The command text of a call and the argument that holds it, if one does.
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
    let mut named = COMMANDS.iter().copied();
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

/// The first of the names that holds a text.
pub(super) fn first_of<'a>(
    args: &'a Value,
    names: &[&'static str],
) -> Option<(&'static str, &'a str)> {
    names.iter().find_map(|name| Some((*name, args.get(name)?.as_str()?)))
}

/// Deeper values are written in one line; so do all where spreading them out would make them mostly
/// blanks.
const DEEPEST: usize = 12;
const SPREAD: usize = 16 * 1024;
/// A list of short values is written in one line.
const IN_LINE: usize = 60;

/// Arguments for people: a line of `key: value` for each key, nested values below it, texts as they
/// are.
///
/// SECURITY: every line of a text with several lines is put behind `│`, so that no text passes for
/// a key, and nothing but the depth decides where a line begins.
pub(super) fn readable(value: &Value) -> String {
    let mut out = String::new();
    write_lines(value, 0, &mut out);
    let compact = value.to_string();
    if out.len() > SPREAD.max(4 * compact.len()) {
        return compact;
    }
    out.trim_end_matches('\n').to_owned()
}

fn write_lines(value: &Value, depth: usize, out: &mut String) {
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
            write_text(&plain_text(value), depth, out);
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
        return write_lines(value, depth + 1, out);
    }
    let short = value.as_array().and_then(|list| in_line(list));
    let plain = short.unwrap_or_else(|| plain_text(value));
    if !plain.contains('\n') {
        out.push(' ');
    }
    write_text(&plain, depth, out);
}

fn write_text(text: &str, depth: usize, out: &mut String) {
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
        value => {
            Some(plain_text(value)).filter(|it| !it.contains(['\n', ',']) && it.len() <= IN_LINE)
        }
    };
    let all = list.iter().take(IN_LINE).map(short).collect::<Option<Vec<_>>>()?.join(", ");
    (!list.is_empty() && all.len() <= IN_LINE && list.len() <= IN_LINE).then_some(all)
}

fn plain_text(value: &Value) -> String {
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
