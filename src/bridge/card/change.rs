//! A change of a text, line by line.

use super::{
    named::first,
    part_of_change::{ChangedTexts, PartOfChange},
};
use countersign_gate::call::Call;
use countersign_policy::{
    argument_names::{CHANGES, FILES, NEW_TEXTS, OLD_TEXTS},
    edited_files::patch_of,
    patch,
    tools::{Kind, kind_of},
    values::Values,
};
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
    /// The files that the call names, as rules match them.
    pub paths: Vec<String>,
    pub added: usize,
    pub removed: usize,
    pub lines: Vec<DiffLine>,
    /// The arguments that it shows.
    pub shows: Vec<&'static str>,
}

/// The change that a call of an editing tool would make; `None` where it cannot be told.
pub(super) fn of(call: &Call) -> Option<FileChange> {
    if kind_of(&call.tool) != Kind::Edit {
        return None;
    }
    let mut change = FileChange::default();
    change.edit(&call.args).or_else(|| change.several(&call.args)).or_else(|| {
        let (key, text) = patch_of(&call.args)?;
        change.shows.extend(key);
        change.patch(text)
    })?;
    change.shows.extend(first(&call.args, FILES).map(|(key, _)| key));
    let values = Values::of(&call.for_policy(None)).list;
    change.paths = values.into_iter().filter(|it| it.is_path).map(|it| it.text).collect();
    Some(change)
}

/// The lines that differ between two texts, with some around them.
pub(super) fn between(old: &str, new: &str) -> FileChange {
    let mut change = FileChange::default();
    change.compare(old, new);
    change
}

impl FileChange {
    /// One text for another.
    fn edit(&mut self, args: &Value) -> Option<()> {
        let (old, new) = (first(args, OLD_TEXTS), first(args, NEW_TEXTS));
        if old.is_none() && new.is_none() {
            return None;
        }
        self.shows.extend([old, new].iter().flatten().map(|(key, _)| *key));
        self.compare(old.map_or("", |(_, text)| text), new.map_or("", |(_, text)| text));
        Some(())
    }

    /// Several changes: of one file, or of several.
    fn several(&mut self, args: &Value) -> Option<()> {
        let (key, list) =
            CHANGES.iter().find_map(|key| Some((*key, args.get(*key)?.as_array()?)))?;
        let parts = list.iter().map(PartOfChange::of).collect::<Option<Vec<_>>>()?;
        for (at, part) in parts.iter().enumerate() {
            match &part.title {
                Some(title) => self.skip(title.clone()),
                None if parts.len() > 1 => {
                    self.skip(format!("change {} of {}", at + 1, parts.len()))
                }
                None => {}
            }
            match part.texts {
                ChangedTexts::Both(old, new) => self.compare(old, new),
                ChangedTexts::Patch(text) => self.draw(text),
            }
        }
        self.shows.push(key);
        (!parts.is_empty()).then_some(())
    }

    /// A patch as it is, every line of it.
    fn patch(&mut self, text: &str) -> Option<()> {
        let patch = patch::read(text);
        if !patch.is_exact && patch.files.is_empty() {
            return None;
        }
        self.draw(text);
        Some(())
    }

    fn draw(&mut self, text: &str) {
        let mut lines = text.strip_suffix('\n').unwrap_or(text).split('\n').peekable();
        while let Some(line) = lines.next() {
            let heads =
                line.starts_with("--- ") && lines.peek().is_some_and(|it| it.starts_with("+++ "));
            match line.split_at_checked(1) {
                _ if heads => {
                    self.push(DiffSide::Both, line);
                    self.push(DiffSide::Both, lines.next().unwrap_or_default());
                }
                Some(("+", rest)) => self.push(DiffSide::Added, rest),
                Some(("-", rest)) => self.push(DiffSide::Removed, rest),
                Some((" ", rest)) => self.push(DiffSide::Both, rest),
                _ => self.push(DiffSide::Both, line),
            }
        }
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
        assert_eq!(change.shows, ["old_string", "new_string", "file_path"]);
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
        assert_eq!(applied.paths, ["src/a.rs"]);
        assert_eq!((applied.added, applied.removed), (1, 1));
        let unified = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n--- b\n+c\n";
        let unified = change("patch", json!(unified)).unwrap();
        assert_eq!((unified.added, unified.removed, unified.paths), (1, 1, vec!["x".to_owned()]));
        assert_eq!(change("apply_patch", json!({"input": "ls"})), None);
    }

    #[test]
    fn changes_of_several_files_are_shown_file_by_file() {
        let changes = json!({"changes": [
            {"path": "/w/a", "kind": {"type": "update", "move_path": "/w/b"},
             "diff": "@@ -1 +1 @@\n-x\n+y"},
            {"path": "/w/n", "kind": {"type": "add"}, "diff": "hello\n"},
            {"path": "/w/o", "kind": {"type": "delete"}, "diff": "bye\n"},
            {"path": "/w/p", "oldText": null, "newText": "new"}]});
        let drawn = change("edit_file", changes).unwrap();
        let first = "⋮ move /w/a to /w/b\n  @@ -1 +1 @@\n- x\n+ y\n⋮ add /w/n\n+ hello\n";
        let second = "⋮ delete /w/o\n- bye\n⋮ change /w/p\n+ new";
        assert_eq!(diff_text(&drawn.lines), format!("{first}{second}"));
        assert_eq!(drawn.paths, ["/w/a", "/w/b", "/w/n", "/w/o", "/w/p"]);
        let more = json!({"changes": [{"path": "a", "diff": "x", "mode": "0777"}]});
        assert_eq!(change("edit_file", more), None, "what it says besides is not left out");
    }

    #[test]
    fn the_edits_of_every_agent_are_changes() {
        let diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";
        for (tool, args) in [
            ("edit", json!({"filepath": "x", "diff": diff})),
            ("edit", json!({"file_path": "x", "diff": "@@ -1 +1 @@\n-a\n+b\n"})),
            ("edit", json!({"filePath": "x", "oldString": "a", "newString": "b"})),
            (
                "apply_patch",
                json!({"command":
                "*** Begin Patch\n*** Update File: x\n@@\n-a\n+b\n*** End Patch"}),
            ),
        ] {
            let drawn = change(tool, args.clone()).unwrap();
            assert_eq!((drawn.added, drawn.removed, drawn.paths), (1, 1, vec!["x".to_owned()]));
            assert_eq!(drawn.shows.len(), args.as_object().unwrap().len(), "{args}");
        }
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
