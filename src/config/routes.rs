//! `[[routes]]`, `[[rotas]]` and `[digest]`: where which asks are shown, who is on duty in which
//! week, and the hours, days and time zones of both.

use super::{
    ApproverSettings, ChatAccount,
    answer_rules::{conditions, known_group, texts},
    people::group_name,
    section::{
        ConfigEntries, ConfigNode, ConfigPlace, ConfigTable, ConfigValue, Section, is_new,
        is_reached, list, nearest, text, unknown,
    },
    values::length,
};
use countersign_gate::ask::plan::PlannedTarget;
use countersign_people::{
    approvers::{NamedPerson, People},
    duty::{DigestTime, Hours, Rota},
    routes::{RouteEscalation, RouteTarget, Routes, ScheduledDigest, TargetRoute},
    rules::AskConditions,
};
use countersign_port::Target;
use jiff::{
    civil::{DateTime, Time, Weekday},
    tz::TimeZone,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

/// What routes can name.
struct RouteNames<'a> {
    people: &'a People,
    chats: &'a [ChatAccount],
    direct: BTreeMap<String, Vec<PlannedTarget>>,
    rotas: &'a [Rota],
}

/// What the config says of routes.
pub(super) struct RouteEntries {
    /// `[[routes]]`.
    pub routes: ConfigEntries,
    /// `[[rotas]]`.
    pub rotas: ConfigEntries,
    /// `[digest]`.
    pub digest: Option<(ConfigPlace, ConfigTable)>,
}

/// Reads the routes, for these people and chats, and notes with each chat whom routes write to.
pub(super) fn read(
    entries: RouteEntries,
    approvers: &ApproverSettings,
    chats: &mut [ChatAccount],
    problems: &mut Vec<String>,
) -> Routes {
    let people = &approvers.people;
    problems.extend(same_names(chats));
    let direct = people.named.iter().map(|it| (it.name.clone(), direct(it, chats))).collect();
    let rotas = read_rotas(entries.rotas, people, problems);
    let names = RouteNames { people, chats, direct, rotas: &rotas };
    let list = entries.routes.read(problems, |section, earlier: &[TargetRoute]| {
        let route = route(section, &names, earlier.len());
        let inbox_alone = !route.to.is_empty()
            && route.to.iter().all(|it| *it == RouteTarget::Inbox)
            && route.escalate.is_empty();
        if inbox_alone && !approvers.answer_in_inbox() {
            section.problem(
                "shows requests in the inbox alone, where nobody may answer: set `[approvers] \
                 inbox = true`, or give people names in [[people]]",
            );
        }
        let ends = |it: &&TargetRoute| it.when == AskConditions::default() && it.during.is_none();
        let last = earlier.iter().find(ends);
        is_reached(section, last.map(|it| it.name.as_str())).then_some(route)
    });
    let named = names.chats.iter().flat_map(|chat| chat.names.iter().map(|it| planned(chat, it)));
    let named = named.map(|target| (target.name.clone(), target)).collect();
    let digest = entries.digest.and_then(|(place, table)| {
        let mut section = Section::new("digest", Some(place), table, problems);
        let digest = digest(&mut section, &names);
        section.finish();
        digest
    });
    let direct = names.direct;
    let digested = digest.iter().flat_map(|digest| &digest.to);
    let written_to = written_to(&list, digested, people, &rotas);
    for chat in chats {
        let of_them = direct.iter().filter(|(name, _)| written_to.contains(name.as_str()));
        let here = of_them.flat_map(|(_, it)| it).filter(|it| it.adapter == chat.name());
        chat.direct = here.map(|it| Target(it.target.clone())).collect();
    }
    Routes { list, direct, rotas, chats: named, digest }
}

fn route(section: &mut Section<'_>, names: &RouteNames<'_>, at: usize) -> TargetRoute {
    let name = section.get("name", group_name);
    let when = conditions(section);
    let during = hours(section);
    let targets = |node: &ConfigNode| {
        texts(node)?.iter().map(|name| names.target(name)).collect::<Result<Vec<_>, _>>()
    };
    let to = section.get("to", targets);
    let fallback = section.get("fallback", targets);
    let remind = section.get("remind", times).unwrap_or_default();
    let escalate = section.tables("escalate", "routes.escalate", |entry| {
        let after = entry.need("after", "set when, such as \"5m\"", length);
        let to = entry.need("to", "name the group or the targets", targets);
        Some(RouteEscalation { after_ms: ms(after?), to: to? })
    });
    if !["to", "remind", "escalate"].iter().any(|key| section.has(key)) {
        section.problem("says nothing; give `to`, `remind` or `escalate`");
    }
    if !section.has("to") && fallback.is_some() {
        section.problem("has a `fallback` without `to`");
    }
    TargetRoute {
        name: name.unwrap_or_else(|| format!("route {}", at.saturating_add(1))),
        when,
        during,
        to: to.unwrap_or_default(),
        fallback: fallback.unwrap_or_default(),
        remind,
        escalate,
    }
}

/// The digest that is sent by itself.
fn digest(section: &mut Section<'_>, names: &RouteNames<'_>) -> Option<ScheduledDigest> {
    let when = section.need("when", "set \"daily 09:00\" or a day as in \"mon 09:00\"", day_time);
    let zone = section.need("zone", "name it, such as \"Europe/Rome\"", zone);
    let to = section.need("to", "name targets as in a route", |node| {
        let to =
            texts(node)?.iter().map(|name| names.target(name)).collect::<Result<Vec<_>, _>>()?;
        if to.contains(&RouteTarget::Inbox) || to.is_empty() {
            Err("must name targets in chats; `countersign digest` prints it".to_owned())
        } else {
            Ok(to)
        }
    });
    let ((day, at), zone) = (when?, zone?);
    Some(ScheduledDigest { time: DigestTime { day, at, zone }, to: to? })
}

/// One length of time or a list of them; milliseconds.
fn times(node: &ConfigNode) -> Result<Vec<i64>, String> {
    match node.value() {
        ConfigValue::List(list) => list.iter().map(|it| length(it).map(ms)).collect(),
        _ => Ok(vec![ms(length(node)?)]),
    }
}

fn ms(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

impl RouteNames<'_> {
    /// The target that a route names.
    fn target(&self, name: &str) -> Result<RouteTarget, String> {
        match name.split_once(':') {
            None if name == "inbox" => Ok(RouteTarget::Inbox),
            None => self.chat(name),
            Some(("person", name)) => self.person(name),
            Some(("group", name)) => self.group(name),
            Some(("duty", name)) => self.duty(name),
            Some((kind, _)) => Err(format!(
                "names `{kind}:`; a target is \"inbox\", the name of a chat's target, \
                 \"person:NAME\", \"group:NAME\" or \"duty:NAME\""
            )),
        }
    }

    fn chat(&self, wanted: &str) -> Result<RouteTarget, String> {
        let named = |chat: &ChatAccount| {
            Some(planned(chat, chat.names.iter().find(|(name, _)| name == wanted)?))
        };
        if let Some(target) = self.chats.iter().find_map(named) {
            return Ok(RouteTarget::Chat(target));
        }
        let names = self.chats.iter().flat_map(|chat| &chat.names);
        let known: Vec<&str> = names.map(|(name, _)| name.as_str()).collect();
        let none = "no target has a `name`: give one to its entry in `targets`";
        Err(unknown("target", wanted, &known, none))
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

    fn duty(&self, name: &str) -> Result<RouteTarget, String> {
        let known: Vec<&str> = self.rotas.iter().map(|rota| rota.name.as_str()).collect();
        match (known.contains(&name), nearest(name, &known)) {
            (true, _) => Ok(RouteTarget::Duty(name.to_owned())),
            (false, Some(near)) => Err(format!("names the rota `{name}`; did you mean `{near}`?")),
            (false, None) => Err(format!("names the rota `{name}`, which is not in [[rotas]]")),
        }
    }

    // Members by a role are known to their platform only when they press.
    fn group(&self, name: &str) -> Result<RouteTarget, String> {
        let place = ConfigPlace::Env(String::new());
        let node = ConfigNode { place, value: ConfigValue::Text(name.to_owned()) };
        let group = known_group(&node, self.people)?;
        let written_to = |name| self.direct.get(name).is_some_and(|direct| !direct.is_empty());
        let anybody = self.people.members(&group).any(written_to);
        if anybody {
            Ok(RouteTarget::Group(group))
        } else {
            Err(format!("names the group `{group}`, of whom nobody is in a chat by name"))
        }
    }
}

fn planned(chat: &ChatAccount, (name, target): &(String, Target)) -> PlannedTarget {
    let adapter = chat.name().to_owned();
    let target = target.0.clone();
    PlannedTarget { adapter, target, name: name.clone() }
}

/// Where a person is written to: once on each platform.
fn direct(person: &NamedPerson, chats: &[ChatAccount]) -> Vec<PlannedTarget> {
    let on = |chat: &ChatAccount| {
        let id = person.identities.get(chat.name())?.first()?;
        let Target(target) = chat.platform.direct(id)?;
        let adapter = chat.name().to_owned();
        let name = person.name.clone();
        Some(PlannedTarget { adapter, target, name })
    };
    chats.iter().filter_map(on).collect()
}

/// The people whom routes write to, now or at another time.
fn written_to<'a>(
    list: &'a [TargetRoute],
    digested: impl Iterator<Item = &'a RouteTarget>,
    people: &'a People,
    rotas: &'a [Rota],
) -> BTreeSet<&'a str> {
    let escalated = |route: &'a TargetRoute| route.escalate.iter().flat_map(|it| &it.to);
    let all =
        |route: &'a TargetRoute| route.to.iter().chain(&route.fallback).chain(escalated(route));
    let names = |target: &'a RouteTarget| match target {
        RouteTarget::Inbox | RouteTarget::Chat(_) => Vec::new(),
        RouteTarget::Person(name) => vec![name.as_str()],
        RouteTarget::Group(group) => people.members(group).collect(),
        RouteTarget::Duty(name) => {
            let rota = rotas.iter().filter(|rota| rota.name == *name);
            rota.flat_map(|rota| &rota.people).map(String::as_str).collect()
        }
    };
    list.iter().flat_map(all).chain(digested).flat_map(names).collect()
}

fn same_names(chats: &[ChatAccount]) -> Vec<String> {
    let mut seen: Vec<&str> = Vec::new();
    let mut twice = Vec::new();
    for (name, _) in chats.iter().flat_map(|chat| &chat.names) {
        if seen.contains(&name.as_str()) {
            twice.push(format!("two targets have the name `{name}`; routes need one each"))
        } else {
            seen.push(name)
        }
    }
    twice
}

/// Reads the rotas of these people.
fn read_rotas(entries: ConfigEntries, people: &People, problems: &mut Vec<String>) -> Vec<Rota> {
    entries.read(problems, |section, earlier: &[Rota]| {
        let rota = rota(section, people)?;
        let twice = earlier.iter().any(|other| other.name == rota.name);
        is_new(section, &rota.name, twice).then_some(rota)
    })
}

fn rota(section: &mut Section<'_>, people: &People) -> Option<Rota> {
    let name = section.need("name", "routes refer to it as \"duty:NAME\"", group_name);
    let people = section.need("people", "name them in the order of their weeks", |node| {
        let names = list(node)?.iter().map(text).collect::<Result<Vec<_>, _>>()?;
        match names.iter().find(|name| !people.named.iter().any(|it| it.name == **name)) {
            Some(name) => Err(format!("names `{name}`, who is not in [[people]]")),
            None if names.is_empty() => Err("is empty".to_owned()),
            None => Ok(names),
        }
    });
    let starts = section.need("starts", "set when the first week begins", starts);
    let zone = section.need("zone", "name it, such as \"Europe/Rome\"", zone);
    Some(Rota { name: name?, people: people?, starts: starts?, zone: zone? })
}

/// A day and an hour.
fn starts(node: &ConfigNode) -> Result<DateTime, String> {
    let wanted = "must be a day and an hour in quotes, such as \"2026-01-05 09:00\"";
    let text = text(node)?;
    if text.len() < "2026-01-05 09:00".len() {
        return Err(wanted.to_owned());
    }
    text.parse().map_err(|_| wanted.to_owned())
}

const DAYS: [(&str, Weekday); 7] = [
    ("mon", Weekday::Monday),
    ("tue", Weekday::Tuesday),
    ("wed", Weekday::Wednesday),
    ("thu", Weekday::Thursday),
    ("fri", Weekday::Friday),
    ("sat", Weekday::Saturday),
    ("sun", Weekday::Sunday),
];

/// Reads `time`, `days` and `zone`.
pub(super) fn hours(section: &mut Section<'_>) -> Option<Hours> {
    let time = section.get("time", hour_span);
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
pub(super) fn hour_span(node: &ConfigNode) -> Result<(Time, Time), String> {
    let wanted = || "must be hours such as \"22:00-06:00\"".to_owned();
    let text = text(node)?;
    let (from, until) = text.split_once('-').ok_or_else(wanted)?;
    let read = |text: &str| clock_time(text).ok_or_else(wanted);
    Ok((read(from)?, read(until)?))
}

/// A time of the day, such as `9:00`.
fn clock_time(text: &str) -> Option<Time> {
    let (hour, minute) = text.trim().split_once(':')?;
    Time::new(hour.parse().ok()?, minute.parse().ok()?, 0, 0).ok()
}

/// A time of the day, daily or on a day of the week, such as `mon 9:00`.
pub(super) fn day_time(node: &ConfigNode) -> Result<(Option<Weekday>, Time), String> {
    let wanted = || "must be a time such as \"daily 09:00\" or \"mon 09:00\"".to_owned();
    let text = text(node)?;
    let (day, at) = text.split_once(' ').ok_or_else(wanted)?;
    let at = clock_time(at).ok_or_else(wanted)?;
    let known = DAYS.iter().find(|(name, _)| *name == day).map(|(_, day)| *day);
    match (day, known) {
        ("daily", _) => Ok((None, at)),
        (_, Some(day)) => Ok((Some(day), at)),
        (_, None) => Err(wanted()),
    }
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
