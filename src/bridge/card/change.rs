//! A change of a text, line by line.

use crate::gate::call::Call;
use countersign_policy::tools::{Kind, kind_of};
use countersign_port::{DiffLine, DiffSide};
use serde_json::Value;
use similar::{ChangeTag, TextDiff};
use std::time::Duration;

/// How many lines around a change are shown.
const AROUND: usize = 2;
/// A change is worked out for no longer than this; what is left then is shown less finely.
const LONGEST: Duration = Duration::from_millis(100);

/// What an edit changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FileChange {
    /// The file, where the call names one.
    pub path: Option<String>,
    pub added: usize,
    pub removed: usize,
    pub lines: Vec<DiffLine>,
    /// The arguments that it shows.
    pub shows: Vec<&'static str>,
}

/// The names under which agents put what is there and what is to be there.
const OLD: &[&str] = &["old_string", "old_text", "old_str"];
const NEW: &[&str] = &["new_string", "new_text", "new_str", "new_source"];
/// The names under which they put a patch.
const PATCH: &[&str] = &["patch", "input", "diff"];
pub(super) const PATH: &[&str] = &["file_path", "path", "notebook_path"];

/// The change that a call of an editing tool would make; `None` where it cannot be told.
pub(super) fn of(call: &Call) -> Option<FileChange> {
    if kind_of(&call.tool) != Kind::Edit {
        return None;
    }
    let mut change = FileChange::default();
    if let Some((key, path)) = first(&call.args, PATH) {
        change.path = Some(path.to_owned());
        change.shows.push(key);
    }
    change
        .edit(&call.args)
        .or_else(|| change.edits(&call.args))
        .or_else(|| change.patch(&call.args))?;
    Some(change)
}

/// The lines that differ between two texts, with some around them.
pub(super) fn between(old: &str, new: &str) -> FileChange {
    let mut change = FileChange::default();
    change.compare(old, new);
    change
}

/// The first of the names that holds a text.
pub(super) fn first<'a>(
    args: &'a Value,
    names: &[&'static str],
) -> Option<(&'static str, &'a str)> {
    names.iter().find_map(|name| Some((*name, args.get(name)?.as_str()?)))
}

impl FileChange {
    /// One text for another.
    fn edit(&mut self, args: &Value) -> Option<()> {
        let (old, new) = (first(args, OLD), first(args, NEW));
        if old.is_none() && new.is_none() {
            return None;
        }
        self.shows.extend([old, new].iter().flatten().map(|(key, _)| *key));
        self.compare(old.map_or("", |(_, text)| text), new.map_or("", |(_, text)| text));
        Some(())
    }

    /// Several texts for others.
    fn edits(&mut self, args: &Value) -> Option<()> {
        let edits = args.get("edits")?.as_array()?;
        let one = |edit: &Value| {
            let (old, new) = (first(edit, OLD), first(edit, NEW));
            // What an edit says besides its texts is not left out.
            let said =
                edit.as_object()?.len() == usize::from(old.is_some()) + usize::from(new.is_some());
            said.then(|| {
                (old.map_or("", |it| it.1).to_owned(), new.map_or("", |it| it.1).to_owned())
            })
        };
        let edits =
            edits.iter().map(one).collect::<Option<Vec<_>>>().filter(|all| !all.is_empty())?;
        for (at, (old, new)) in edits.iter().enumerate() {
            if edits.len() > 1 {
                self.skip(format!("change {} of {}", at + 1, edits.len()));
            }
            self.compare(old, new);
        }
        self.shows.push("edits");
        Some(())
    }

    /// A patch as it is, every line of it.
    fn patch(&mut self, args: &Value) -> Option<()> {
        let whole = args.as_str().map(|text| ("", text));
        let (key, text) = whole.or_else(|| first(args, PATCH))?;
        let is_patch = |text: &str| text.contains("*** Begin Patch") || text.contains("\n@@");
        if !is_patch(text) {
            return None;
        }
        let mut files = Vec::new();
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            let heads =
                line.starts_with("--- ") && lines.peek().is_some_and(|it| it.starts_with("+++ "));
            files.extend(FILES.iter().find_map(|head| line.strip_prefix(head)).map(str::to_owned));
            match line.split_at_checked(1) {
                _ if heads => {
                    self.push(DiffSide::Both, line);
                    let new = lines.next().unwrap_or_default();
                    files.push(new.trim_start_matches("+++ ").trim_start_matches("b/").to_owned());
                    self.push(DiffSide::Both, new);
                }
                Some(("+", rest)) => self.push(DiffSide::Added, rest),
                Some(("-", rest)) => self.push(DiffSide::Removed, rest),
                Some((" ", rest)) => self.push(DiffSide::Both, rest),
                _ => self.push(DiffSide::Both, line),
            }
        }
        let named = match files.as_slice() {
            [] => None,
            [one] => Some(one.clone()),
            many => Some(many.join(", ")),
        };
        self.path = self.path.take().or(named);
        self.shows.extend((!key.is_empty()).then_some(key));
        Some(())
    }

    fn compare(&mut self, old: &str, new: &str) {
        let diff = TextDiff::configure().timeout(LONGEST).diff_lines(old, new);
        let mut at = 0;
        for group in diff.grouped_ops(AROUND) {
            let start = group.first().map_or(at, |op| op.old_range().start);
            self.same(start.saturating_sub(at));
            at = group.last().map_or(at, |op| op.old_range().end);
            for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
                let side = match change.tag() {
                    ChangeTag::Equal => DiffSide::Both,
                    ChangeTag::Delete => DiffSide::Removed,
                    ChangeTag::Insert => DiffSide::Added,
                };
                let line = change.value();
                self.push(side, line.strip_suffix('\n').unwrap_or(line));
            }
        }
        self.same(diff.old_slices().len().saturating_sub(at));
    }

    /// So many lines that stay and are not shown.
    fn same(&mut self, lines: usize) {
        match lines {
            0 => {}
            1 => self.skip("1 line stays".to_owned()),
            many => self.skip(format!("{many} lines stay")),
        }
    }

    fn skip(&mut self, text: String) {
        self.lines.push(DiffLine { side: DiffSide::Skipped, text });
    }

    fn push(&mut self, side: DiffSide, text: &str) {
        self.added += usize::from(side == DiffSide::Added);
        self.removed += usize::from(side == DiffSide::Removed);
        self.lines.push(DiffLine { side, text: text.to_owned() });
    }
}

/// How a patch names the files that it changes.
const FILES: &[&str] =
    &["*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: "];

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use countersign_port::diff_text;
    use serde_json::json;

    fn change(tool: &str, args: Value) -> Option<FileChange> {
        of(&Call::new("a", "s", tool, args))
    }

    #[test]
    fn an_edit_shows_the_lines_that_change_and_counts_those_that_stay() {
        let old = "a\nb\nc\nd\nlisten 80;\ne\nf\ng\nh\n";
        let new = old.replace("listen 80;", "listen 443 ssl;\nssl on;");
        let args = json!({"file_path": "/etc/nginx.conf", "old_string": old, "new_string": new});
        let change = change("Edit", args).unwrap();
        assert_eq!((change.added, change.removed), (2, 1));
        let around = "- listen 80;\n+ listen 443 ssl;\n+ ssl on;\n  e\n  f\n⋮ 2 lines stay";
        let wanted = format!("⋮ 2 lines stay\n  c\n  d\n{around}");
        assert_eq!(diff_text(&change.lines), wanted);
        assert_eq!(change.shows, ["file_path", "old_string", "new_string"]);
    }

    #[test]
    fn several_edits_are_numbered_and_one_that_says_more_is_no_plain_change() {
        let edit = json!({"old_string": "a", "new_string": "b"});
        let two = change("MultiEdit", json!({"path": "x", "edits": [edit, edit]})).unwrap();
        let wanted = "⋮ change 1 of 2\n- a\n+ b\n⋮ change 2 of 2\n- a\n+ b";
        assert_eq!((diff_text(&two.lines), two.added), (wanted.to_owned(), 2));
        let more = json!({"old_string": "a", "new_string": "b", "mode": "0777"});
        assert_eq!(change("MultiEdit", json!({"path": "x", "edits": [more]})), None);
    }

    #[test]
    fn a_patch_is_shown_line_by_line_with_its_files() {
        let patch =
            "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-old\n+new\n same\n*** End Patch";
        let applied = change("apply_patch", json!({ "input": patch })).unwrap();
        assert_eq!(applied.path.as_deref(), Some("src/a.rs"));
        assert_eq!((applied.added, applied.removed), (1, 1));
        let unified = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n--- b\n+c\n";
        let unified = change("patch", json!(unified)).unwrap();
        assert_eq!((unified.path.as_deref(), unified.added, unified.removed), (Some("x"), 1, 1));
        assert_eq!(change("apply_patch", json!({"input": "ls"})), None);
    }

    #[test]
    fn two_texts_are_shown_as_the_lines_that_differ() {
        let shown = |old, new| diff_text(&between(old, new).lines);
        assert_eq!(shown("a\nb\nc\nd", "a\nb\nC\nd"), "  a\n  b\n- c\n+ C\n  d");
        assert_eq!(shown("git push", "git push -n"), "- git push\n+ git push -n");
    }

    #[test]
    fn only_tools_that_edit_show_changes() {
        let args = json!({"old_string": "a", "new_string": "b"});
        assert_eq!(change("mcp__x__y", args), None);
    }
}
