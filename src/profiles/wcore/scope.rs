//! The scope of an approval besides its own call.

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
    /// Every later command with this beginning, for tools of the same category.
    AlwaysPrefix {
        /// The beginning of a command, in whole words.
        prefix: String,
    },
    /// Every later access below this directory.
    AlwaysPath {
        /// The directory.
        root: String,
        /// True when files there may be written too.
        #[serde(default)]
        write: bool,
    },
}

/// The grant that an approval stores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RememberedApproval {
    /// Nothing.
    Nothing,
    /// A tool by its name.
    Tool(String),
    /// A command prefix.
    Prefix(Prefix),
    /// A directory.
    Path {
        /// The directory.
        root: String,
        /// True when files there may be written too.
        write: bool,
    },
}

impl ApprovalScope {
    /// Returns what an approval of this scope stores for a call of `tool`.
    // SECURITY: `always` applies to the tool, never to its whole category.
    #[must_use]
    pub fn remembers(self, tool: &str, category: Category) -> RememberedApproval {
        match self {
            Self::Once => RememberedApproval::Nothing,
            // Each recipient is another effect, so wayland-core too turns this Always into Once.
            Self::Always if asks_every_time(tool) => RememberedApproval::Nothing,
            // In an earlier wayland-core this covered the tool's whole category.
            Self::Always => RememberedApproval::Tool(tool.to_owned()),
            Self::AlwaysPrefix { prefix } => RememberedApproval::Prefix(Prefix {
                text: prefix,
                category: category.word().to_owned(),
            }),
            Self::AlwaysPath { root, write } => RememberedApproval::Path { root, write },
        }
    }
}

/// Returns true for tools that no grant by name covers: each message goes to another person, and
/// each question is a different one.
// SECURITY: checked where a grant is made, where one is restored and where one is looked up.
#[must_use]
pub fn asks_every_time(tool: &str) -> bool {
    matches!(tool, "send_message" | "AskUserQuestion")
}
