//! Claude Code's rule syntax: `Bash(git diff *)`, `Edit(/src/**)`, `mcp__server__tool`.

use crate::facts::tools::{Kind, canonical, kind_of};

/// The rules that one Claude-style string stands for, under our tool names.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Meaning {
    /// Tool and pattern of each rule.
    pub(super) rules: Vec<(String, String)>,
    /// `*` does not cross directories.
    pub(super) segments: bool,
}

/// Reads `Tool(specifier)`; returns `None` when `text` does not have that form.
pub(super) fn call_form(text: &str) -> Option<Meaning> {
    let (tool, rest) = text.split_once('(')?;
    let specifier = rest.strip_suffix(')')?;
    // A tool's name has no blanks, so a shell pattern with parentheses is not taken for this form.
    let named = |c: char| c.is_ascii_alphanumeric() || "_-*:".contains(c);
    if tool.is_empty() || !tool.chars().all(named) {
        return None;
    }
    Some(meaning(tool, specifier.trim()))
}

/// Reads one entry of an `allow`, `ask` or `deny` list: `Tool(specifier)` or a bare tool name.
pub(super) fn entry(text: &str) -> Meaning {
    call_form(text).unwrap_or_else(|| meaning(text, "*"))
}

fn meaning(tool: &str, specifier: &str) -> Meaning {
    let rules = |pairs: Vec<(String, String)>| Meaning { rules: pairs, segments: false };
    let one = |pattern: String| rules(vec![(canonical(tool).to_owned(), pattern)]);
    if specifier.is_empty() || matches!(specifier, "*" | "**") {
        let mut pairs: Vec<_> =
            tools(tool).into_iter().map(|tool| (tool, "*".to_owned())).collect();
        // `mcp__server` alone stands for every tool of that server.
        if tool.starts_with("mcp__") && tool.matches("__").count() == 1 {
            pairs.push((format!("{tool}__*"), "*".to_owned()));
        }
        return rules(pairs);
    }
    match kind_of(tool) {
        Kind::Shell => {
            let name = canonical(tool).to_owned();
            let bare = specifier.strip_suffix(":*").or_else(|| specifier.strip_suffix(" *"));
            match bare.map(str::trim_end) {
                // Claude's prefix rules include the bare command; our `git *` needs a second rule
                // for `git`.
                Some(bare) if !bare.is_empty() && !bare.contains('*') => {
                    rules(vec![(name.clone(), bare.to_owned()), (name, format!("{bare} *"))])
                }
                _ => one(specifier.to_owned()),
            }
        }
        Kind::Read | Kind::Write | Kind::Edit | Kind::Glob | Kind::Grep => {
            let pattern = path(specifier);
            let pairs =
                tools(tool).into_iter().map(|tool| (tool, pattern.clone())).collect::<Vec<_>>();
            Meaning { rules: pairs, segments: true }
        }
        _ => one(specifier.to_owned()),
    }
}

/// Returns the tools of a Claude rule: `Edit` covers every tool that changes files, `Read` every
/// tool that reads.
fn tools(tool: &str) -> Vec<String> {
    let names: &[&str] = match tool {
        "Edit" | "MultiEdit" => &["edit_file", "write_file"],
        "Read" => &["read_file", "glob", "grep"],
        other => &[canonical(other)],
    };
    names.iter().map(|&name| name.to_owned()).collect()
}

/// Translates a path: `//abs` is absolute, `/x` is relative to the project, a bare name matches at
/// any depth.
fn path(specifier: &str) -> String {
    if let Some(absolute) = specifier.strip_prefix("//") {
        return format!("/{absolute}");
    }
    let relative = specifier.strip_prefix("./").or_else(|| specifier.strip_prefix('/'));
    match relative {
        Some(relative) => relative.to_owned(),
        None if specifier.starts_with("~/") || specifier.starts_with("$HOME/") => {
            specifier.to_owned()
        }
        None if !specifier.contains('/') => format!("**/{specifier}"),
        None => specifier.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Meaning, call_form, entry};

    fn rules(meaning: &Meaning) -> Vec<(&str, &str)> {
        meaning.rules.iter().map(|(tool, pattern)| (tool.as_str(), pattern.as_str())).collect()
    }

    #[test]
    fn a_prefix_means_the_bare_command_too() {
        let both = [("shell_exec", "git diff"), ("shell_exec", "git diff *")];
        assert_eq!(rules(&entry("Bash(git diff:*)")), both);
        assert_eq!(rules(&entry("Bash(git diff *)")), both);
        assert_eq!(rules(&entry("Bash(npm test)")), [("shell_exec", "npm test")]);
        assert_eq!(rules(&entry("Bash")), [("shell_exec", "*")]);
    }

    #[test]
    fn paths_are_anchored_as_claude_anchors_them() {
        assert_eq!(rules(&entry("Write(/src/**)")), [("write_file", "src/**")]);
        assert_eq!(rules(&entry("Write(//etc/x)")), [("write_file", "/etc/x")]);
        assert_eq!(rules(&entry("Write(.env)")), [("write_file", "**/.env")]);
        assert_eq!(rules(&entry("Edit(~/x)")), [("edit_file", "~/x"), ("write_file", "~/x")]);
    }

    #[test]
    fn a_server_means_all_of_its_tools() {
        assert_eq!(rules(&entry("mcp__fs")), [("mcp__fs", "*"), ("mcp__fs__*", "*")]);
        assert_eq!(rules(&entry("mcp__fs__read")), [("mcp__fs__read", "*")]);
    }

    #[test]
    fn plain_tool_names_are_not_of_that_form() {
        assert_eq!(call_form("shell_exec"), None);
        assert_eq!(call_form("git commit (x)"), None);
    }
}
