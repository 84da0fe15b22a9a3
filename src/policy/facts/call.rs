//! A tool call, as the agent wants to make it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::facts::argument_names::COMMANDS;
use crate::facts::links::Links;
use crate::facts::tools::{Kind, canonical, dialect_of, kind_of};
use crate::shell::{self, Dialect, Scan};

/// A tool call that an agent wants to make, exactly as it would be executed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// The tool's name as the agent spells it.
    pub tool: String,
    /// The arguments that would be executed.
    #[serde(default)]
    pub args: Value,
    /// Facts for profiles only.
    #[serde(flatten)]
    pub own: ProfileFacts,
    /// The agent's reason for the call; shown to people, never matched by rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The directory in which the call would run; its workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The home directory of the user who would run the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub home: Option<String>,
    /// The conversation that the call belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The agent's own mode, in its own words (`plan`); see [`crate::agent_mode`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_mode: Option<String>,
    /// Targets of the paths in `args` with symbolic links followed, when the caller looked them up.
    /// Deny and ask rules match these too. This crate does no I/O and cannot look.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resolved: Vec<String>,
    /// The agent, whose tools may be known to run a certain shell; matched by no rule.
    #[serde(skip)]
    pub agent: Option<String>,
    /// Targets of everything that the call may turn into a path, when the caller looked them up
    /// (see [`crate::lookups()`]).
    #[serde(skip)]
    pub links: Links,
}

/// Facts of a call for profiles only, in the words of their systems.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProfileFacts {
    /// The tool's category in the agent's words, if it names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// The tool's tier in the agent's words, if it names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<String>,
    /// The tool's own request to be prompted for (`override`).
    #[serde(default, rename = "override", skip_serializing_if = "Option::is_none")]
    pub overrides: Option<Value>,
    /// The tool's own policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Value>,
    /// The name under which the user's policy for this call is stored, if it differs from the
    /// tool's.
    #[serde(default, rename = "policyKey", skip_serializing_if = "Option::is_none")]
    pub policy_key: Option<String>,
    /// The level of trust that the agent's host has in the person it works for, in the host's
    /// words. `None` when the agent works for its owner.
    #[serde(default, deserialize_with = "level", skip_serializing_if = "Option::is_none")]
    pub requester: Option<String>,
}

impl Call {
    /// Creates a call of `tool` with `args`; everything else is unknown.
    #[must_use]
    pub fn new(tool: impl Into<String>, args: Value) -> Self {
        Self { tool: tool.into(), args, ..Self::default() }
    }

    /// Creates a call of a shell tool with one command text; the shell is not known.
    #[must_use]
    pub fn shell(command: impl Into<String>) -> Self {
        Self::new("shell_exec", serde_json::json!({ "command": command.into() }))
    }

    /// Returns the kind of tool. An unknown tool is [`Kind::Other`] and counts as executing.
    #[must_use]
    pub fn kind(&self) -> Kind {
        kind_of(&self.tool)
    }

    /// Returns the name that rules files use for this tool (`Bash` is `shell_exec`).
    #[must_use]
    pub fn canonical_tool(&self) -> &str {
        canonical(&self.tool)
    }

    /// Returns the shells that may read the command text.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        dialect_of(self.agent.as_deref(), &self.tool)
    }

    /// Scans the command text of a shell tool as the shells read it that may run it.
    #[must_use]
    pub fn scan(&self) -> Option<(&str, Scan<'_>)> {
        match (self.kind(), self.command()) {
            (Kind::Shell, Some(text)) => Some((text, shell::scan_as(text, self.dialect()))),
            _ => None,
        }
    }

    /// Returns the command text of a shell tool; `None` when it is missing or not a string.
    #[must_use]
    pub fn command(&self) -> Option<&str> {
        // The names that agents use for it; `arguments::odd` refuses a call with two of them.
        COMMANDS
            .iter()
            .find_map(|key| self.args.get(key))
            .or_else(|| self.args.is_string().then_some(&self.args))
            .and_then(Value::as_str)
    }
}

/// Reads a level of trust. A level that is present but unknown (`null`) is not the owner's.
///
/// # Errors
/// When the value is neither a text nor `null`.
pub fn level<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    Ok(Some(Option::deserialize(deserializer)?.unwrap_or_else(|| "unknown".to_owned())))
}
