//! Unified diffs, read strictly: the lines of a hunk are counted, so none of them is a header.

use super::file::{PatchedFile, plain};
use super::lines::pair;
use crate::facts::access::Access;

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
pub(super) fn read(text: &str) -> Option<Vec<PatchedFile<'_>>> {
    let mut lines = text.trim_end_matches('\n').split('\n');
    let (mut files, mut seen, mut is_named) = (Vec::new(), false, true);
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
        } else if !METADATA.iter().any(|start| line.starts_with(start)) && !is_rule(line) {
            return None;
        }
        seen |= !is_rule(line);
    }
    (seen && is_named && files.iter().all(|file| plain(file.path).is_some())).then_some(())?;
    // Git's first line says nothing of a deletion; the two below it do.
    let gone = |path: &str| files.iter().any(|it| it.path == path && it.access == Access::Delete);
    let access = |file: &PatchedFile<'_>| match gone(file.path) {
        true => Access::Delete,
        false => file.access,
    };
    Some(files.iter().map(|file| PatchedFile { access: access(file), ..*file }).collect())
}

/// Skips the lines of a hunk, of which `1,2 +3,4 @@` says how many there are.
fn skip<'t>(hunk: &str, lines: &mut impl Iterator<Item = &'t str>) -> Option<()> {
    let (ranges, _) = hunk.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let (mut old, mut new) = (count(old)?, count(new)?);
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
