//! Collects what a call of another tool than a shell names: any text may be a path or a pattern.

use std::borrow::Cow;

use serde_json::Value as Json;

use crate::engine::guardrail::programs::Usage;
use crate::engine::guardrail::site::{Bases, Operand, Sink, joined};
use crate::facts::argument_names::{CONTENTS, NEW_TEXTS, OLD_TEXTS, PATCHES};
use crate::facts::call::Call;
use crate::facts::edited_files::EditedFiles;
use crate::facts::paths::{Directories, readings};
use crate::facts::tools::Kind;

/// Returns true for arguments that are content and name nothing.
fn is_content(key: &str) -> bool {
    key == "description"
        || [CONTENTS, OLD_TEXTS, NEW_TEXTS].iter().any(|names| names.contains(&key))
}

/// Arguments that other arguments are relative to.
const FOLDERS: &[&str] = &[
    "path",
    "directory",
    "dir_path",
    "dir",
    "cwd",
    "workdir",
    "working_directory",
    "root",
    "base",
];

/// Passes the texts of a call to a sink.
pub(crate) fn walk(call: &Call, bases: &Bases<'_>, sink: &mut impl Sink) {
    let mut texts = Vec::new();
    // What a patch adds and removes is content; the files that it names are not.
    let edited = (call.kind() == Kind::Edit).then(|| EditedFiles::of(&call.args));
    let patched = edited.as_ref().filter(|edited| edited.is_exact);
    texts_of(&call.args, call.kind(), patched.is_some(), &mut texts);
    texts.extend(patched.iter().flat_map(|edited| edited.files.iter().map(|file| file.path)));
    let usage = usage(call);
    let dirs = Directories { cwd: call.cwd.as_deref(), home: call.home.as_deref() };
    let is_path = !matches!(call.kind(), Kind::Other | Kind::Skill | Kind::Fetch);
    let mut named: Vec<Cow<'_, str>> = Vec::with_capacity(texts.len());
    for text in texts.iter().copied() {
        match is_path {
            true => named.extend(readings(text, dirs)),
            false => named.push(Cow::Borrowed(text)),
        }
    }
    let resolved = call.resolved.iter().map(String::as_str);
    let mut operands: Vec<Operand<'_>> = named
        .iter()
        .map(|text| &**text)
        .chain(resolved)
        .map(|text| Operand { text, is_dynamic: false, usage })
        .collect();
    if walks_here(call) {
        operands.push(Operand { text: ".", is_dynamic: false, usage: Usage::Walks });
    }
    let bases = Bases { sure: folders(call, bases), ..bases.clone() };
    sink.site(&operands, &bases);
    for text in &texts {
        sink.text(text, &bases);
    }
    // Paths may end in a number of their own: `src/main.rs:7117`.
    if matches!(call.kind(), Kind::Fetch | Kind::Other) && !sink.is_done() {
        let mut numbers = Vec::new();
        numbers_of(&call.args, &mut numbers);
        texts.extend(numbers.iter().map(String::as_str));
        sink.values(&texts);
    }
}

/// Collects the whole numbers of a call's arguments, any of which may be a port.
fn numbers_of(args: &Json, numbers: &mut Vec<String>) {
    match args {
        Json::Number(number) => {
            let port = number.as_f64().filter(|port| (0.0..=65_535.0).contains(port));
            numbers.extend(port.map(|port| port.to_string()));
        }
        Json::Array(items) => items.iter().for_each(|item| numbers_of(item, numbers)),
        Json::Object(map) => map.values().for_each(|value| numbers_of(value, numbers)),
        Json::Null | Json::Bool(_) | Json::String(_) => {}
    }
}

/// Returns the working directory and the folders that the arguments name.
fn folders<'b>(call: &'b Call, bases: &Bases<'b>) -> Vec<Cow<'b, str>> {
    let mut all = bases.sure.clone();
    for folder in FOLDERS.iter().filter_map(|key| call.args.get(key)?.as_str()) {
        let below = bases.sure.first().map(|cwd| joined(cwd, folder));
        match (folder.starts_with('/'), below) {
            (true, _) => all.push(Cow::Borrowed(folder)),
            (false, Some(below)) => all.push(Cow::Owned(below)),
            (false, None) => {}
        }
    }
    all
}

/// Collects every text that may name a file, a program or an address.
fn texts_of<'c>(args: &'c Json, kind: Kind, patched: bool, texts: &mut Vec<&'c str>) {
    let whole = patched && args.is_string();
    let mut rest: Vec<(&'c Json, bool)> = vec![(args, whole)];
    while let Some((json, content)) = rest.pop() {
        match json {
            // For an unknown tool, even content may be a path.
            Json::String(text) if !content || kind == Kind::Other && !text.contains('\n') => {
                texts.push(text);
            }
            Json::Array(items) => rest.extend(items.iter().map(|item| (item, content))),
            Json::Object(map) => rest.extend(map.iter().map(|(key, value)| {
                // A search pattern names text and not a file.
                let searched = kind == Kind::Grep && key == "pattern";
                let patch = patched && (PATCHES.contains(&key.as_str()) || key == "command");
                (value, content || searched || patch || is_content(key))
            })),
            _ => {}
        }
    }
}

fn usage(call: &Call) -> Usage {
    match call.kind() {
        // A search opens every file below, and an unknown tool may.
        Kind::Grep | Kind::Other => Usage::Walks,
        Kind::Read if call.tool == "read_many_files" => Usage::Walks,
        Kind::Skill => Usage::Names,
        _ => Usage::Opens,
    }
}

/// Returns true when the call searches the working directory because it names no path.
fn walks_here(call: &Call) -> bool {
    let named = ["path", "paths", "directory", "dir_path"];
    call.kind() == Kind::Grep
        && !named.iter().any(|key| match call.args.get(key) {
            Some(Json::String(text)) => !text.is_empty(),
            Some(Json::Array(items)) => !items.is_empty(),
            _ => false,
        })
}
