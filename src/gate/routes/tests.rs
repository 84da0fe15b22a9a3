#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
use super::{
    super::{ask::call::Call, people::tests::named},
    *,
};
use countersign_policy::Matcher;
use jiff::{Timestamp, civil::time, tz::TimeZone};
use serde_json::json;

fn planned(name: &str) -> PlannedTarget {
    let (adapter, target) = ("letters".to_owned(), format!("@{name}"));
    PlannedTarget { adapter, target, name: name.to_owned() }
}

fn route(name: &str, command: &str, to: &[RouteTarget]) -> TargetRoute {
    let command = if command.is_empty() { Vec::new() } else { vec![command.to_owned()] };
    let when = AskConditions { command, ..AskConditions::default() };
    TargetRoute { name: name.to_owned(), when, to: to.to_vec(), ..TargetRoute::default() }
}

fn people() -> People {
    let people = [named("Ana", &[], &["ops"]), named("Ben", &[], &["ops"]), named("Cid", &[], &[])];
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
    let (facts, critical) = (&Matcher::new(&facts, &decided.effects), decided.critical);
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
    let (from, until) = (time(22, 0, 0, 0), time(6, 0, 0, 0));
    let hours = Hours { from, until, days: Vec::new(), zone };
    let ana = RouteTarget::Person("Ana".to_owned());
    let night = TargetRoute { during: Some(hours), ..route("night", "", &[ana]) };
    let routes = routes(&[night, route("day", "", &[RouteTarget::Chat(planned("room"))])]);
    assert_eq!(plan_at(&routes, "ls", "2026-07-01T21:00:00Z"), to("night", &["Ana"]));
    assert_eq!(plan_at(&routes, "ls", "2026-07-01T12:00:00Z"), to("day", &["room"]));
}
