//! The three verdicts, ordered by strictness.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The decision on a call or a part of it. Parts are combined with `max`: the strictest wins.
// INVARIANT: there is no `Default`; no call gets a verdict without a decision.
// Declaration order is the order of strictness, which `max` relies on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[must_use]
pub enum Verdict {
    /// The call may run without a person's answer.
    Allow,
    /// A person has to answer first.
    Ask,
    /// The call must not run.
    Deny,
}

impl Verdict {
    /// Reads an action word of a rules file; returns `None` for any other word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "allow" => Some(Self::Allow),
            "ask" => Some(Self::Ask),
            "deny" => Some(Self::Deny),
            _ => None,
        }
    }

    /// Returns the action word of a rules file.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::Verdict;

    #[test]
    fn the_strictest_verdict_is_the_greatest() {
        assert_eq!(
            [Verdict::Ask, Verdict::Allow, Verdict::Deny].into_iter().max(),
            Some(Verdict::Deny)
        );
        assert!(Verdict::Allow < Verdict::Ask);
    }

    #[test]
    fn words_read_back_and_nothing_else_is_a_verdict() {
        for verdict in [Verdict::Allow, Verdict::Ask, Verdict::Deny] {
            assert_eq!(Verdict::from_word(verdict.word()), Some(verdict));
        }
        for word in ["alow", "Allow", "", "yes", "true"] {
            assert_eq!(Verdict::from_word(word), None);
        }
    }
}
