//! wayland-core's own configuration, as far as policy needs it:
//! `{"tools":{"allow_list":["Read"]}}`.

use std::fmt;
use std::str::FromStr;

use countersign_policy::call::Call;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The settings for policy.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WcoreConfig {
    #[serde(default)]
    pub(super) tools: Tools,
}

/// Settings of tools.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tools {
    /// Tools that never ask, in any mode.
    #[serde(default)]
    pub(super) allow_list: Vec<String>,
}

impl WcoreConfig {
    // FAIL-CLOSED: without a configuration the list is empty. wayland-core's own installer writes a
    // list, so what is allowed is in a file that a person can read.
    pub(super) fn read(text: Option<&str>, name: &str) -> Result<Self, String> {
        let Some(text) = text else { return Ok(Self::default()) };
        let says = |mistake: &str| {
            format!("{name}: {mistake}; it looks like {{\"tools\":{{\"allow_list\":[\"Read\"]}}}}")
        };
        // serde would accept a list as an object and assign its elements to keys by position.
        if !text.trim_start().starts_with('{') {
            return Err(says("this is not an object"));
        }
        let config: Self = serde_json::from_str(text).map_err(|error| says(&error.to_string()))?;
        match config.tools.allow_list.iter().find(|tool| tool.trim().is_empty()) {
            Some(_) => Err(format!("{name}: tools.allow_list holds an empty name")),
            None => Ok(config),
        }
    }
}

/// The category of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// Reads information.
    Info,
    /// Changes files.
    Edit,
    /// Runs programs.
    Exec,
    /// Belongs to an MCP server.
    Mcp,
}

impl Category {
    /// Returns the category that a call names, else that of the built-in tool of this name.
    ///
    /// # Errors
    /// A sentence, when the call names an unknown category.
    // FAIL-CLOSED: a tool that nobody knows executes.
    pub fn of(call: &Call) -> Result<Self, String> {
        if let Some(named) = &call.own.category {
            return named.parse();
        }
        Ok(match call.tool.as_str() {
            "Read" | "Glob" | "Grep" | "AskUserQuestion" => Self::Info,
            "Write" | "Edit" => Self::Edit,
            _ => Self::Exec,
        })
    }

    /// Returns the category's name on the wire.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Edit => "edit",
            Self::Exec => "exec",
            Self::Mcp => "mcp",
        }
    }
}

impl FromStr for Category {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Self::Info, Self::Edit, Self::Exec, Self::Mcp]
            .into_iter()
            .find(|category| category.word() == text)
            .ok_or_else(|| {
                format!(
                    "there is no category {text:?}; the categories are info, edit, exec and mcp"
                )
            })
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

// Session modes, their names on the wire, and who may change them.

/// The mode of a session, ordered by strictness: the strictest is the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SessionMode {
    /// Only questions ask.
    Force,
    /// The built-in file tools write without asking.
    AutoEdit,
    /// Every call asks unless a list or a grant covers it.
    Default,
}

/// The source of a change of mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModeChangeSource {
    /// A person at this machine.
    Local,
    /// A peer on the wire, and nobody at this machine allowed such peers to loosen a session.
    Wire,
    /// A peer on the wire, and somebody at this machine allowed that at launch.
    WireOptedIn,
}

/// The result of a change of mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum ModeChange {
    /// The mode is now the requested one.
    Applied(SessionMode),
    /// The operator's minimum is stricter; the mode is that minimum.
    Clamped(SessionMode),
    /// The mode is unchanged.
    Refused,
}

impl SessionMode {
    /// Returns true when the mode alone lets a call run.
    ///
    /// `by_document` follows the protocol's document literally: auto_edit covers everything of the
    /// categories `info` and `edit`. wayland-core itself has since narrowed that to its own two
    /// file tools, because remote tools may claim any category.
    pub(super) fn covers(self, tool: &str, category: Category, by_document: bool) -> bool {
        match self {
            Self::Force => true,
            Self::AutoEdit if by_document => matches!(category, Category::Info | Category::Edit),
            Self::AutoEdit => category == Category::Edit && matches!(tool, "Write" | "Edit"),
            Self::Default => false,
        }
    }

    /// Returns the mode's name on the wire.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::AutoEdit => "auto_edit",
            Self::Force => "force",
        }
    }
}

/// Decides a change to `wanted`, given its source and a minimum that only the operator sets.
// SECURITY: a peer on the wire never loosens a session unless somebody opted in at launch.
pub fn change(
    wanted: SessionMode,
    from: ModeChangeSource,
    floor: Option<SessionMode>,
) -> ModeChange {
    // In wayland-core a peer on the wire could once set force (GHSA-8r7g).
    if from == ModeChangeSource::Wire && wanted != SessionMode::Default {
        return ModeChange::Refused;
    }
    match floor {
        Some(floor) if floor > wanted => ModeChange::Clamped(floor),
        _ => ModeChange::Applied(wanted),
    }
}

// FAIL-CLOSED: an unknown mode is an error, never the default mode and never force.
impl FromStr for SessionMode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "default" => Ok(Self::Default),
            "auto_edit" => Ok(Self::AutoEdit),
            "force" | "yolo" | "dangerously_skip_permissions" | "dangerously-skip-permissions" => {
                Ok(Self::Force)
            }
            _ => Err(format!(
                "there is no mode {text:?}; the modes are default, auto_edit and force"
            )),
        }
    }
}

impl fmt::Display for SessionMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl Serialize for SessionMode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

impl<'de> Deserialize<'de> for SessionMode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use crate::wcore::config::*;

    #[test]
    fn a_list_is_read_and_nothing_configured_lists_nothing() {
        let read = |text| WcoreConfig::read(text, "config.json").unwrap().tools.allow_list;
        assert_eq!(read(Some(r#"{"tools":{"allow_list":["Read","Grep"]}}"#)), ["Read", "Grep"]);
        assert_eq!(read(Some("{}")), Vec::<String>::new());
        assert_eq!(read(None), Vec::<String>::new());
    }

    #[test]
    fn a_mistake_is_named_with_its_file_and_grants_nothing() {
        for text in [
            "",
            "[]",
            "[[[\"Bash\"]]]",
            r#"{"tools":{"allowlist":["Bash"]}}"#,
            r#"{"tool":{}}"#,
            r#"{"tools":{"allow_list":"Bash"}}"#,
            r#"{"tools":{"allow_list":[" "]}}"#,
            r#"{"tools":{},"tools":{"allow_list":["Bash"]}}"#,
        ] {
            let mistake = WcoreConfig::read(Some(text), "config.json").unwrap_err();
            assert!(mistake.starts_with("config.json: "), "{text}: {mistake}");
        }
    }
}
