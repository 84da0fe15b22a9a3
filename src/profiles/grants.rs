//! Remembered approvals, in the forms that the five systems keep.

use crate::wcore::paths::Roots;
use countersign_policy::rules::Rules;

/// Remembered approvals, in the forms that the five systems keep.
#[derive(Clone, Debug, Default)]
pub struct Grants {
    /// Every call of a tool of this name.
    pub tools: Vec<String>,
    /// Every call of a tool of this category.
    pub categories: Vec<String>,
    /// Shell texts whose every command begins so.
    pub prefixes: Vec<Prefix>,
    /// Directories beyond the workspace.
    pub roots: Roots,
    /// Calls that these rules allow.
    pub rules: Rules,
}

/// A granted beginning of commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// The words, as the grant spells them.
    pub text: String,
    /// The category of tools that it is for.
    pub category: String,
}
