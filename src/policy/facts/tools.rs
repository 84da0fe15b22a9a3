//! Every tool name that agents use, the name in rules files, and the kind of tool.

use crate::shell::Dialect;
use crate::words::{Words, listed};

/// The kind of a tool, as far as matching its arguments needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Runs a shell text.
    Shell,
    /// Reads one file.
    Read,
    /// Creates or replaces one file.
    Write,
    /// Changes one file.
    Edit,
    /// Lists files by pattern.
    Glob,
    /// Searches files.
    Grep,
    /// Loads a skill by name.
    Skill,
    /// Fetches a URL.
    Fetch,
    /// Asks a person; rules never answer for people.
    Question,
    /// Any other tool, MCP tools included.
    Other,
}

/// The question that a wayland-core engine asks on its own when it waits for a decision.
pub const SUSPENDED: &str = "approval_required";

/// Every name of the known tools; the name in rules files comes first.
const TOOLS: &[(Kind, Words)] = &[
    (
        Kind::Shell,
        "shell_exec Bash bash shell Shell sh run_shell_command execute_command run_command \
         run_terminal_cmd run_in_terminal terminal exec_command exec local_shell",
    ),
    (Kind::Read, "read_file Read read view NotebookRead read_many_files"),
    (Kind::Write, "write_file Write write create create_file write_to_file"),
    (
        Kind::Edit,
        "edit_file Edit edit MultiEdit multi_edit multiedit NotebookEdit replace str_replace \
         replace_in_file search_replace str_replace_editor str_replace_based_edit_tool patch \
         apply_patch",
    ),
    (Kind::Glob, "glob Glob LS list list_directory list_dir"),
    (Kind::Grep, "grep Grep search_file_content grep_search"),
    (Kind::Skill, "skill Skill"),
    (Kind::Fetch, "web_fetch WebFetch webfetch fetch"),
    // These ask and do nothing else; the last is asked by wayland-core's engines on their own.
    (
        Kind::Question,
        "ask_user_question AskUserQuestion ask_user question ask request_user_input \
         approval_required",
    ),
    (Kind::Other, "web_search WebSearch websearch google_web_search"),
    (Kind::Other, "task Task Agent"),
    (Kind::Other, "todo_write TodoWrite todowrite"),
];

/// The shell tools that run bash or zsh: the agent, or every agent, and the tool. All other tools
/// may run a plain `sh`.
const BASH: &[(Option<&str>, &str)] = &[
    (None, "Bash"),
    (None, "bash"),
    // `bash -c`, as the tool's own description says.
    (Some("gemini"), "run_shell_command"),
    (Some("qwen"), "run_shell_command"),
    (Some("molf"), "shell_exec"),
];

/// Returns the shells that may read the text of an agent's tool.
// FAIL-CLOSED: where that is not known, what the shells read differently asks.
#[must_use]
pub fn dialect_of(agent: Option<&str>, tool: &str) -> Dialect {
    let known = BASH.iter().any(|(of, name)| *name == tool && (of.is_none() || *of == agent));
    if known { Dialect::Bash } else { Dialect::Posix }
}

/// Splits the name of a tool that an MCP server offers, `mcp__SERVER__TOOL`, into server and tool.
#[must_use]
pub fn of_server(tool: &str) -> Option<(&str, &str)> {
    let (server, tool) = tool.strip_prefix("mcp__")?.split_once("__")?;
    (!server.is_empty() && !tool.is_empty()).then_some((server, tool))
}

fn entry(tool: &str) -> Option<&'static (Kind, Words)> {
    TOOLS.iter().find(|(_, names)| listed(names, tool))
}

/// Returns the name that rules files use for `tool`; an unknown name is returned unchanged.
#[must_use]
pub fn canonical(tool: &str) -> &str {
    entry(tool).and_then(|(_, names)| names.split(' ').next()).unwrap_or(tool)
}

/// Iterates over every name that a rule may use, for suggestions when a name looks mistyped.
pub fn known_names() -> impl Iterator<Item = &'static str> {
    TOOLS.iter().flat_map(|(_, names)| names.split(' '))
}

/// Returns the kind of `tool`.
#[must_use]
pub fn kind_of(tool: &str) -> Kind {
    entry(tool).map_or(Kind::Other, |(kind, _)| *kind)
}

// Tool names that a grant may contain. Agents and servers choose them, and a name must never be
// read as a pattern, as another tool or as something else that a rules file knows.

/// Length limit; MCP allows 128 characters.
const LONGEST: usize = 128;

/// The prefix of a stored prefix grant; no tool has it.
pub const CATEGORY: &str = "category:";

/// Returns true when a grant may name this tool: ASCII letters, digits and `_`, and behind the
/// first of them also `-`, `.`, `:` and `/`, as agents and MCP servers spell their tools.
///
/// A name that only resembles a known tool (`BASH`, `runInTerminal`) is refused. It may be that
/// tool in a spelling whose calls no rule can inspect.
// SECURITY: no such name has a meaning of its own in a rule (`*`, `?`, `[…]`, `{…}`, `!`,
// `Tool(…)`).
#[must_use]
pub fn may_be_granted(tool: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let plain = tool.starts_with(word)
        && tool.len() <= LONGEST
        && tool.chars().all(|c| word(c) || "-.:/".contains(c));
    plain && !tool.starts_with(CATEGORY) && !resembles_known(tool)
}

/// Returns true when the letters and digits are those of a known tool, but the name is not.
fn resembles_known(tool: &str) -> bool {
    let letters = |name: &str| -> String {
        let letters = name.chars().filter(char::is_ascii_alphanumeric);
        letters.map(|c| c.to_ascii_lowercase()).collect()
    };
    let is_known = known_names().any(|name| name == tool);
    !is_known && known_names().any(|name| letters(name) == letters(tool))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_suspended_engine_asks_is_a_question() {
        assert_eq!(kind_of(SUSPENDED), Kind::Question);
    }

    #[test]
    fn names_in_use_may_be_granted() {
        for name in [
            "shell_exec",
            "Bash",
            "mcp__github__create_issue",
            "mcp:files:write",
            "server/tool.name",
            "google_web_search",
            "ExitPlanMode",
            "_private",
            "9lives",
            "allow",
            "deny",
            "action",
        ] {
            assert!(may_be_granted(name), "{name}");
        }
    }

    #[test]
    fn patterns_blanks_other_scripts_and_look_alikes_may_not() {
        for name in [
            "*",
            "**",
            "shell_*",
            "Bash(*)",
            "Bash()",
            "{shell_exec,x}",
            "a?",
            "[x]",
            "!x",
            "x*",
            "mcp__*",
            "a b",
            " a",
            "a ",
            "a\tb",
            "a\nb",
            "",
            "-x",
            ".x",
            "/x",
            ":x",
            "$schema",
            "a\\b",
            "a\"b",
            "a,b",
            "Ваsh",
            "ｂash",
            "e\u{301}",
            "category:exec",
            "BASH",
            "Shell_Exec",
            "shell-exec",
            "ShellExec",
            "runInTerminal",
            "read.file",
            "askUser",
        ] {
            assert!(!may_be_granted(name), "{name:?}");
        }
        assert!(!may_be_granted(&"x".repeat(129)));
    }
}
