//! The files that an editing tool changes, wherever its arguments name them.

use serde_json::{Map, Value};

use crate::facts::access::Access;
use crate::facts::argument_names::{
    CHANGES, COMMANDS, EDIT_DETAILS, FILES, MOVED_TO, PATCHES, VERBS,
};
use crate::facts::patch::{self, PatchedFile};
use crate::facts::programs::listed;

/// The files that patches and lists of changes in a call name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditedFiles<'c> {
    /// Every file, in order; one that is named twice is listed twice.
    pub files: Vec<PatchedFile<'c>>,
    /// Everything was understood. Otherwise the call may change more than these files.
    pub is_exact: bool,
}

/// Returns the patch of an editing tool, and the argument that holds it, if it is not the whole.
#[must_use]
pub fn patch_of(args: &Value) -> Option<(Option<&'static str>, &str)> {
    patches(args).next()
}

fn patches(args: &Value) -> impl Iterator<Item = (Option<&'static str>, &str)> {
    let whole = args.as_str().map(|text| (None, text));
    let named = PATCHES.iter().chain(COMMANDS).map(|key| (*key, args.get(*key)));
    let texts = named.filter_map(|(key, value)| Some((Some(key), value?.as_str()?)));
    whole.into_iter().chain(texts.filter(|(_, text)| !text.is_empty() && !VERBS.contains(text)))
}

impl<'c> EditedFiles<'c> {
    /// Collects the files from the arguments of an editing tool, except those under [`FILES`].
    #[must_use]
    pub fn of(args: &'c Value) -> Self {
        let mut found = Self { files: Vec::new(), is_exact: true };
        patches(args).for_each(|(_, text)| found.patch(text));
        for key in PATCHES {
            // A patch that is no text cannot be read.
            let value = args.get(*key).filter(|value| !value.is_null());
            found.is_exact &= value.is_none_or(Value::is_string);
        }
        for list in CHANGES.iter().filter_map(|key| args.get(*key)) {
            match list {
                Value::Array(list) => list.iter().for_each(|change| found.change(change)),
                // `{PATH: CHANGE}`, as in earlier versions of Codex.
                Value::Object(map) => {
                    for (path, change) in map {
                        found.push(Access::Write, path);
                        found.change(change);
                    }
                }
                Value::Null => {}
                _ => found.is_exact = false,
            }
        }
        found
    }

    /// One of several changes.
    fn change(&mut self, change: &'c Value) {
        let Some(map) = change.as_object() else {
            self.is_exact = false;
            return;
        };
        let (kind_name, map) = match named_kind(map) {
            Some((name, inner)) => (Some(name), inner),
            None => (kind_of(map), map),
        };
        let access = if kind_name == Some("delete") { Access::Delete } else { Access::Write };
        let details = map.get("kind").and_then(Value::as_object);
        // FAIL-CLOSED: what is unknown may name another file.
        self.is_exact &= map.keys().all(|key| is_known(key))
            && details.is_none_or(|details| details.keys().all(|key| is_known(key)));
        let moved = [Some(map), details].into_iter().flatten();
        let moved = moved.flat_map(|map| MOVED_TO.iter().filter_map(|key| map.get(*key)));
        let moved: Vec<&str> = moved.filter_map(Value::as_str).collect();
        for value in FILES.iter().filter_map(|key| map.get(*key)) {
            match value.as_str() {
                Some(path) if moved.is_empty() => self.push(access, path),
                Some(path) => self.push(Access::Move, path),
                None => self.is_exact = false,
            }
        }
        moved.into_iter().for_each(|path| self.push(Access::Write, path));
        // Of a file that is added or deleted the diff is its content.
        if !matches!(kind_name, Some("add" | "delete")) {
            let texts = PATCHES.iter().filter_map(|key| map.get(*key)?.as_str());
            // The file is named beside it; a diff that cannot be read hides no other file unless
            // it has a header.
            texts.for_each(|text| self.files.extend(patch::read(text).files));
        }
    }

    fn patch(&mut self, text: &'c str) {
        let patch = patch::read(text);
        self.is_exact &= patch.is_exact;
        self.files.extend(patch.files);
    }

    fn push(&mut self, access: Access, path: &'c str) {
        self.files.push(PatchedFile { access, path });
    }
}

/// Reads the kind of a change: `"kind": "add"`, `"type": "add"`, `"kind": {"type": "add"}`.
fn kind_of(map: &Map<String, Value>) -> Option<&str> {
    let kind = map.get("kind").or_else(|| map.get("type"))?;
    kind.as_str().or_else(|| kind.get("type")?.as_str())
}

/// Reads `{"update": CHANGE}`, as in earlier versions of Codex.
fn named_kind(map: &Map<String, Value>) -> Option<(&str, &Map<String, Value>)> {
    let (name, inner) = map.iter().next().filter(|_| map.len() == 1)?;
    matches!(&**name, "add" | "delete" | "update").then_some(())?;
    Some((name, inner.as_object()?))
}

/// Returns true for the keys of a change that are looked at, or that name no file.
fn is_known(key: &str) -> bool {
    [FILES, MOVED_TO, PATCHES].iter().any(|list| list.contains(&key))
        || ["kind", "type"].contains(&key)
        || listed(EDIT_DETAILS, key)
}

#[cfg(test)]
mod tests;
