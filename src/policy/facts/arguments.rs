//! The arguments of known tools, under the names that agents use: what each argument is for, and
//! which of them exclude each other.

use serde_json::Value;

use crate::facts::argument_names::{
    CHANGES, COMMANDS, EDIT_DETAILS, FILES, PATCHES, URLS, VERBS, VIEW,
};
use crate::facts::call::Call;
use crate::facts::edited_files::patch_of;
use crate::facts::paths::{self, Directories};
use crate::facts::programs::listed;
use crate::facts::tools::Kind;
use crate::facts::{patch, shorten};

/// The arguments of one kind of tool; a list in one text is separated by blanks.
struct ArgumentKeys {
    /// Lists of arguments that name what the call works on; a call may have one of each.
    subjects: &'static [&'static [&'static str]],
    /// Arguments that may accompany it and name nothing to work on.
    others: &'static str,
}

/// Returns the arguments that name the working directory: those of a shell.
fn folder_keys(kind: Kind) -> &'static str {
    const OF_A_SHELL: &str =
        "cwd workdir work_dir directory dir_path dir working_directory workingDirectory";
    if kind == Kind::Shell { OF_A_SHELL } else { "" }
}

/// Returns the arguments that Claude Code, Codex, opencode, Gemini, Copilot, Cursor and the five
/// systems of the profiles use.
fn of(kind: Kind) -> Option<&'static ArgumentKeys> {
    Some(match kind {
        Kind::Shell => &ArgumentKeys {
            subjects: &[COMMANDS],
            others: "description timeout timeout_ms timeoutMs timeout_s run_in_background \
                is_background background explanation justification reason prefix_rule \
                yield_time_ms max_output_tokens max_output_length max_output_chars interactive \
                restart requires_approval safe_to_auto_run note title mode security_risk \
                delay_ms",
        },
        Kind::Read => &ArgumentKeys {
            subjects: &[FILES],
            others: "offset limit pages start_line end_line start end view_range line_start \
                line_end lines encoding description explanation reason should_read_entire_file \
                max_lines mode indentation",
        },
        Kind::Write => &ArgumentKeys {
            subjects: &[FILES],
            others: "content contents file_text text overwrite append create_directories \
                create_dirs encoding description explanation instructions instruction reason \
                mode_bits",
        },
        Kind::Edit => &ArgumentKeys { subjects: &[FILES, PATCHES, CHANGES], others: EDIT_DETAILS },
        Kind::Glob => &ArgumentKeys {
            subjects: &[],
            others: "pattern glob path file_path directory dir_path case_sensitive \
                respect_git_ignore respect_gemini_ignore file_filtering_options ignore limit \
                depth recursive hidden description explanation reason exclude include_hidden \
                offset",
        },
        Kind::Grep => &ArgumentKeys {
            subjects: &[],
            others: "pattern path glob include exclude output_mode -A -B -C -n -i context \
                head_limit offset multiline type regex query case_sensitive ignore_case \
                directory dir_path limit max_results description explanation reason before after \
                fixed_strings include_hidden",
        },
        Kind::Skill => &ArgumentKeys {
            subjects: &[&["name", "skill", "command"]],
            others: "args arguments input description reason",
        },
        Kind::Fetch => &ArgumentKeys {
            subjects: &[URLS],
            others: "prompt format timeout description reason max_length start_index raw",
        },
        Kind::Question | Kind::Other => return None,
    })
}

/// Describes odd arguments of a known tool: two that may both be what runs, one that changes what
/// runs, or one that is unknown.
// FAIL-CLOSED: the tool decides what it makes of such arguments, so no rule and no grant allows the
// call.
#[must_use]
pub(crate) fn odd(call: &Call) -> Option<String> {
    let keys = of(call.kind())?;
    let args = call.args.as_object()?;
    let mut given: Vec<(&str, &Value)> = args
        .iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(key, value)| (key.as_str(), value))
        .collect();
    // Sorted, so that the same call always gets the same sentence.
    given.sort_unstable_by_key(|(key, _)| *key);
    for subject in keys.subjects {
        let named = given.iter().map(|(key, _)| *key).filter(|key| subject.contains(key));
        let named: Vec<&str> = named.collect();
        if named.len() > 1 {
            return Some(sentence(call, "comes with competing arguments", &named));
        }
    }
    // `command` is the shell text of one tool, the verb of an edit tool and the patch of another.
    let patch = patch_of(&call.args).filter(|_| call.kind() == Kind::Edit);
    let verb = |key: &str, value: &Value| {
        // A tool that reads only looks; `undo_edit` names nothing but the file either.
        let known = value
            .as_str()
            .is_some_and(|verb| verb == VIEW || VERBS.contains(&verb) && call.kind() == Kind::Edit);
        let is_patch = patch
            .is_some_and(|(place, text)| place == Some(key) && !patch::read(text).files.is_empty());
        let edits = matches!(call.kind(), Kind::Edit | Kind::Read);
        key == "command" && (known && edits || is_patch)
    };
    let subject = |key: &str| keys.subjects.iter().any(|subject| subject.contains(&key));
    let unknown: Vec<&str> = given
        .iter()
        .filter(|(key, value)| {
            let known = subject(key) || listed(keys.others, key) || verb(key, value);
            let odd = !known && (!listed(folder_keys(call.kind()), key) || leads_away(call, value));
            odd && !says_nothing(key, value) || acts_as_option(call, key, value)
        })
        .map(|(key, _)| *key)
        .collect();
    let what = "comes with arguments that may change what it does";
    (!unknown.is_empty()).then(|| sentence(call, what, &unknown))
}

/// Returns true for a call of an editing tool that only views a file.
pub(crate) fn views(call: &Call) -> bool {
    call.kind() == Kind::Edit && call.args.get("command").and_then(Value::as_str) == Some(VIEW)
}

/// Returns the folders that arguments of a shell choose to run in.
pub(crate) fn folders(call: &Call) -> Vec<&str> {
    folder_keys(call.kind())
        .split_whitespace()
        .filter_map(|key| call.args.get(key)?.as_str())
        .collect()
}

/// Returns true when an argument beside the command may change what runs, and not only where.
pub(crate) fn changes_what_runs(call: &Call) -> bool {
    if call.kind() != Kind::Shell || odd(call).is_none() {
        return false;
    }
    let mut inside = Call { tool: call.tool.clone(), args: call.args.clone(), ..Call::default() };
    if let Some(args) = inside.args.as_object_mut() {
        args.retain(|key, value| !(value.is_string() && listed(folder_keys(Kind::Shell), key)));
    }
    odd(&inside).is_some()
}

/// Returns true for a value that a searching tool may hand on as an option of its program. What is
/// searched for may look like one.
fn acts_as_option(call: &Call, key: &str, value: &Value) -> bool {
    const TEXTS: &str = "pattern regex query description explanation reason";
    let dashed = |value: &Value| value.as_str().is_some_and(|text| text.starts_with('-'));
    let dashed = match value {
        Value::Array(list) => list.iter().any(dashed),
        value => dashed(value),
    };
    let searches = matches!(call.kind(), Kind::Grep | Kind::Glob);
    searches && dashed && !listed(TEXTS, key)
}

/// Returns true for settings of a shell that leave it as it is.
fn says_nothing(key: &str, value: &Value) -> bool {
    let plain = match value {
        Value::Bool(set) => !*set,
        Value::String(text) => text.is_empty() || text == "use_default",
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Null => true,
        Value::Number(_) => false,
    };
    // `is_input` hands the text to whatever runs, which need not be a shell.
    let settings = "env shell login tty is_input dangerouslyDisableSandbox sandbox_permissions \
        with_escalated_permissions additional_permissions";
    // A login shell reads the same start-up files as every other shell of the user.
    let usual = matches!(key, "login" | "tty") && value.is_boolean();
    listed(settings, key) && (plain || usual)
}

/// Returns true when a shell would run in a folder other than the call's.
fn leads_away(call: &Call, folder: &Value) -> bool {
    let dirs = Directories { cwd: call.cwd.as_deref(), home: call.home.as_deref() };
    let (Some(folder), Some(cwd)) = (folder.as_str(), dirs.cwd) else { return true };
    paths::clean(folder, dirs) != paths::clean(cwd, dirs)
}

/// Formats `exec_command comes with competing arguments: cmd, command.`
fn sentence(call: &Call, what: &str, keys: &[&str]) -> String {
    const MOST: usize = 8;
    let named: Vec<String> = keys.iter().take(MOST).map(|key| shorten(key, 40)).collect();
    let more = match keys.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{} {what}: {}{more}. No rule allows that.", shorten(&call.tool, 60), named.join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::facts::arguments::*;

    fn odd_of(tool: &str, args: Value) -> Option<String> {
        odd(&Call { cwd: Some("/home/u/w".into()), ..Call::new(tool, args) })
    }

    #[test]
    fn what_agents_send_is_known() {
        for (tool, args) in [
            (
                "Bash",
                json!({
                    "command": "ls", "description": "x", "timeout": 5,
                    "run_in_background": false
                }),
            ),
            (
                "exec_command",
                json!({"cmd": "ls", "workdir": "/home/u/w", "yield_time_ms": 10, "login": true,
                "tty": false, "max_output_tokens": 5, "justification": "x", "shell": null}),
            ),
            ("shell", json!({"command": ["bash", "-lc", "ls"], "workdir": ".", "timeout_ms": 5})),
            ("run_shell_command", json!({"command": "ls", "description": "x", "dir_path": null})),
            ("Read", json!({"file_path": "a", "offset": 1, "limit": 2})),
            ("Write", json!({"file_path": "a", "content": "x"})),
            (
                "Edit",
                json!({
                    "file_path": "a", "old_string": "x", "new_string": "y", "replace_all": false
                }),
            ),
            ("NotebookEdit", json!({"notebook_path": "a", "new_source": "x", "cell_id": "1"})),
            (
                "str_replace_editor",
                json!({"command": "str_replace", "path": "a", "old_str": "", "new_str": ""}),
            ),
            (
                "Grep",
                json!({
                    "pattern": "x", "-n": true, "-A": 3, "output_mode": "content", "glob": "*.rs"
                }),
            ),
            ("Glob", json!({"pattern": "**/*.rs", "path": "src"})),
            ("view", json!({"command": "view", "path": "a"})),
            ("edit", json!({"filePath": "a", "oldString": "x", "newString": "y"})),
            ("WebFetch", json!({"url": "https://x", "prompt": "y"})),
            ("Skill", json!({"skill": "x", "args": "y"})),
            ("mcp__x__y", json!({"anything": 1})),
        ] {
            assert_eq!(odd_of(tool, args.clone()), None, "{tool} {args}");
        }
    }

    #[test]
    fn competing_changing_and_unknown_arguments_are_named() {
        for (tool, args, named) in [
            (
                "exec_command",
                json!({"command": "ls -l", "cmd": "rm -rf ~"}),
                vec!["cmd", "command"],
            ),
            ("Bash", json!({"command": "ls", "script": "id"}), vec!["command", "script"]),
            ("Bash", json!({"command": "ls", "input": "id"}), vec!["input"]),
            ("Bash", json!({"command": "ls", "commands": ["id"]}), vec!["commands"]),
            ("Bash", json!({"command": "ls", "env": {"LD_PRELOAD": "x"}}), vec!["env"]),
            ("Bash", json!({"command": "ls", "shell": "/tmp/sh"}), vec!["shell"]),
            ("Bash", json!({"command": "ls", "cwd": "/etc"}), vec!["cwd"]),
            ("Bash", json!({"command": "ls", "workdir": "sub"}), vec!["workdir"]),
            ("Bash", json!({"command": "ls", "stdin": "id"}), vec!["stdin"]),
            (
                "Bash",
                json!({"command": "ls", "dangerouslyDisableSandbox": true}),
                vec!["dangerouslyDisableSandbox"],
            ),
            ("Read", json!({"file_path": "a", "path": "b"}), vec!["file_path", "path"]),
            (
                "write_file",
                json!({"command": "ls", "file_path": "a", "content": "x"}),
                vec!["command"],
            ),
            ("Edit", json!({"file_path": "a", "command": "rm"}), vec!["command"]),
            ("view", json!({"path": "a", "command": "undo_edit"}), vec!["command"]),
            ("read", json!({"path": "a", "command": "create"}), vec!["command"]),
            ("read_many_files", json!({"paths": ["a"], "include": ["/etc/*"]}), vec!["include"]),
            ("WebFetch", json!({"url": "https://x", "uri": "https://y"}), vec!["uri", "url"]),
            ("Grep", json!({"pattern": "x", "pre": "sh"}), vec!["pre"]),
        ] {
            let said = odd_of(tool, args.clone()).unwrap_or_default();
            assert!(named.iter().all(|key| said.contains(key)), "{tool} {args}: {said:?}");
        }
    }
}
