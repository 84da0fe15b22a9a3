//! What an approval covers beyond its own call.

use serde::{Deserialize, Serialize};

use super::category::Category;
use crate::Prefix;

/// The scope of an approval, as the wire spells it: `"once"`, `"always"`,
/// `{"always_prefix":{"prefix":"cargo "}}`, `{"always_path":{"root":"/srv/reports"}}`.
// FAIL-CLOSED: any other word is an error, never `once`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalScope {
    /// This call only.
    #[default]
    Once,
    /// Every later call of the tool of this name.
    Always,
    /// Every later command that begins so, of tools of the same category.
    AlwaysPrefix {
        /// How a command begins, in whole words.
        prefix: String,
    },
    /// Every later look below this directory.
    AlwaysPath {
        /// The directory.
        root: String,
        /// Whether files there may be written, too.
        #[serde(default)]
        write: bool,
    },
}

/// What an approval leaves behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RememberedApproval {
    /// Nothing.
    Nothing,
    /// A tool by its name.
    Tool(String),
    /// A beginning of commands.
    Prefix(Prefix),
    /// A directory.
    Path {
        /// The directory.
        root: String,
        /// Whether files there may be written, too.
        write: bool,
    },
}

impl ApprovalScope {
    /// What an approval of this scope leaves behind for a call of `tool`.
    // SECURITY: always is about the tool, never about its whole category.
    #[must_use]
    pub fn remembers(self, tool: &str, category: Category) -> RememberedApproval {
        match self {
            Self::Once => RememberedApproval::Nothing,
            Self::Always if asks_every_time(tool) => RememberedApproval::Nothing,
            Self::Always => RememberedApproval::Tool(tool.to_owned()),
            Self::AlwaysPrefix { prefix } => RememberedApproval::Prefix(Prefix {
                text: prefix,
                category: category.word().to_owned(),
            }),
            Self::AlwaysPath { root, write } => RememberedApproval::Path { root, write },
        }
    }
}

/// Tools that no grant by name ever covers: each message goes to somebody else, and each question
/// is another one.
// SECURITY: checked where a grant is made, where one is restored and where one is looked up.
#[must_use]
pub fn asks_every_time(tool: &str) -> bool {
    matches!(tool, "send_message" | "AskUserQuestion")
}
