//! Remembered approvals, in the forms that the five systems use.

use crate::wcore::paths::Roots;
use countersign_policy::rules::Rules;

/// Remembered approvals, in the forms that the five systems use.
#[derive(Clone, Debug, Default)]
pub struct Grants {
    /// Every call of a tool of this name.
    pub tools: Vec<String>,
    /// Every call of a tool of this category.
    pub categories: Vec<String>,
    /// Shell texts of which every command starts with one of these.
    pub prefixes: Vec<Prefix>,
    /// Directories outside the workspace.
    pub roots: Roots,
    /// Calls that these rules allow.
    pub rules: Rules,
}

/// A granted command prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// The words, as the grant spells them.
    pub text: String,
    /// The category of tools that it applies to.
    pub category: String,
}
