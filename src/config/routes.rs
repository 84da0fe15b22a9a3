//! `[[routes]]`: where which asks are shown.

use super::answer_rules::known_group;
use super::conditions::{self, texts};
use super::model::ChatAccount;
use super::node::{ConfigNode, ConfigValue};
use super::people::{ConfigEntries, group_name};
use super::section::{Section, nearest, text};
use crate::gate::{
    Routes,
    answer_rules::AskConditions,
    ask::plan::PlannedTarget,
    hours::Hours,
    people::{NamedPerson, People},
    routes::{RouteTarget, TargetRoute},
};
use countersign_port::Target;
use jiff::{
    civil::{Time, Weekday},
    tz::TimeZone,
};
use std::collections::BTreeMap;

const DAYS: [(&str, Weekday); 7] = [
    ("mon", Weekday::Monday),
    ("tue", Weekday::Tuesday),
    ("wed", Weekday::Wednesday),
    ("thu", Weekday::Thursday),
    ("fri", Weekday::Friday),
    ("sat", Weekday::Saturday),
    ("sun", Weekday::Sunday),
];

/// What routes can name.
struct RouteNames<'a> {
    people: &'a People,
    chats: &'a [ChatAccount],
    direct: BTreeMap<String, Vec<PlannedTarget>>,
}

/// Reads the routes, for these people and chats, and notes with each chat whom routes write to.
pub(super) fn read(
    entries: ConfigEntries,
    people: &People,
    chats: &mut [ChatAccount],
    problems: &mut Vec<String>,
) -> Routes {
    problems.extend(same_names(chats));
    let direct = people.named.iter().map(|it| (it.name.clone(), direct(it, chats))).collect();
    let names = RouteNames { people, chats, direct };
    let mut list: Vec<TargetRoute> = Vec::new();
    for (at, (place, table)) in entries.into_iter().enumerate() {
        let mut section = Section::new("[routes]", Some(place.clone()), table, problems);
        let route = route(&mut section, &names, at);
        section.finish();
        let ends = |it: &&TargetRoute| it.when == AskConditions::default() && it.during.is_none();
        match list.iter().find(ends) {
            Some(earlier) => problems.push(format!(
                "{place}: [[routes]] is never reached, because `{}` before it has no condition",
                earlier.name
            )),
            None => list.push(route),
        }
    }
    let direct = names.direct;
    if !list.is_empty() {
        for chat in chats {
            let of_all = direct.values().flatten().filter(|it| it.adapter == chat.name());
            chat.direct = of_all.map(|it| Target(it.target.clone())).collect();
        }
    }
    Routes { list, direct }
}

fn route(section: &mut Section<'_>, names: &RouteNames<'_>, at: usize) -> TargetRoute {
    let name = section.get("name", group_name);
    let when = conditions::read(section);
    let during = hours(section);
    let targets = |node: &ConfigNode| {
        texts(node)?.iter().map(|name| names.target(name)).collect::<Result<Vec<_>, _>>()
    };
    let to = section.need("to", "name the targets, such as [\"inbox\"]", targets);
    let fallback = section.get("fallback", targets);
    TargetRoute {
        name: name.unwrap_or_else(|| format!("route {}", at.saturating_add(1))),
        when,
        during,
        to: to.unwrap_or_default(),
        fallback: fallback.unwrap_or_default(),
    }
}

impl RouteNames<'_> {
    /// The target that a route names.
    fn target(&self, name: &str) -> Result<RouteTarget, String> {
        match name.split_once(':') {
            None if name == "inbox" => Ok(RouteTarget::Inbox),
            None => self.chat(name),
            Some(("person", name)) => self.person(name),
            Some(("group", name)) => self.group(name),
            Some((kind, _)) => Err(format!(
                "names `{kind}:`; a target is \"inbox\", the name of a chat's target, \
                 \"person:NAME\" or \"group:NAME\""
            )),
        }
    }

    fn chat(&self, wanted: &str) -> Result<RouteTarget, String> {
        let named = |chat: &ChatAccount| {
            let found = chat.names.iter().find(|(name, _)| name == wanted)?;
            let (adapter, target) = (chat.name().to_owned(), found.1.0.clone());
            Some(PlannedTarget { adapter, target, name: wanted.to_owned() })
        };
        if let Some(target) = self.chats.iter().find_map(named) {
            return Ok(RouteTarget::Chat(target));
        }
        let names = self.chats.iter().flat_map(|chat| &chat.names);
        let known: Vec<&str> = names.map(|(name, _)| name.as_str()).collect();
        Err(match (nearest(wanted, &known), known.is_empty()) {
            (Some(near), _) => format!("names the target `{wanted}`; did you mean `{near}`?"),
            (None, true) => format!(
                "names the target `{wanted}`, and no target has a `name`: give one to its entry \
                 in `targets`"
            ),
            (None, false) => {
                format!("names the target `{wanted}`; the targets are {}", known.join(", "))
            }
        })
    }

    fn person(&self, name: &str) -> Result<RouteTarget, String> {
        match self.direct.get(name) {
            Some(direct) if !direct.is_empty() => Ok(RouteTarget::Person(name.to_owned())),
            Some(_) => Err(format!("names `{name}`, who is in no chat that is set up")),
            None => {
                let known: Vec<&str> = self.direct.keys().map(String::as_str).collect();
                let near = nearest(name, &known).map(|near| format!("; did you mean `{near}`?"));
                let near = near.unwrap_or_default();
                Err(format!("names `{name}`, who is not in [[people]]{near}"))
            }
        }
    }

    // Members by a role are known to their platform only when they press.
    fn group(&self, name: &str) -> Result<RouteTarget, String> {
        let place = super::node::ConfigPlace::Env(String::new());
        let node = ConfigNode { place, value: ConfigValue::Text(name.to_owned()) };
        let group = known_group(&node, self.people)?;
        let written_to = |name| self.direct.get(name).is_some_and(|direct| !direct.is_empty());
        let anybody = self.people.members(&group).any(written_to);
        match anybody {
            true => Ok(RouteTarget::Group(group)),
            false => Err(format!("names the group `{group}`, of whom nobody is in a chat by name")),
        }
    }
}

/// Where a person is written to: once on each platform.
fn direct(person: &NamedPerson, chats: &[ChatAccount]) -> Vec<PlannedTarget> {
    let on = |chat: &ChatAccount| {
        let id = person.identities.get(chat.name())?.first()?;
        let Target(target) = chat.platform.direct(id)?;
        let (adapter, name) = (chat.name().to_owned(), person.name.clone());
        Some(PlannedTarget { adapter, target, name })
    };
    chats.iter().filter_map(on).collect()
}

fn same_names(chats: &[ChatAccount]) -> Vec<String> {
    let mut seen: Vec<&str> = Vec::new();
    let mut twice = Vec::new();
    for (name, _) in chats.iter().flat_map(|chat| &chat.names) {
        match seen.contains(&name.as_str()) {
            true => twice.push(format!("two targets have the name `{name}`; routes need one each")),
            false => seen.push(name),
        }
    }
    twice
}

/// Reads `time`, `days` and `zone`.
pub(super) fn hours(section: &mut Section<'_>) -> Option<Hours> {
    let time = section.get("time", span);
    let days = section.get("days", days);
    let zone = section.get("zone", zone);
    if time.is_none() && days.is_none() {
        return None;
    }
    let (from, until) = time.unwrap_or((Time::MIN, Time::MIN));
    let Some(zone) = zone else {
        section.problem("has hours without a `zone`, such as \"Europe/Rome\"");
        return None;
    };
    Some(Hours { from, until, days: days.unwrap_or_default(), zone })
}

/// Two times of the day.
fn span(node: &ConfigNode) -> Result<(Time, Time), String> {
    let wanted = || "wants hours such as \"22:00-06:00\"".to_owned();
    let text = text(node)?;
    let (from, until) = text.split_once('-').ok_or_else(wanted)?;
    let read = |text: &str| clock_time(text).ok_or_else(wanted);
    Ok((read(from)?, read(until)?))
}

/// A time of the day, such as `9:00`.
pub(super) fn clock_time(text: &str) -> Option<Time> {
    let (hour, minute) = text.trim().split_once(':')?;
    Time::new(hour.parse().ok()?, minute.parse().ok()?, 0, 0).ok()
}

fn days(node: &ConfigNode) -> Result<Vec<Weekday>, String> {
    let day = |name: &String| {
        let found = DAYS.iter().find(|(day, _)| day == name);
        found.map(|(_, day)| *day).ok_or_else(|| {
            format!("names the day `{name}`; the days are mon, tue, wed, thu, fri, sat, sun")
        })
    };
    texts(node)?.iter().map(day).collect()
}

/// A time zone by its name.
pub(super) fn zone(node: &ConfigNode) -> Result<TimeZone, String> {
    let name = text(node)?;
    TimeZone::get(&name).map_err(|_| {
        format!(
            "names the time zone `{name}`, which this machine does not know; \
                 names are such as \"Europe/Rome\""
        )
    })
}
