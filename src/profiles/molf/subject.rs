//! The parts of a call that molf matches: its pieces.

use serde_json::Value;

use super::commands::{self, Piece};
use countersign_policy::call::Call;

/// Returns the parts of a call that rules are matched with; none for tools that only their name
/// decides.
///
/// # Errors
/// As [`commands::pieces`].
pub fn pieces(call: &Call) -> Result<Vec<Piece>, String> {
    let text = |key: &str| call.args.get(key).and_then(Value::as_str);
    // The first key that is present counts, whatever its value.
    let first = |keys: [&str; 2]| {
        let key = keys.into_iter().find(|key| call.args.get(key).is_some_and(|v| !v.is_null()));
        key.and_then(text)
    };
    let value = match call.canonical_tool() {
        "shell_exec" => {
            return call.command().map_or_else(|| Ok(Vec::new()), commands::pieces);
        }
        "read_file" | "write_file" | "edit_file" => first(["path", "file_path"]),
        "glob" => first(["pattern", "path"]),
        "grep" => text("path"),
        "skill" => text("name"),
        // Only names of the older form carry a value; for others Always stores nothing in molf.
        _ if call.tool.starts_with("mcp:") => Some(call.tool.as_str()),
        _ => None,
    };
    let piece = |value: &str| Piece { text: value.to_owned(), always: value.to_owned() };
    Ok(value.map(piece).into_iter().collect())
}
