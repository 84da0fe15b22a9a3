//! Which targets an ask goes to: routes of the config, the first that fits. Pure.

use super::{
    answer_rules::{AskConditions, RuleFit, SeenCall, fitting},
    ask::plan::{PlannedTarget, RoutePlan},
    hours::Hours,
    people::People,
};
use std::collections::BTreeMap;

/// All routes, and where people are written to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Routes {
    /// In their order.
    pub list: Vec<TargetRoute>,
    /// The direct messages of each person, by name.
    pub direct: BTreeMap<String, Vec<PlannedTarget>>,
}

/// One route.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TargetRoute {
    /// For people to read.
    pub name: String,
    /// What it fits.
    pub when: AskConditions,
    /// The hours in which it does; `None` for always.
    pub during: Option<Hours>,
    /// Where cards go.
    pub to: Vec<RouteTarget>,
    /// Where they go when one of these fails for good.
    pub fallback: Vec<RouteTarget>,
}

/// Where a route leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RouteTarget {
    /// The inbox, which shows every ask anyhow.
    Inbox,
    /// A chat, a channel or a topic.
    Chat(PlannedTarget),
    /// A person's direct messages.
    Person(String),
    /// The direct messages of everybody whom the config puts into a group.
    Group(String),
}

impl Routes {
    /// Where the ask about this call is shown; `None` where every target shows it.
    // FAIL-CLOSED: an ask that a route would show to nobody is shown everywhere.
    #[must_use]
    pub fn plan(&self, people: &People, seen: SeenCall<'_>, now_ms: i64) -> Option<RoutePlan> {
        let fit = |route: &TargetRoute| match &route.during {
            Some(hours) if !hours.include(now_ms) => RuleFit::No,
            _ => route.when.fit(seen),
        };
        let routes = fitting(&self.list, fit);
        let targets = self.all(people, routes.iter().flat_map(|route| &route.to));
        let inbox = routes.iter().any(|route| route.to.contains(&RouteTarget::Inbox));
        if targets.is_empty() && !inbox {
            return None;
        }
        let mut fallback = self.all(people, routes.iter().flat_map(|route| &route.fallback));
        fallback.retain(|target| !targets.contains(target));
        let names: Vec<&str> = routes.iter().map(|route| route.name.as_str()).collect();
        Some(RoutePlan { route: names.join(" and "), targets, fallback })
    }

    /// The targets that these stand for, each once, in their order.
    fn all<'r>(
        &self,
        people: &People,
        named: impl Iterator<Item = &'r RouteTarget>,
    ) -> Vec<PlannedTarget> {
        let direct = |name: &str| self.direct.get(name).cloned().unwrap_or_default();
        let mut all: Vec<PlannedTarget> = Vec::new();
        for target in named {
            let found = match target {
                RouteTarget::Inbox => Vec::new(),
                RouteTarget::Chat(target) => vec![target.clone()],
                RouteTarget::Person(name) => direct(name),
                RouteTarget::Group(group) => people.members(group).flat_map(direct).collect(),
            };
            for target in found {
                if !all.iter().any(|known| known.is(&target.adapter, &target.target)) {
                    all.push(target);
                }
            }
        }
        all
    }
}

#[cfg(test)]
mod tests;
