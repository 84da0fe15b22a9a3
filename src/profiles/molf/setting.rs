//! One rule in molf's words.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use countersign_policy::rules::Rule;
use countersign_policy::verdict::Verdict;

/// Calls of `permission` whose pieces match `pattern` get `action`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// The tool's name or a glob over names.
    pub permission: String,
    /// What is matched against the call's pieces.
    pub pattern: String,
    /// What the rule says.
    pub action: RuleAction,
}

/// What a rule says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RuleAction {
    /// One of the three words.
    Known(Verdict),
    /// Any other word: molf keeps it, and it is neither a deny nor an ask.
    Odd(String),
}

impl RuleAction {
    /// The verdict.
    // FAIL-CLOSED: a word that says nothing denies.
    pub fn verdict(&self) -> Verdict {
        match self {
            Self::Known(verdict) => *verdict,
            Self::Odd(_) => Verdict::Deny,
        }
    }

    /// The action that stands in a file.
    pub(super) fn of(value: &Value) -> Self {
        let word = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
        Verdict::from_word(&word).map_or(Self::Odd(word), Self::Known)
    }
}

impl From<&Rule> for Setting {
    fn from(rule: &Rule) -> Self {
        Self {
            permission: rule.tool.clone(),
            pattern: rule.pattern.clone(),
            action: RuleAction::Known(rule.verdict),
        }
    }
}

impl fmt::Display for Setting {
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
