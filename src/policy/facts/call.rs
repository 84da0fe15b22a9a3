//! The facts of a call that rules look at: which tool under which names, and which values.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::facts::links::{Links, Sights};
use crate::facts::paths::{self, Directories};
use crate::facts::values::Values;

/// A tool call that an agent wants to make, exactly as it would be executed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// The tool's name as the agent spells it.
    pub tool: String,
    /// The arguments that would be executed.
    #[serde(default)]
    pub args: Value,
    /// The tool's category in the agent's own words, if it names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// The tool's tier in the agent's own words, if it names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<String>,
    /// The tool's own wish to be prompted for (`override`), for profiles that rule on it.
    #[serde(default, rename = "override", skip_serializing_if = "Option::is_none")]
    pub overrides: Option<Value>,
    /// The tool's own policy, for profiles that rule on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Value>,
    /// The name that the user's policy for this call stands under, where it is not the tool's own,
    /// for profiles that rule on it.
    #[serde(default, rename = "policyKey", skip_serializing_if = "Option::is_none")]
    pub policy_key: Option<String>,
    /// Why the agent wants this; shown to people, never matched by rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The directory the call would run in; its workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The home directory of whoever would run the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub home: Option<String>,
    /// The conversation this call belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// How far the agent's own host trusts whoever it works for, in its own words; `None` where the
    /// agent works for its owner. For profiles that rule on it.
    #[serde(default, deserialize_with = "level", skip_serializing_if = "Option::is_none")]
    pub requester: Option<String>,
    /// The mode that the agent itself is in, in its own words (`plan`); see [`crate::agent_mode`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_mode: Option<String>,
    /// Where the paths in `args` really lead (symbolic links followed), when the caller looked.
    /// Deny and ask rules match these too; this crate does no I/O and cannot look itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resolved: Vec<String>,
    /// Where all that the call may turn into a path leads, when the caller looked (see
    /// [`Call::sights`]).
    #[serde(skip)]
    pub links: Links,
}

impl Call {
    /// A call of `tool` with `args` and nothing else known.
    #[must_use]
    pub fn new(tool: impl Into<String>, args: Value) -> Self {
        Self { tool: tool.into(), args, ..Self::default() }
    }

    /// A call of the shell tool with one command text.
    #[must_use]
    pub fn shell(command: impl Into<String>) -> Self {
        Self::new("shell_exec", serde_json::json!({ "command": command.into() }))
    }

    /// What sort of tool this is; an unknown tool is [`Kind::Other`] and counts as executing.
    #[must_use]
    pub fn kind(&self) -> Kind {
        kind_of(&self.tool)
    }

    /// The name under which rules files know this tool (`Bash` is `shell_exec`).
    #[must_use]
    pub fn canonical_tool(&self) -> &str {
        canonical(&self.tool)
    }

    /// The paths that the call names, from the root where `cwd` is known: for a caller that can
    /// look where they lead and fill in `resolved`. Of those beyond what rules look at none.
    #[must_use]
    pub fn paths(&self) -> Vec<String> {
        let dirs = Directories { cwd: self.cwd.as_deref(), home: self.home.as_deref() };
        let values = Values::of(self);
        let (seen, _) = values.in_view();
        let paths = seen.iter().filter(|v| v.is_path);
        paths.map(|v| paths::clean(&v.text, dirs).into_owned()).collect()
    }

    /// Paths and programs that the call may come to: for a caller that can look where they lead and
    /// fill in `links`.
    #[must_use]
    pub fn sights(&self) -> Sights {
        crate::engine::guardrail::sights(self)
    }

    /// Takes what was found about [`Call::sights`].
    pub fn follow(&mut self, links: Links) {
        for path in self.paths() {
            self.resolved.extend(links.places(&path).iter().cloned());
        }
        self.links = links;
    }

    /// The command text of a shell tool; `None` when missing or not a string.
    #[must_use]
    pub fn command(&self) -> Option<&str> {
        ["command", "cmd", "script"]
            .iter()
            .find_map(|key| self.args.get(key))
            .or_else(|| self.args.is_string().then_some(&self.args))
            .and_then(Value::as_str)
    }
}

/// Reads a level of trust: one that is there but unknown (`null`) is no owner's.
///
/// # Errors
/// What is neither a text nor `null`.
pub fn level<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    Ok(Some(Option::deserialize(deserializer)?.unwrap_or_else(|| "unknown".to_owned())))
}

/// What a tool does, as far as matching its arguments goes.
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
    /// Asks a person: rules never answer for people.
    Question,
    /// Any other tool, MCP tools included.
    Other,
}

/// What a wayland-core engine asks by itself when it waits for a decision.
pub const SUSPENDED: &str = "approval_required";

/// Every name that agents give to the tools rules files know, the rules file's name first.
const TOOLS: &[(Kind, &[&str])] = &[
    (
        Kind::Shell,
        &[
            "shell_exec",
            "Bash",
            "bash",
            "shell",
            "Shell",
            "sh",
            "run_shell_command",
            "execute_command",
            "run_command",
            "run_terminal_cmd",
            "run_in_terminal",
            "terminal",
            "exec_command",
            "exec",
            "local_shell",
        ],
    ),
    (Kind::Read, &["read_file", "Read", "read", "view", "NotebookRead", "read_many_files"]),
    (Kind::Write, &["write_file", "Write", "write", "create", "create_file", "write_to_file"]),
    (
        Kind::Edit,
        &[
            "edit_file",
            "Edit",
            "edit",
            "MultiEdit",
            "multi_edit",
            "NotebookEdit",
            "replace",
            "str_replace",
            "str_replace_editor",
            "patch",
            "apply_patch",
        ],
    ),
    (Kind::Glob, &["glob", "Glob", "LS", "list", "list_directory", "list_dir"]),
    (Kind::Grep, &["grep", "Grep", "search_file_content", "grep_search"]),
    (Kind::Skill, &["skill", "Skill"]),
    (Kind::Fetch, &["web_fetch", "WebFetch", "webfetch", "fetch"]),
    // They ask, and do nothing besides; the last is what wayland-core's engines ask by themselves.
    (
        Kind::Question,
        &["ask_user_question", "AskUserQuestion", "ask_user", "question", "ask", SUSPENDED],
    ),
    (Kind::Other, &["web_search", "WebSearch", "websearch", "google_web_search"]),
    (Kind::Other, &["task", "Task", "Agent"]),
    (Kind::Other, &["todo_write", "TodoWrite", "todowrite"]),
];

fn entry(tool: &str) -> Option<&'static (Kind, &'static [&'static str])> {
    TOOLS.iter().find(|(_, names)| names.contains(&tool))
}

/// The name rules files use for `tool`; unknown names stand for themselves.
#[must_use]
pub fn canonical(tool: &str) -> &str {
    entry(tool).and_then(|(_, names)| names.first().copied()).unwrap_or(tool)
}

/// Every name a rule may spell, for suggestions when a name looks like a typing error.
pub fn known_names() -> impl Iterator<Item = &'static str> {
    TOOLS.iter().flat_map(|(_, names)| names.iter().copied())
}

/// What sort of tool `tool` is.
#[must_use]
pub fn kind_of(tool: &str) -> Kind {
    entry(tool).map_or(Kind::Other, |(kind, _)| *kind)
}
