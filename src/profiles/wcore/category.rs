//! The kind of tool that a call uses, in wayland-core's four words.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use countersign_policy::call::Call;

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
