//! Which targets an ask goes to: routes of the config, the first that fits. Pure.

use super::{
    answer_rules::{AskConditions, Fitting, SeenCall, fitting},
    ask::{
        plan::{PlannedTarget, RoutePlan},
        step::{AskStep, StepAction},
    },
    digests::schedule::DigestTime,
    hours::Hours,
    people::People,
    rota::Rota,
};
use countersign_policy::RuleFit;
use countersign_store::AbsentPeople;
use std::collections::BTreeMap;

/// All routes, and where people are written to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Routes {
    /// In their order.
    pub list: Vec<TargetRoute>,
    /// The direct messages of each person, by name.
    pub direct: BTreeMap<String, Vec<PlannedTarget>>,
    /// Who is on duty when.
    pub rotas: Vec<Rota>,
    /// The chats that have a name, by it.
    pub chats: BTreeMap<String, PlannedTarget>,
    /// The digest that is sent by itself.
    pub digest: Option<ScheduledDigest>,
}

/// The digest that is sent by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduledDigest {
    /// When.
    pub time: DigestTime,
    /// Where to.
    pub to: Vec<RouteTarget>,
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
    /// How long after the ask those who may answer are reminded; milliseconds.
    pub remind: Vec<i64>,
    /// When others are asked too.
    pub escalate: Vec<RouteEscalation>,
}

/// Others are asked too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteEscalation {
    /// How long after the ask; milliseconds.
    pub after_ms: i64,
    /// Who: a group may answer from then on, any other target has a card.
    pub to: Vec<RouteTarget>,
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
    /// The direct messages of the person on duty by a rota, quiet hours or not.
    Duty(String),
}

/// The moment of an ask: when it is, and who is not there.
#[derive(Debug, Clone, Copy)]
pub struct Moment<'m> {
    /// Unix milliseconds.
    pub now_ms: i64,
    /// Who is not there.
    pub absent: &'m AbsentPeople,
}

impl Routes {
    /// Where the ask about this call is shown; `None` where every target shows it.
    // FAIL-CLOSED: an ask that a route would show to nobody is shown everywhere. A route that is
    // not certain to be meant adds its targets and takes none away.
    #[must_use]
    pub fn plan(&self, people: &People, seen: SeenCall<'_>, at: Moment<'_>) -> Option<RoutePlan> {
        let Fitting { rules, is_certain } = self.fitting(seen, at.now_ms);
        let plan = self.plan_of(&rules, people, seen.critical, at)?;
        Some(RoutePlan { everywhere: !is_certain, ..plan })
    }

    /// Where these routes lead.
    pub(super) fn plan_of(
        &self,
        routes: &[&TargetRoute],
        people: &People,
        critical: bool,
        at: Moment<'_>,
    ) -> Option<RoutePlan> {
        let all =
            |named: &mut dyn Iterator<Item = &RouteTarget>| self.all(people, named, critical, at);
        let targets = all(&mut routes.iter().flat_map(|route| &route.to));
        let inbox = routes.iter().any(|route| route.to.contains(&RouteTarget::Inbox));
        if targets.is_empty() && !inbox {
            return None;
        }
        let mut fallback = all(&mut routes.iter().flat_map(|route| &route.fallback));
        fallback.retain(|target| !targets.contains(target));
        let names: Vec<&str> = routes.iter().map(|route| route.name.as_str()).collect();
        Some(RoutePlan { route: names.join(" and "), targets, fallback, everywhere: false })
    }

    /// What happens while nobody answers an ask about this call, in the order of time: as the first
    /// route says that may be meant.
    #[must_use]
    pub fn steps(&self, people: &People, seen: SeenCall<'_>, at: Moment<'_>) -> Vec<AskStep> {
        let fitting = self.fitting(seen, at.now_ms);
        let steps = |route: &&TargetRoute| self.steps_of(route, people, seen.critical, at);
        fitting.rules.first().map(steps).unwrap_or_default()
    }

    /// What a route does while nobody answers.
    pub(super) fn steps_of(
        &self,
        route: &TargetRoute,
        people: &People,
        critical: bool,
        at: Moment<'_>,
    ) -> Vec<AskStep> {
        let remind = |after_ms: &i64| AskStep { after_ms: *after_ms, action: StepAction::Remind };
        let groups = |to: &[RouteTarget]| -> Vec<String> {
            let group = |target: &RouteTarget| match target {
                RouteTarget::Group(group) => Some(group.clone()),
                RouteTarget::Inbox
                | RouteTarget::Chat(_)
                | RouteTarget::Person(_)
                | RouteTarget::Duty(_) => None,
            };
            to.iter().filter_map(group).collect()
        };
        let escalate = |it: &RouteEscalation| {
            let targets = self.all(people, &mut it.to.iter(), critical, at);
            let action = StepAction::Escalate { groups: groups(&it.to), targets };
            AskStep { after_ms: it.after_ms, action }
        };
        let steps = route.remind.iter().map(remind).chain(route.escalate.iter().map(escalate));
        let mut steps: Vec<AskStep> = steps.collect();
        steps.sort_by_key(|step| step.after_ms);
        steps
    }

    /// Where a digest that is due at this moment is sent.
    #[must_use]
    pub fn digest_targets(
        &self,
        people: &People,
        digest: &ScheduledDigest,
        at: Moment<'_>,
    ) -> Vec<PlannedTarget> {
        self.all(people, &mut digest.to.iter(), false, at)
    }

    /// Whether a person gets direct messages now: they are there, and it is not their quiet time.
    #[must_use]
    pub fn reaches(
        &self,
        people: &People,
        name: &str,
        critical: bool,
        now_ms: i64,
        absent: &AbsentPeople,
    ) -> bool {
        let quiet = people.named.iter().find(|it| it.name == name);
        let quiet = quiet.and_then(|person| person.quiet.as_ref());
        absent.lacks(name) && !quiet.is_some_and(|quiet| quiet.hold(critical, now_ms))
    }

    /// The routes that may be meant.
    fn fitting(&self, seen: SeenCall<'_>, now_ms: i64) -> Fitting<'_, TargetRoute> {
        fitting(&self.list, |route| match &route.during {
            Some(hours) if !hours.include(now_ms) => RuleFit::No,
            _ => route.when.fit(seen),
        })
    }

    /// The targets that these stand for, each once, in their order.
    fn all(
        &self,
        people: &People,
        named: &mut dyn Iterator<Item = &RouteTarget>,
        critical: bool,
        at: Moment<'_>,
    ) -> Vec<PlannedTarget> {
        let written_to = |name: &str| self.direct.get(name).cloned().unwrap_or_default();
        let reached = |name: &str| self.reaches(people, name, critical, at.now_ms, at.absent);
        let direct = |name: &str| if reached(name) { written_to(name) } else { Vec::new() };
        let on_duty = |rota: &str| {
            let rota = self.rotas.iter().find(|it| it.name == rota)?;
            Some(written_to(rota.on_duty(at.now_ms, &at.absent.away)?))
        };
        let mut all: Vec<PlannedTarget> = Vec::new();
        for target in named {
            let found = match target {
                RouteTarget::Inbox => Vec::new(),
                RouteTarget::Chat(target) => vec![target.clone()],
                RouteTarget::Person(name) => direct(name),
                RouteTarget::Group(group) => people.members(group).flat_map(direct).collect(),
                RouteTarget::Duty(rota) => on_duty(rota).unwrap_or_default(),
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
