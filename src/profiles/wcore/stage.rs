//! The stages that a call may pass without a person.

use std::fmt;

use super::{Category, SessionMode, asks_every_time, literal, prefix};
use crate::{Grants, Prefix};
use countersign_policy::call::Call;
use countersign_policy::tools::Kind;

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
        let covered = literal::covers(prefixes, category, command) && (compat || strict());
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
