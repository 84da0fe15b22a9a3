//! The names under which agents put the parts of a call. This is the only list of them: rules,
//! guardrails, effects and cards all read it.

/// The file that a call works on, or several.
pub const FILES: &[&str] = &[
    "path",
    "file_path",
    "filePath",
    "filepath",
    "file_name",
    "fileName",
    "filename",
    "file",
    "absolute_path",
    "absolutePath",
    "relative_path",
    "notebook_path",
    "target_file",
    "targetFile",
    "paths",
    "files",
    "file_paths",
    "filePaths",
];

/// The destination of a file that is moved.
pub const MOVED_TO: &[&str] = &["move_path", "movePath", "move_to", "new_path", "newPath"];

/// The text of a shell command.
pub const COMMANDS: &[&str] = &["command", "cmd", "script"];

/// The text that an edit replaces.
pub const OLD_TEXTS: &[&str] = &["old_string", "old_text", "old_str", "oldString", "oldText"];

/// The text that an edit puts in its place.
pub const NEW_TEXTS: &[&str] =
    &["new_string", "new_text", "new_str", "newString", "newText", "new_source"];

/// The whole content of a file.
pub const CONTENTS: &[&str] = &["content", "contents", "file_text"];

/// A patch as text. An editing tool may also have one under `command`, or as its only argument.
pub const PATCHES: &[&str] = &["patch", "patch_text", "patchText", "input", "diff", "unified_diff"];

/// Several changes, each with its own names.
pub const CHANGES: &[&str] = &["changes", "edits"];

/// What else an edit, or one of several changes, comes with: it names no file.
pub const EDIT_DETAILS: &str = "\
    old_string new_string replace_all old_str new_str insert_line insert_text oldString newString \
    replaceAll expected_replacements new_source cell_id cell_number cell_type edit_mode view_range \
    content description explanation instructions instruction reason old_text new_text oldText \
    newText find replace";

/// The sub-commands of a tool that can do several things to a file, under `command`.
pub const VERBS: &[&str] = &[VIEW, "create", "str_replace", "insert", "undo_edit"];

/// The one of them that only reads.
pub const VIEW: &str = "view";

/// The address that a call fetches.
pub const URLS: &[&str] = &["url", "uri"];
