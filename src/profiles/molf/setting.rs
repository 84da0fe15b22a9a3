//! One rule in molf's words.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use countersign_policy::rules::Rule;
use countersign_policy::verdict::Verdict;

/// Calls of `permission` whose pieces match `pattern` get `action`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionSetting {
    /// The tool's name or a glob over names.
    pub permission: String,
    /// The pattern for the call's pieces.
    pub pattern: String,
    /// The action.
    pub action: RuleAction,
}

/// The action of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RuleAction {
    /// One of the three words.
    Known(Verdict),
    /// Any other word. molf keeps it, and it is neither a deny nor an ask.
    Odd(String),
}

impl RuleAction {
    /// Returns the verdict.
    // FAIL-CLOSED: an unknown word denies.
    pub fn verdict(&self) -> Verdict {
        match self {
            Self::Known(verdict) => *verdict,
            Self::Odd(_) => Verdict::Deny,
        }
    }

    /// Reads the action in a file.
    pub(super) fn of(value: &Value) -> Self {
        let word = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
        Verdict::from_word(&word).map_or(Self::Odd(word), Self::Known)
    }
}

impl From<&Rule> for PermissionSetting {
    fn from(rule: &Rule) -> Self {
        Self {
            permission: rule.tool.clone(),
            pattern: rule.pattern.clone(),
            action: RuleAction::Known(rule.verdict),
        }
    }
}

impl fmt::Display for PermissionSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?}: {}", self.permission, self.pattern, self.action)
    }
}

impl fmt::Display for RuleAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(verdict) => verdict.fmt(f),
            Self::Odd(word) => write!(f, "{word:?}"),
        }
    }
}
