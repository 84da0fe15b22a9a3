//! One of several changes in a call: of one file, or of several.

use super::named::first;
use countersign_policy::argument_names::{
    CONTENTS, FILES, MOVED_TO, NEW_TEXTS, OLD_TEXTS, PATCHES,
};
use countersign_port::{brief, line};
use serde_json::{Map, Value};

/// How much of a path is shown above a change.
const PATH: usize = 200;

/// One of several changes.
pub(super) struct PartOfChange<'c> {
    /// The file and what happens to it, where the change names one.
    pub(super) title: Option<String>,
    pub(super) texts: ChangedTexts<'c>,
}

/// The texts of a change.
pub(super) enum ChangedTexts<'c> {
    /// What is there, and what is to be there.
    Both(&'c str, &'c str),
    /// Lines of a diff.
    Patch(&'c str),
}

impl<'c> PartOfChange<'c> {
    /// Reads a change; `None` where it says more than is shown of it.
    pub(super) fn of(change: &'c Value) -> Option<Self> {
        let map = change.as_object()?;
        let kind = map.get("kind").or_else(|| map.get("type"));
        let of_kind = kind.and_then(Value::as_object);
        let kind = kind.and_then(|kind| kind.as_str().or_else(|| kind.get("type")?.as_str()));
        let known = |map: &Map<String, Value>| {
            let lists = [FILES, OLD_TEXTS, NEW_TEXTS, PATCHES, CONTENTS, MOVED_TO];
            let is = |key: &str| lists.iter().any(|names| names.contains(&key));
            map.iter().all(|(key, value)| {
                value.is_null() || is(key) && value.is_string() || matches!(&**key, "kind" | "type")
            })
        };
        if !known(map) || !of_kind.is_none_or(known) {
            return None;
        }
        let path = first(change, FILES).map(|(_, path)| path);
        let moved = first(change, MOVED_TO).or_else(|| first(change.get("kind")?, MOVED_TO));
        let short = |path: &str| brief(&line(path), PATH);
        let verb = line(kind.unwrap_or("change"));
        let title = match (path, moved) {
            (Some(path), Some((_, to))) => Some(format!("move {} to {}", short(path), short(to))),
            (Some(path), None) => Some(format!("{verb} {}", short(path))),
            (None, Some(_)) => return None,
            (None, None) => None,
        };
        let (old, new) = (first(change, OLD_TEXTS), first(change, NEW_TEXTS));
        let text = first(change, PATCHES).or_else(|| first(change, CONTENTS)).map(|it| it.1);
        let texts = match (kind, text) {
            (_, None) => ChangedTexts::Both(old.map_or("", |it| it.1), new.map_or("", |it| it.1)),
            (_, Some(_)) if old.is_some() || new.is_some() => return None,
            (Some("add"), Some(text)) => ChangedTexts::Both("", text),
            (Some("delete"), Some(text)) => ChangedTexts::Both(text, ""),
            (_, Some(text)) => ChangedTexts::Patch(text),
        };
        Some(Self { title, texts })
    }
}
