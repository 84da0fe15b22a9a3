//! Patches: the files that one names, and whether it was understood to its last line.

use crate::facts::access::Access;

/// The files that a patch names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch<'t> {
    /// Every file, in order, each once.
    pub files: Vec<PatchedFile<'t>>,
    /// Every line was understood. Otherwise the patch may change more than these files.
    pub is_exact: bool,
}

/// Reads a patch in the form of Codex (`*** Begin Patch`) or a unified diff.
// FAIL-CLOSED: programs differ in what they take for a header: after blanks, behind odd line
// breaks, before the beginning or after the end. Every line that one of them may take for a header
// counts as one, and a patch with such a line is not exact.
#[must_use]
pub fn read(text: &str) -> Patch<'_> {
    let loose = possible_headers(text);
    let strict = match has_envelope(text) {
        true => envelope(text),
        // Inside of its hunks, whose lines are counted, nothing is a header.
        false if !has_odd_breaks(text) => match unified(text) {
            Some(files) => return Patch { files: once(files), is_exact: true },
            None => None,
        },
        false => unified(text),
    };
    let is_known = |file: &PatchedFile<'_>| {
        strict.as_ref().is_some_and(|strict| strict.iter().any(|it| it.path == file.path))
    };
    let is_exact = loose.iter().all(is_known) && strict.is_some();
    let files = once(strict.into_iter().flatten().chain(loose).collect());
    Patch { files, is_exact }
}

/// Each path once, with the access that it came with first.
fn once(files: Vec<PatchedFile<'_>>) -> Vec<PatchedFile<'_>> {
    let mut seen = std::collections::HashSet::new();
    files.into_iter().filter(|file| seen.insert(file.path)).collect()
}

/// A file that a patch names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PatchedFile<'t> {
    /// What happens to it.
    pub access: Access,
    /// Its path as the patch spells it.
    pub path: &'t str,
}

/// Returns a path that every program reads alike: no blanks around it, no quotes, nothing
/// invisible.
fn plain(path: &str) -> Option<&str> {
    let odd = |c: char| c.is_control() || matches!(c, '"' | '\u{2028}' | '\u{2029}');
    (!path.is_empty() && path.trim() == path && !path.contains(odd)).then_some(path)
}

// Patches in the form of Codex, from `*** Begin Patch` to `*** End Patch`, read strictly.

/// The part of a patch that a line belongs to.
enum FileSection {
    None,
    Add,
    Delete,
    /// Directly below its header, where the destination of a move may follow.
    UpdateHead,
    Update,
}

/// Reads the files of a patch; `None` when a line is not understood.
fn envelope(text: &str) -> Option<Vec<PatchedFile<'_>>> {
    let body = text.trim_matches('\n').strip_prefix(BEGIN)?.strip_suffix("*** End Patch")?;
    let body = body.strip_prefix('\n')?.strip_suffix('\n')?;
    let mut files = Vec::<PatchedFile<'_>>::new();
    let mut section = FileSection::None;
    for line in body.split('\n') {
        let head = HEADERS.iter().find_map(|(start, access)| {
            let path = line.strip_prefix(start)?.strip_prefix(' ')?;
            Some((*start, *access, plain(path)))
        });
        if let Some((start, access, path)) = head {
            let path = path?;
            section = match start {
                "*** Add File:" => FileSection::Add,
                "*** Delete File:" => FileSection::Delete,
                "*** Move to:" => {
                    let FileSection::UpdateHead = section else { return None };
                    files.last_mut()?.access = Access::Move;
                    FileSection::Update
                }
                _ => FileSection::UpdateHead,
            };
            files.push(PatchedFile { access, path });
            continue;
        }
        let known = match section {
            FileSection::None | FileSection::Delete => false,
            FileSection::Add => line.starts_with('+'),
            FileSection::UpdateHead | FileSection::Update => {
                section = FileSection::Update;
                line.is_empty()
                    || line.starts_with(['@', ' ', '+', '-'])
                    || line == "*** End of File"
            }
        };
        if !known {
            return None;
        }
    }
    (!files.is_empty()).then_some(files)
}

// Unified diffs, read strictly: the lines of a hunk are counted, so none of them is a header.

/// Lines of git's headers that name no file.
const METADATA: &[&str] = &[
    "index ",
    "old mode ",
    "new mode ",
    "new file mode ",
    "create file mode ",
    "deleted file mode ",
    "similarity index ",
    "dissimilarity index ",
];

/// Lines of headers that name one file.
const NAMING: &[(&str, Access)] = &[
    ("rename from ", Access::Move),
    ("rename to ", Access::Write),
    ("copy from ", Access::Read),
    ("copy to ", Access::Write),
    ("Index: ", Access::Write),
];

/// Reads the files of a diff, none for one that consists of hunks; `None` when a line is not
/// understood.
fn unified(text: &str) -> Option<Vec<PatchedFile<'_>>> {
    let mut lines = text.trim_end_matches('\n').split('\n');
    let mut files = Vec::new();
    let mut seen = false;
    let mut is_named = true;
    while let Some(line) = lines.next() {
        if let Some(old) = line.strip_prefix("--- ") {
            let new = lines.next()?.strip_prefix("+++ ")?;
            if old.contains('\r') || new.contains('\r') {
                return None;
            }
            files.extend(pair(old, new));
            is_named = true;
        } else if let Some(hunk) = line.strip_prefix("@@ -") {
            skip(hunk, &mut lines)?;
        } else if let Some(both) = line.strip_prefix("diff --git a/") {
            if !is_named {
                return None;
            }
            let path = twice(both);
            is_named = path.is_some();
            files.extend(path.map(|path| PatchedFile { access: Access::Write, path }));
        } else if let Some((start, access)) = NAMING.iter().find(|it| line.starts_with(it.0)) {
            let path = line.strip_prefix(start)?;
            files.push(PatchedFile { access: *access, path });
            is_named = true;
        } else if METADATA.iter().any(|start| line.starts_with(start)) {
            // What is no plain file, such as a link, leads to another one.
            if line.ends_with(" 120000") || line.ends_with(" 160000") {
                return None;
            }
        } else if !is_rule(line) {
            return None;
        }
        seen |= !is_rule(line);
    }
    (seen && is_named && files.iter().all(|file| plain(file.path).is_some())).then_some(())?;
    // Git's first line says nothing of a deletion; the two below it do.
    let gone = |path: &str| files.iter().any(|it| it.path == path && it.access == Access::Delete);
    let access =
        |file: &PatchedFile<'_>| if gone(file.path) { Access::Delete } else { file.access };
    Some(files.iter().map(|file| PatchedFile { access: access(file), ..*file }).collect())
}

/// Skips the lines of a hunk, of which `1,2 +3,4 @@` says how many there are.
fn skip<'t>(hunk: &str, lines: &mut impl Iterator<Item = &'t str>) -> Option<()> {
    let (ranges, _) = hunk.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let mut old = count(old)?;
    let mut new = count(new)?;
    while old > 0 || new > 0 {
        let line = lines.next()?;
        match line.as_bytes().first() {
            None | Some(b' ') => (old, new) = (old.checked_sub(1)?, new.checked_sub(1)?),
            Some(b'-') => old = old.checked_sub(1)?,
            Some(b'+') => new = new.checked_sub(1)?,
            Some(b'\\') => {}
            Some(_) => return None,
        }
    }
    Some(())
}

/// Reads the number of lines in `3,4`, or in `3`.
fn count(range: &str) -> Option<usize> {
    let (_, lines) = range.split_once(',').unwrap_or((range, "1"));
    lines.parse().ok()
}

/// Reads `PATH b/PATH`; of two paths the lines below say which.
fn twice(both: &str) -> Option<&str> {
    let path = both.get(..both.len().checked_sub(3)? / 2)?;
    (both.get(path.len()..)? == [" b/", path].concat()).then_some(path)
}

/// A line between files: empty, drawn, or the remark about a last line without an end.
fn is_rule(line: &str) -> bool {
    line.bytes().all(|byte| byte == b'=') || line == r"\ No newline at end of file"
}

// The lines of a patch that any program may take for the header of a file.

/// The headers of a patch in the form of Codex.
const HEADERS: &[(&str, Access)] = &[
    ("*** Update File:", Access::Write),
    ("*** Add File:", Access::Write),
    ("*** Delete File:", Access::Delete),
    ("*** Move to:", Access::Write),
];
const BEGIN: &str = "*** Begin Patch";

/// Returns true for a patch in the form of Codex.
fn has_envelope(text: &str) -> bool {
    text.contains(BEGIN) || pieces(text).any(|line| header(line).is_some())
}

/// Returns true where programs may disagree on the end of a line.
fn has_odd_breaks(text: &str) -> bool {
    text.contains(|c: char| c != '\n' && is_break(c))
}

/// Returns the file of every line that may be a header.
fn possible_headers(text: &str) -> Vec<PatchedFile<'_>> {
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
fn pair<'t>(old: &'t str, new: &'t str) -> Vec<PatchedFile<'t>> {
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

#[cfg(test)]
mod tests;
