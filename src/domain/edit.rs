//! A call as a person has changed it: a command, or a file's new text. Pure.

use super::call::Call;
use countersign_policy::{
    argument_names::{COMMANDS, CONTENTS, NEW_TEXTS},
    tools::{Kind, kind_of},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a person wants a call to be instead; nothing runs because of that alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposedEdit {
    /// Which edit of the ask it is, from 1: a button of an earlier one does nothing.
    pub nth: usize,
    /// All arguments as they would be.
    pub args: Value,
    /// SHA-256 of the call with them.
    pub digest: String,
    /// Who proposed it, for people to read.
    pub by: String,
    /// What the changed call touches, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<String>,
    /// Whether the changed call is on the list of critical ones.
    #[serde(default)]
    pub critical: bool,
    /// Whether somebody has taken the first of the two steps that a critical one takes.
    #[serde(default)]
    pub reviewed: bool,
}

/// The arguments that were approved instead of those that were submitted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpdatedInput {
    /// All of them.
    pub args: Value,
    /// SHA-256 of the call with them.
    pub digest: String,
}

/// The text of a call that a person may change; `None` where there is none.
#[must_use]
pub fn editable(call: &Call) -> Option<&str> {
    match key(call)? {
        Some(key) => call.args.get(key)?.as_str(),
        None => call.args.as_str(),
    }
}

/// The call with this text in the place of its own; `None` where it has none.
// SECURITY: which text that is decides nothing: policy judges all arguments of the result anew.
#[must_use]
pub fn edited(call: &Call, text: &str) -> Option<Call> {
    let mut edited = call.clone();
    match key(call)? {
        Some(key) => *edited.args.get_mut(key)? = Value::String(text.to_owned()),
        None => edited.args = Value::String(text.to_owned()),
    }
    // What the agent said of its own command is not said of this one.
    edited.description = None;
    Some(edited)
}

/// The text of a call with these arguments in the place of its own.
#[must_use]
pub fn edited_text(call: &Call, args: &Value) -> String {
    let changed = Call { args: args.clone(), ..call.clone() };
    editable(&changed).unwrap_or_default().to_owned()
}

/// The argument that holds the text; `Some(None)` where all arguments are the text itself.
fn key(call: &Call) -> Option<Option<&'static str>> {
    if !call.questions.is_empty() {
        return None;
    }
    let kind = kind_of(&call.tool);
    if kind == Kind::Shell && call.args.is_string() {
        return Some(None);
    }
    let names = match kind {
        Kind::Shell => [COMMANDS, &[]],
        _ => [NEW_TEXTS, CONTENTS],
    };
    let names = names.into_iter().flatten().copied();
    let mut texts = names.filter(|name| call.args.get(*name).is_some_and(Value::is_string));
    let first = texts.next()?;
    // Of two texts nobody could tell which was meant.
    texts.next().is_none().then_some(Some(first))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]
    use super::*;
    use serde_json::json;

    fn call(tool: &str, args: Value) -> Call {
        Call::new("claude-code", "one", tool, args)
    }

    #[test]
    fn a_command_or_a_new_text_is_changed_and_nothing_else() {
        let bash = call("Bash", json!({"command": "git push", "timeout": 5}));
        assert_eq!(editable(&bash), Some("git push"));
        let edited = edited(&bash, "git push --dry-run").unwrap();
        assert_eq!(edited.args, json!({"command": "git push --dry-run", "timeout": 5}));
        assert_ne!(edited.digest(), bash.digest());
        let write = call("Write", json!({"file_path": "/a", "content": "x"}));
        assert_eq!(super::edited(&write, "y").unwrap().args["content"], "y");
        let edit = call("Edit", json!({"file_path": "/a", "old_string": "x", "new_string": "y"}));
        assert_eq!(editable(&edit), Some("y"));
        let text = call("shell_exec", json!("ls"));
        assert_eq!(super::edited(&text, "pwd").unwrap().args, json!("pwd"));
    }

    #[test]
    fn what_has_no_one_text_cannot_be_changed() {
        for (tool, args) in [
            ("Bash", json!({"command": ["git", "push"]})),
            ("Bash", json!({"command": "a", "script": "b"})),
            ("Write", json!({"content": "a", "new_text": "b"})),
            ("Read", json!({"file_path": "/a"})),
            ("mcp__mail__send", json!({"to": "ben"})),
            ("Bash", json!({})),
        ] {
            let call = call(tool, args);
            assert_eq!((editable(&call), edited(&call, "x")), (None, None), "{call:?}");
        }
    }
}
