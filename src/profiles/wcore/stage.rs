//! The stages that a call may pass without a person.

use std::fmt;

use countersign_policy::{call::Call, tools::Kind};
use serde::{Deserialize, Serialize};

use crate::wcore::{Category, SessionMode, config, prefix};
use crate::{Grants, Prefix};

/// A call on its way through the stages.
pub(super) struct Stage<'a> {
    pub(super) allow_list: &'a [String],
    pub(super) compat: bool,
    pub(super) call: &'a Call,
    pub(super) category: Category,
    pub(super) mode: SessionMode,
    pub(super) grants: &'a Grants,
}

/// The stage that a call passed.
pub(super) enum Pass {
    AllowList(String),
    Tool(String),
    Mode(SessionMode),
    Category(Category),
    Prefix(Vec<String>),
}

impl Stage<'_> {
    /// Returns the first stage that the call passes.
    // INVARIANT: a question passes none, in any mode.
    pub(super) fn pass(&self, critical: bool) -> Option<Pass> {
        let Self { allow_list, compat, call, category, mode, grants } = *self;
        if call.kind() == Kind::Question {
            return None;
        }
        // SECURITY: force is a person's decision about everything; a list or a grant is not.
        if critical && !compat && mode != SessionMode::Force {
            return None;
        }
        let named = |list: &[String]| list.contains(&call.tool);
        // Before the mode, as in wayland-core.
        if named(allow_list) {
            return Some(Pass::AllowList(call.tool.clone()));
        }
        if named(&grants.tools) && !asks_every_time(&call.tool) {
            return Some(Pass::Tool(call.tool.clone()));
        }
        if mode.covers(&call.tool, category, compat) {
            return Some(Pass::Mode(mode));
        }
        if grants.categories.iter().any(|granted| granted == category.word()) {
            return Some(Pass::Category(category));
        }
        self.prefixes().map(Pass::Prefix)
    }

    fn prefixes(&self) -> Option<Vec<String>> {
        let Self { compat, call, category, grants, .. } = *self;
        let prefixes: &[Prefix] = &grants.prefixes;
        let command = call.command()?;
        let strict = || call.kind() == Kind::Shell && prefix::covers(prefixes, category, command);
        let covered = prefix::covers_as_text(prefixes, category, command) && (compat || strict());
        covered.then(|| prefixes.iter().map(|prefix| prefix.text.clone()).collect())
    }
}

impl Pass {
    pub(super) fn reason(&self) -> String {
        match self {
            Self::AllowList(tool) => format!("The allow list holds {tool}."),
            Self::Tool(tool) => format!("{tool} is always approved."),
            Self::Mode(mode) => format!("The mode {mode} allows it."),
            Self::Category(category) => format!("The category {category} is always approved."),
            Self::Prefix(_) => "Every command begins as one that is always approved.".to_owned(),
        }
    }
}

impl fmt::Display for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AllowList(tool) => write!(f, "tools.allow_list: {tool}"),
            Self::Tool(tool) => write!(f, "always: {tool}"),
            Self::Mode(mode) => write!(f, "mode: {mode}"),
            Self::Category(category) => write!(f, "category: {category}"),
            Self::Prefix(prefixes) => write!(f, "always_prefix: {}", prefixes.join(", ")),
        }
    }
}

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
    pub fn remembers(self, tool: &str, category: config::Category) -> RememberedApproval {
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
