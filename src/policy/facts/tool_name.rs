//! Tool names that a grant may contain. Agents and servers choose them, and a name must never be
//! read as a pattern, as another tool or as something else that a rules file knows.

use crate::facts::tools::known_names;

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
