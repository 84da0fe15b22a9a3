//! What a call is to be instead, as data. Pure.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a person wants a call to be instead; nothing runs because of that alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposedEdit {
    /// Which edit of the ask it is, from 1: a button of an earlier one does nothing.
    pub nth: usize,
    /// All arguments as they would be.
    pub args: Value,
    /// SHA-256 of the call with them.
    pub digest: String,
    /// Who proposed it, for people to read.
    pub by: String,
    /// What the changed call touches, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<String>,
    /// Whether the changed call is on the list of critical ones.
    #[serde(default)]
    pub critical: bool,
    /// Whether somebody has taken the first of the two steps that a critical one takes.
    #[serde(default)]
    pub reviewed: bool,
}

/// The arguments that were approved instead of those that were submitted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpdatedInput {
    /// All of them.
    pub args: Value,
    /// SHA-256 of the call with them.
    pub digest: String,
}
