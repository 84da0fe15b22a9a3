//! A tool call, as the agent wants to make it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::facts::links::Links;
use crate::facts::tools::{Kind, canonical, kind_of};

/// A tool call that an agent wants to make, exactly as it would be executed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// The tool's name as the agent spells it.
    pub tool: String,
    /// The arguments that would be executed.
    #[serde(default)]
    pub args: Value,
    /// What profiles alone look at.
    #[serde(flatten)]
    pub own: ProfileFacts,
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
    /// The mode that the agent itself is in, in its own words (`plan`); see [`crate::agent_mode`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_mode: Option<String>,
    /// Where the paths in `args` really lead (symbolic links followed), when the caller looked.
    /// Deny and ask rules match these too; this crate does no I/O and cannot look itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resolved: Vec<String>,
    /// Where all that the call may turn into a path leads, when the caller looked (see
    /// [`crate::sights()`]).
    #[serde(skip)]
    pub links: Links,
}

/// What a call says for profiles alone, in the words of their systems.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProfileFacts {
    /// The tool's category in the agent's own words, if it names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// The tool's tier in the agent's own words, if it names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<String>,
    /// The tool's own wish to be prompted for (`override`).
    #[serde(default, rename = "override", skip_serializing_if = "Option::is_none")]
    pub overrides: Option<Value>,
    /// The tool's own policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Value>,
    /// The name that the user's policy for this call stands under, where it is not the tool's own.
    #[serde(default, rename = "policyKey", skip_serializing_if = "Option::is_none")]
    pub policy_key: Option<String>,
    /// How far the agent's own host trusts whoever it works for, in its own words; `None` where the
    /// agent works for its owner.
    #[serde(default, deserialize_with = "level", skip_serializing_if = "Option::is_none")]
    pub requester: Option<String>,
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
