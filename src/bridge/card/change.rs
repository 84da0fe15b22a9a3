//! A change of a text, line by line: what an editing tool would change, and what a person proposes
//! to run instead.

use crate::{
    card::{Origin, Sheet, buttons::Maker, call::first_of},
    token::Pressed,
};
use countersign_gate::{
    ask::{
        Ask,
        edit::{ProposedEdit, editable, edited_text},
    },
    call::{Accepts, Call},
};
use countersign_people::answer::EditStep;
use countersign_policy::{
    argument_names::{CHANGES, CONTENTS, FILES, MOVED_TO, NEW_TEXTS, OLD_TEXTS, PATCHES},
    edited_files::patch_of,
    patch,
    tools::{Kind, kind_of},
    values::Values,
};
use countersign_port::{Button, ButtonStyle, DiffLine, DiffSide, brief, line};
use serde_json::{Map, Value};
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
    change.shows.extend(first_of(&call.args, FILES).map(|(key, _)| key));
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
        let old = first_of(args, OLD_TEXTS);
        let new = first_of(args, NEW_TEXTS);
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

/// How much of a path is shown above a change.
const PATH: usize = 200;

/// One of several changes in a call: of one file, or of several.
struct PartOfChange<'c> {
    /// The file and what happens to it, where the change names one.
    pub(super) title: Option<String>,
    pub(super) texts: ChangedTexts<'c>,
}

/// The texts of a change.
enum ChangedTexts<'c> {
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
        let path = first_of(change, FILES).map(|(_, path)| path);
        let moved = first_of(change, MOVED_TO).or_else(|| first_of(change.get("kind")?, MOVED_TO));
        let short = |path: &str| brief(&line(path), PATH);
        let verb = line(kind.unwrap_or("change"));
        let title = match (path, moved) {
            (Some(path), Some((_, to))) => Some(format!("move {} to {}", short(path), short(to))),
            (Some(path), None) => Some(format!("{verb} {}", short(path))),
            (None, Some(_)) => return None,
            (None, None) => None,
        };
        let old = first_of(change, OLD_TEXTS);
        let new = first_of(change, NEW_TEXTS);
        let text = first_of(change, PATCHES).or_else(|| first_of(change, CONTENTS)).map(|it| it.1);
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

/// How much of a digest people are shown; characters.
const DIGEST: usize = 12;

/// Writes a proposed change as a diff, and what the changed call touches.
pub(super) fn draw_proposal(ask: &Ask, edit: &ProposedEdit, sheet: &mut Sheet) {
    let call = &ask.body.call;
    let new = edited_text(call, &edit.args);
    let change = between(editable(call).unwrap_or_default(), &new);
    let path = first_of(&call.args, FILES).map_or("proposed change", |it| it.1);
    sheet.change(path, change);
    let digest: String = edit.digest.chars().take(DIGEST).collect();
    sheet.note(format!("Changed by {}; nothing of it runs yet. Digest {digest}.", line(&edit.by)));
    if edit.critical {
        sheet.note("The changed call is critical.");
    }
    if !edit.effects.is_empty() {
        let effects: Vec<String> = edit.effects.iter().take(4).map(|it| line(it)).collect();
        sheet.note(format!("The changed call touches: {}", effects.join("; ")));
    }
    if !takes_edits(ask) {
        sheet.note(
            "This agent cannot run an edited call. It gets a denial with your text as the reason.",
        );
    }
}

/// The buttons of an ask with a proposed change. What was submitted cannot be approved meanwhile.
pub(super) fn proposal_buttons(
    ask: &Ask,
    edit: &ProposedEdit,
    origin: Origin<'_>,
) -> Vec<Vec<Button>> {
    let maker = |step| Maker { origin, step };
    let step = |label, style, step| maker(edit.nth).button(label, style, Pressed::Edit(step));
    let yes = match (takes_edits(ask), edit.critical, edit.reviewed) {
        (false, ..) => step("Deny, with this text", ButtonStyle::Deny, EditStep::Approve),
        (true, true, false) => step("Review the change…", ButtonStyle::Text, EditStep::Review),
        (true, true, true) => {
            step("Yes, run the changed call", ButtonStyle::Approve, EditStep::Approve)
        }
        (true, false, _) => step("Approve as changed", ButtonStyle::Approve, EditStep::Approve),
    };
    let no = maker(0).button("Deny", ButtonStyle::Deny, Pressed::Deny);
    let first = if edit.critical { [no, yes] } else { [yes, no] };
    let drop = step("Drop the change", ButtonStyle::Choice, EditStep::Drop);
    vec![first.into_iter().flatten().collect(), drop.into_iter().collect()]
}

fn takes_edits(ask: &Ask) -> bool {
    ask.body.call.accepts.contains(&Accepts::UpdatedInput)
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
