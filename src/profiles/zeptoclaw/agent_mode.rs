//! Agent modes, which limit an agent before its approval gate is consulted.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The limits of an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentMode {
    /// Reads and remembers.
    Observer,
    /// Does most things; shell, hardware and destructive tools need approval.
    Assistant,
    /// Does everything that the gate lets through.
    #[default]
    Autonomous,
}

/// The kind of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ToolCategory {
    /// Reads files.
    FilesystemRead,
    /// Writes files.
    FilesystemWrite,
    /// Reads from the network.
    NetworkRead,
    /// Changes something over the network.
    NetworkWrite,
    /// Runs commands.
    Shell,
    /// Drives devices.
    Hardware,
    /// Remembers and recalls.
    Memory,
    /// Sends messages to people.
    Messaging,
    /// Destroys.
    Destructive,
}

/// A mode's permission for a category.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CategoryPermission {
    /// The gate decides.
    Allowed,
    /// The gate must ask; a tool that it does not cover is blocked.
    RequiresApproval,
    /// Nobody is asked.
    Blocked,
}

/// The permissions of a mode by category.
#[derive(Clone, Copy, Debug)]
pub struct ModePolicy {
    mode: AgentMode,
}

impl ModePolicy {
    /// Creates the policy of a mode.
    #[must_use]
    pub fn new(mode: AgentMode) -> Self {
        Self { mode }
    }

    /// Returns the mode.
    #[must_use]
    pub fn mode(&self) -> AgentMode {
        self.mode
    }

    /// Returns the mode's permission for a category.
    #[must_use]
    pub fn check(&self, category: ToolCategory) -> CategoryPermission {
        use ToolCategory::{
            Destructive, FilesystemRead, FilesystemWrite, Hardware, Memory, Messaging, NetworkRead,
            NetworkWrite, Shell,
        };
        match (self.mode, category) {
            (AgentMode::Autonomous, _) => CategoryPermission::Allowed,
            (_, FilesystemRead | NetworkRead | Memory) => CategoryPermission::Allowed,
            (AgentMode::Assistant, FilesystemWrite | NetworkWrite | Messaging) => {
                CategoryPermission::Allowed
            }
            (AgentMode::Assistant, Shell | Hardware | Destructive) => {
                CategoryPermission::RequiresApproval
            }
            (AgentMode::Observer, _) => CategoryPermission::Blocked,
        }
    }
}

impl ToolCategory {
    /// All categories.
    pub const ALL: [Self; 9] = [
        Self::FilesystemRead,
        Self::FilesystemWrite,
        Self::NetworkRead,
        Self::NetworkWrite,
        Self::Shell,
        Self::Hardware,
        Self::Memory,
        Self::Messaging,
        Self::Destructive,
    ];

    /// Returns the category of one of the system's own tools; for any other, the most closely
    /// watched one.
    #[must_use]
    pub fn of_tool(tool: &str) -> Self {
        match tool {
            "read_file" | "list_dir" => Self::FilesystemRead,
            "write_file" | "edit_file" => Self::FilesystemWrite,
            "web_search" | "web_fetch" => Self::NetworkRead,
            "http_request" => Self::NetworkWrite,
            "message" => Self::Messaging,
            _ => Self::Shell,
        }
    }
}

impl FromStr for AgentMode {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word.to_lowercase().as_str() {
            "observer" => Ok(Self::Observer),
            "assistant" => Ok(Self::Assistant),
            "autonomous" => Ok(Self::Autonomous),
            _ => Err(format!(
                "there is no agent mode {word:?}; the modes are observer, assistant and autonomous"
            )),
        }
    }
}

impl fmt::Display for AgentMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Observer => "observer",
            Self::Assistant => "assistant",
            Self::Autonomous => "autonomous",
        })
    }
}

impl FromStr for ToolCategory {
    type Err = String;

    /// Reads `FilesystemRead` as well as `filesystem_read`.
    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let plain = word.replace('_', "").to_lowercase();
        let found = Self::ALL.into_iter().find(|one| one.to_string().to_lowercase() == plain);
        found.ok_or_else(|| {
            let all: Vec<String> = Self::ALL.iter().map(Self::to_string).collect();
            format!("there is no tool category {word:?}; the categories are {}", all.join(", "))
        })
    }
}

impl fmt::Display for ToolCategory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
