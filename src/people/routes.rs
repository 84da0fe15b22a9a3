//! Which targets an ask goes to: routes of the config, the first that fits. Pure.

use crate::{
    approvers::People,
    duty::{DigestTime, Hours, Rota},
    rules::{AskConditions, Fitting, SeenCall, fitting},
};
use countersign_domain::{
    deadline::{AskStep, StepAction},
    plan::{AbsentPeople, PlannedTarget, RoutePlan},
};
use countersign_policy::RuleFit;
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

/// Who is on duty by a rota.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DutyTurn {
    /// The rota.
    pub rota: String,
    /// Who; `None` where all are away.
    pub person: Option<String>,
    /// Until when; Unix milliseconds.
    pub until: Option<i64>,
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
    fn plan_of(
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
    fn steps_of(
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

    /// Who is on duty now by each rota.
    #[must_use]
    pub fn on_duty(&self, at: Moment<'_>) -> Vec<DutyTurn> {
        let turn = |rota: &Rota| DutyTurn {
            rota: rota.name.clone(),
            person: rota.on_duty(at.now_ms, &at.absent.away).map(str::to_owned),
            until: rota.next_change(at.now_ms),
        };
        self.rotas.iter().map(turn).collect()
    }

    /// Whether a target or a route has this name.
    #[must_use]
    pub fn knows(&self, name: &str) -> bool {
        self.known().contains(&name)
    }

    /// What a token can be for.
    #[must_use]
    pub fn known(&self) -> Vec<&str> {
        let routes = self.list.iter().filter(|it| !it.to.is_empty()).map(|it| it.name.as_str());
        let chats = self.chats.keys().map(String::as_str);
        std::iter::once("inbox").chain(chats).chain(routes).collect()
    }

    /// Where an ask is shown, and what happens while nobody answers, at this target or by this
    /// route alone.
    #[must_use]
    pub fn only(
        &self,
        name: &str,
        people: &People,
        critical: bool,
        at: Moment<'_>,
    ) -> (Option<RoutePlan>, Vec<AskStep>) {
        let one = |targets| RoutePlan { route: name.to_owned(), targets, ..RoutePlan::default() };
        if let Some(target) = self.chats.get(name) {
            return (Some(one(vec![target.clone()])), Vec::new());
        }
        match self.list.iter().find(|route| route.name == name) {
            Some(route) => (
                self.plan_of(&[route], people, critical, at),
                self.steps_of(route, people, critical, at),
            ),
            None => (Some(one(Vec::new())), Vec::new()),
        }
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
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use crate::approvers::tests::named;
    use countersign_domain::call::Call;
    use countersign_policy::Matcher;
    use jiff::{Timestamp, civil::time, tz::TimeZone};
    use serde_json::json;

    fn planned(name: &str) -> PlannedTarget {
        let adapter = "letters".to_owned();
        let target = format!("@{name}");
        PlannedTarget { adapter, target, name: name.to_owned() }
    }

    fn route(name: &str, command: &str, to: &[RouteTarget]) -> TargetRoute {
        let command = if command.is_empty() { Vec::new() } else { vec![command.to_owned()] };
        let when = AskConditions { command, ..AskConditions::default() };
        TargetRoute { name: name.to_owned(), when, to: to.to_vec(), ..TargetRoute::default() }
    }

    fn people() -> People {
        let people =
            [named("Ana", &[], &["ops"]), named("Ben", &[], &["ops"]), named("Cid", &[], &[])];
        People { named: people.to_vec(), groups: Vec::new() }
    }

    /// Routes to people, of whom Cid cannot be written to.
    fn routes(list: &[TargetRoute]) -> Routes {
        let direct = ["Ana", "Ben"].map(|name| (name.to_owned(), vec![planned(name)]));
        Routes { list: list.to_vec(), direct: direct.into(), ..Routes::default() }
    }

    fn plan_at(routes: &Routes, command: &str, now: &str) -> Option<(String, Vec<String>)> {
        let call = Call::new("claude-code", "one", "Bash", json!({"command": command}));
        let facts = call.for_policy(Some("/home/ana"));
        let decided = countersign_policy::decision::facts(&facts);
        let facts = &Matcher::new(&facts, &decided.effects);
        let critical = decided.critical;
        let seen = SeenCall { call: &call, facts, critical };
        let now = now.parse::<Timestamp>().unwrap().as_millisecond();
        let absent = AbsentPeople::default();
        let plan = routes.plan(&people(), seen, Moment { now_ms: now, absent: &absent })?;
        Some((plan.route, plan.targets.into_iter().map(|target| target.name).collect()))
    }

    fn plan(routes: &Routes, command: &str) -> Option<(String, Vec<String>)> {
        plan_at(routes, command, "2026-07-01T12:00:00Z")
    }

    fn to(route: &str, names: &[&str]) -> Option<(String, Vec<String>)> {
        Some((route.to_owned(), names.iter().map(|&name| name.to_owned()).collect()))
    }

    #[test]
    fn the_first_route_that_certainly_fits_leads_and_one_that_may_fit_leads_too() {
        let room = RouteTarget::Chat(planned("room"));
        let routes = routes(&[
            route("push", "git push *", &[RouteTarget::Group("ops".to_owned())]),
            route("make", "make *", &[room, RouteTarget::Person("Ana".to_owned())]),
        ]);
        assert_eq!(plan(&routes, "git push origin"), to("push", &["Ana", "Ben"]));
        assert_eq!(plan(&routes, "make all"), to("make", &["room", "Ana"]));
        let both = to("push and make", &["Ana", "Ben", "room"]);
        assert_eq!(plan(&routes, "make all && git push origin"), both);
        assert_eq!(plan(&routes, "ls"), None);
    }

    #[test]
    fn a_route_that_is_not_certain_to_be_meant_hides_the_ask_from_nobody() {
        let room = RouteTarget::Chat(planned("room"));
        let routes = routes(&[route("push", "git push *", &[room])]);
        let everywhere = |command: &str| {
            let call = Call::new("claude-code", "one", "Bash", json!({"command": command}));
            let facts = call.for_policy(Some("/home/ana"));
            let seen = SeenCall { call: &call, facts: &Matcher::new(&facts, &[]), critical: false };
            let absent = AbsentPeople::default();
            let plan = routes.plan(&people(), seen, Moment { now_ms: 0, absent: &absent });
            plan.map(|plan| plan.everywhere)
        };
        assert_eq!(everywhere("git push origin"), Some(false));
        for command in ["git push origin; rm x", "env -S 'git push'", "python3 -c 'x'"] {
            assert_eq!(everywhere(command), Some(true), "{command}");
        }
        assert_eq!(everywhere("rm x"), None);
    }

    #[test]
    fn a_route_that_reaches_nobody_leads_nowhere_unless_the_inbox_is_meant() {
        let cid = RouteTarget::Person("Cid".to_owned());
        assert_eq!(plan(&routes(&[route("cid", "", std::slice::from_ref(&cid))]), "ls"), None);
        let quiet = routes(&[route("quiet", "", &[cid, RouteTarget::Inbox])]);
        assert_eq!(plan(&quiet, "ls"), to("quiet", &[]));
    }

    #[test]
    fn a_route_leads_in_its_hours_only() {
        let zone = TimeZone::get("Europe/Rome").unwrap();
        let from = time(22, 0, 0, 0);
        let until = time(6, 0, 0, 0);
        let hours = Hours { from, until, days: Vec::new(), zone };
        let ana = RouteTarget::Person("Ana".to_owned());
        let night = TargetRoute { during: Some(hours), ..route("night", "", &[ana]) };
        let routes = routes(&[night, route("day", "", &[RouteTarget::Chat(planned("room"))])]);
        assert_eq!(plan_at(&routes, "ls", "2026-07-01T21:00:00Z"), to("night", &["Ana"]));
        assert_eq!(plan_at(&routes, "ls", "2026-07-01T12:00:00Z"), to("day", &["room"]));
    }

    fn moment(absent: &AbsentPeople) -> Moment<'_> {
        Moment { now_ms: 0, absent }
    }

    fn escalating() -> TargetRoute {
        let ops = RouteTarget::Group("ops".to_owned());
        let room = RouteTarget::Chat(planned("room"));
        TargetRoute {
            remind: vec![600_000, 60_000],
            escalate: vec![RouteEscalation { after_ms: 300_000, to: vec![ops, room.clone()] }],
            fallback: vec![RouteTarget::Person("Ben".to_owned()), room.clone()],
            ..route("push", "git push *", &[room])
        }
    }

    /// What `escalating` does while nobody answers.
    fn its_steps() -> Vec<AskStep> {
        let targets = ["Ana", "Ben", "room"].map(planned).to_vec();
        let action = StepAction::Escalate { groups: vec!["ops".to_owned()], targets };
        let remind = |after_ms| AskStep { after_ms, action: StepAction::Remind };
        vec![remind(60_000), AskStep { after_ms: 300_000, action }, remind(600_000)]
    }

    #[test]
    fn reminders_and_escalations_come_in_the_order_of_time() {
        let call = Call::new("claude-code", "one", "Bash", json!({"command": "git push origin"}));
        let facts = call.for_policy(Some("/home/ana"));
        let seen = SeenCall { call: &call, facts: &Matcher::new(&facts, &[]), critical: false };
        let absent = AbsentPeople::default();
        let routes = routes(&[route("make", "make *", &[]), escalating()]);
        assert_eq!(routes.steps(&people(), seen, moment(&absent)), its_steps());
    }

    #[test]
    fn a_target_or_a_route_can_be_named_alone() {
        let mut routes = routes(&[escalating(), route("empty", "", &[])]);
        routes.chats = BTreeMap::from([("den".to_owned(), planned("den"))]);
        assert_eq!(routes.known(), ["inbox", "den", "push"]);
        assert_eq!(["den", "push", "inbox"].map(|it| routes.knows(it)), [true; 3]);
        assert_eq!(["empty", "", "Ana"].map(|it| routes.knows(it)), [false; 3]);
        let absent = AbsentPeople::default();
        let only = |name| routes.only(name, &people(), false, moment(&absent));
        let plan = |name: &str, targets: Vec<PlannedTarget>| RoutePlan {
            route: name.to_owned(),
            targets,
            ..RoutePlan::default()
        };
        assert_eq!(only("den"), (Some(plan("den", vec![planned("den")])), Vec::new()));
        assert_eq!(only("inbox"), (Some(plan("inbox", Vec::new())), Vec::new()));
        // What fails is tried elsewhere only where it is not shown already.
        let fallback = vec![planned("Ben")];
        let push = RoutePlan { fallback, ..plan("push", vec![planned("room")]) };
        assert_eq!(only("push"), (Some(push), its_steps()));
    }

    #[test]
    fn who_is_away_or_has_quiet_hours_is_not_written_to() {
        use crate::approvers::{QuietException, QuietHours};
        let from = time(0, 0, 0, 0);
        let until = time(6, 0, 0, 0);
        let hours = Hours { from, until, days: Vec::new(), zone: TimeZone::UTC };
        let mut people = people();
        for person in people.named.iter_mut().filter(|it| it.name == "Ben") {
            person.quiet =
                Some(QuietHours { hours: hours.clone(), except: QuietException::Critical });
        }
        let mut absent = AbsentPeople::default();
        let routes = Routes::default();
        let reached = |absent: &AbsentPeople, critical| {
            ["Ana", "Ben", "Cid"].map(|it| routes.reaches(&people, it, critical, 0, absent))
        };
        assert_eq!(reached(&absent, false), [true, false, true]);
        assert_eq!(reached(&absent, true), [true, true, true]);
        absent.away = ["Ana".to_owned()].into();
        absent.snoozed = ["Cid".to_owned()].into();
        assert_eq!(reached(&absent, true), [false, true, false]);
    }

    #[test]
    fn who_is_on_duty_gets_the_digest_too() {
        let rota = Rota {
            name: "nights".to_owned(),
            people: vec!["Ana".to_owned(), "Ben".to_owned()],
            starts: jiff::civil::date(1969, 12, 29).at(0, 0, 0, 0),
            zone: TimeZone::UTC,
        };
        let week = 604_800_000;
        let until = rota.next_change(0);
        assert!(until.is_some_and(|until| (1..=week).contains(&until)));
        let mut routes = routes(&[]);
        routes.rotas = vec![rota];
        let mut absent = AbsentPeople::default();
        let turn = |person: Option<&str>, until| DutyTurn {
            rota: "nights".to_owned(),
            person: person.map(str::to_owned),
            until,
        };
        assert_eq!(routes.on_duty(moment(&absent)), [turn(Some("Ana"), until)]);
        let time = DigestTime { day: None, at: time(9, 0, 0, 0), zone: TimeZone::UTC };
        let room = RouteTarget::Chat(planned("room"));
        let duty = RouteTarget::Duty("nights".into());
        let digest = ScheduledDigest { time, to: vec![room, duty] };
        let to = |absent: &AbsentPeople| {
            let targets = routes.digest_targets(&people(), &digest, moment(absent));
            targets.into_iter().map(|it| it.name).collect::<Vec<_>>()
        };
        assert_eq!(to(&absent), ["room", "Ana"]);
        absent.away = ["Ana".to_owned()].into();
        assert_eq!(to(&absent), ["room", "Ben"]);
    }
}
