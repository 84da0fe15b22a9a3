//! The stages that a call may pass without a person.

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

/// What lets a call pass.
pub(super) struct Pass {
    /// The entry, mode or grants.
    pub(super) rule: String,
    /// The same as a sentence.
    pub(super) reason: String,
}

impl Stage<'_> {
    /// Returns what lets the call pass: the first stage that does.
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
        let tool = &call.tool;
        // The list comes before the mode, as in wayland-core.
        let (rule, reason) = if allow_list.contains(tool) {
            (format!("tools.allow_list: {tool}"), format!("The allow list holds {tool}."))
        } else if grants.tools.contains(tool) && !asks_every_time(tool) {
            (format!("always: {tool}"), format!("{tool} is always approved."))
        } else if mode.covers(tool, category, compat) {
            (format!("mode: {mode}"), format!("The mode {mode} allows it."))
        } else if grants.categories.iter().any(|granted| granted == category.word()) {
            let reason = format!("The category {category} is always approved.");
            (format!("category: {category}"), reason)
        } else {
            let rule = format!("always_prefix: {}", self.prefixes()?.join(", "));
            (rule, "Every command begins as one that is always approved.".to_owned())
        };
        Some(Pass { rule, reason })
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
