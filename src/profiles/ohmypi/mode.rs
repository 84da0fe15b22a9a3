//! Approval modes: the tier up to which calls run without asking.

use super::declare::Tier;
use std::fmt;
use std::str::FromStr;

/// The tiers that run without asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApprovalMode {
    /// Only reads.
    AlwaysAsk,
    /// Reads and writes.
    Write,
    /// All of them; a tool's own request for a person no longer counts.
    Yolo,
}

impl ApprovalMode {
    /// Returns the broadest tier that runs without asking.
    pub(super) fn most(self) -> Tier {
        match self {
            Self::AlwaysAsk => Tier::Read,
            Self::Write => Tier::Write,
            Self::Yolo => Tier::Exec,
        }
    }
}

impl FromStr for ApprovalMode {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word {
            "always-ask" => Ok(Self::AlwaysAsk),
            "write" => Ok(Self::Write),
            "yolo" => Ok(Self::Yolo),
            _ => Err(format!(
                "there is no approval mode {word:?}; the modes are always-ask, write and yolo"
            )),
        }
    }
}

impl fmt::Display for ApprovalMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AlwaysAsk => "always-ask",
            Self::Write => "write",
            Self::Yolo => "yolo",
        })
    }
}
