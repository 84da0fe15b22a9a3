//! The lines of a patch that any program may take for the header of a file.

use super::file::PatchedFile;
use crate::facts::access::Access;

/// The headers of a patch in the form of Codex.
pub(super) const HEADERS: &[(&str, Access)] = &[
    ("*** Update File:", Access::Write),
    ("*** Add File:", Access::Write),
    ("*** Delete File:", Access::Delete),
    ("*** Move to:", Access::Write),
];
pub(super) const BEGIN: &str = "*** Begin Patch";

/// Returns true for a patch in the form of Codex.
pub(super) fn has_envelope(text: &str) -> bool {
    text.contains(BEGIN) || pieces(text).any(|line| header(line).is_some())
}

/// Returns true where programs may disagree on the end of a line.
pub(super) fn has_odd_breaks(text: &str) -> bool {
    text.contains(|c: char| c != '\n' && is_break(c))
}

/// Returns the file of every line that may be a header.
pub(super) fn possible_headers(text: &str) -> Vec<PatchedFile<'_>> {
    let mut found = Vec::new();
    let mut before = "";
    for line in pieces(text).filter(|line| !line.is_empty()) {
        found.extend(header(line));
        if let (Some(old), Some(new)) = (before.strip_prefix("--- "), line.strip_prefix("+++ ")) {
            found.extend(pair(old, new));
        }
        for (prefix, access) in [("rename from ", Access::Move), ("rename to ", Access::Write)] {
            let path = line.strip_prefix(prefix).map(str::trim);
            found.extend(path.map(|path| PatchedFile { access, path }));
        }
        before = line;
    }
    found.retain(|file| !file.path.is_empty());
    found
}

/// The files of the two lines at the head of a unified diff.
pub(super) fn pair<'t>(old: &'t str, new: &'t str) -> Vec<PatchedFile<'t>> {
    match (name(old), name(new)) {
        (None, None) => Vec::new(),
        (Some(path), None) => vec![PatchedFile { access: Access::Delete, path }],
        (None, Some(path)) => vec![PatchedFile { access: Access::Write, path }],
        (Some(old), Some(new)) => {
            [old, new].map(|path| PatchedFile { access: Access::Write, path }).to_vec()
        }
    }
}

/// The path of a header; `None` for the file that is none.
fn name(text: &str) -> Option<&str> {
    // A date may follow.
    let path = text.split('\t').next().unwrap_or(text).trim();
    let path = ["a/", "b/"].iter().find_map(|side| path.strip_prefix(side)).unwrap_or(path);
    (!matches!(path, "/dev/null" | "dev/null")).then_some(path)
}

/// A header of Codex, with blanks before it as some programs allow.
fn header(line: &str) -> Option<PatchedFile<'_>> {
    let line = line.trim_start();
    HEADERS.iter().find_map(|(start, access)| {
        let path = line.strip_prefix(start)?.trim();
        Some(PatchedFile { access: *access, path })
    })
}

/// The lines, however a program may split them.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_break)
}

/// The line breaks of Unicode and of Python's `splitlines`.
fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}')
        || matches!(c, '\u{2028}' | '\u{2029}')
}
