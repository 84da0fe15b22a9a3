//! Where an ask is shown, as a route of the config said when it was asked, and who was not there
//! then. Pure.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Where an ask is shown. It is stored with the ask: a route that changes later moves no card.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoutePlan {
    /// The route behind it, for people to read.
    pub route: String,
    /// Where its cards are, besides the inbox.
    pub targets: Vec<PlannedTarget>,
    /// Where they go instead when a target fails for good: the first that has none yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallback: Vec<PlannedTarget>,
    /// Every other target shows it too, as it is not certain that the route is meant.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub everywhere: bool,
}

/// A target of cards, and its name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PlannedTarget {
    /// Which adapter.
    pub adapter: String,
    /// Where, in the adapter's spelling.
    pub target: String,
    /// Its name in the config, for people to read.
    pub name: String,
}

impl PlannedTarget {
    /// Whether this is the target.
    #[must_use]
    pub fn is(&self, adapter: &str, target: &str) -> bool {
        self.adapter == adapter && self.target == target
    }
}

impl RoutePlan {
    /// Whether the ask is shown at this target.
    #[must_use]
    pub fn shows_at(&self, adapter: &str, target: &str) -> bool {
        self.everywhere || self.targets.iter().any(|it| it.is(adapter, target))
    }

    /// The name of a target, for people to read.
    #[must_use]
    pub fn name_of(&self, adapter: &str, target: &str) -> Option<&str> {
        let mut known = self.targets.iter().chain(&self.fallback);
        known.find(|it| it.is(adapter, target)).map(|it| it.name.as_str())
    }

    /// The first fallback that is none of these targets.
    #[must_use]
    pub fn next(&self, has: impl Fn(&PlannedTarget) -> bool) -> Option<&PlannedTarget> {
        self.fallback.iter().find(|target| !has(target))
    }
}

/// Who is not there at a moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AbsentPeople {
    /// Who is away.
    pub away: BTreeSet<String>,
    /// Who wants quiet.
    pub snoozed: BTreeSet<String>,
}

impl AbsentPeople {
    /// Whether somebody is neither away nor wants quiet.
    #[must_use]
    pub fn lacks(&self, name: &str) -> bool {
        !self.away.contains(name) && !self.snoozed.contains(name)
    }
}
