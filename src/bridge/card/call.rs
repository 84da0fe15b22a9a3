//! What a call would do, on its card: all of it, the command or the file first.

use super::{
    change, lines,
    named::first,
    readable::readable,
    sheet::{Sheet, fact},
};
use countersign_gate::{ask::Ask, call::Call};
use countersign_policy::{
    argument_names::{COMMANDS, CONTENTS, FILES, NEW_TEXTS, OLD_TEXTS},
    tools::{Kind, kind_of},
};
use countersign_port::Field;
use serde_json::{Map, Value};

/// Writes all arguments of a call; `told` where the first line shows the whole command.
pub(super) fn draw(ask: &Ask, told: bool, sheet: &mut Sheet, details: &mut Sheet) {
    let call = &ask.body.call;
    let mut rest = call.args.clone();
    if let Some((key, text)) = command(call) {
        lines::draw(call, &text, sheet);
        if !told {
            sheet.code("", &text);
        }
        rest = key.map_or(Value::Null, |key| without(rest, &[key]));
    } else if let Some(plan) = plan(call) {
        sheet.quote("plan", plan);
        rest = without(rest, &["plan"]);
    } else if let Some(change) = change::of(call) {
        rest = match rest.is_string() {
            true => Value::Null,
            false => without(rest, &change.shows),
        };
        sheet.change(&change.paths.join(", "), (change.added, change.removed), change.lines);
    } else {
        rest = parts(told, rest, sheet);
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

/// What is shown first of a tool that is no shell: its file, its address, its text.
fn parts(told: bool, mut rest: Value, sheet: &mut Sheet) -> Value {
    let text = |rest: &Value, keys: &[&'static str]| {
        first(rest, keys).map(|(key, text)| (key, text.to_owned()))
    };
    let content = text(&rest, CONTENTS);
    if let Some((key, path)) = text(&rest, FILES) {
        let size = content.as_ref().map(|(_, content)| size_of(content));
        let size = size.map(|size| fact("size", &size));
        sheet.fields([Some(fact("file", &path)), size].into_iter().flatten().collect());
        rest = without(rest, &[key]);
    }
    if let Some((key, url)) = text(&rest, &["url"]) {
        if !told {
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
    let lines = content.lines().count();
    let lines = if lines == 1 { "1 line".to_owned() } else { format!("{lines} lines") };
    format!("{lines}, {} bytes", content.len())
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
