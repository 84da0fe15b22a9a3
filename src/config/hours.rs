//! Hours of the day, days of the week and time zones.

use super::conditions::texts;
use super::node::ConfigNode;
use super::section::{Section, text};
use countersign_people::duty::Hours;
use jiff::{
    civil::{Time, Weekday},
    tz::TimeZone,
};

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
    let wanted = || "wants hours such as \"22:00-06:00\"".to_owned();
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
    let wanted = || "wants a time such as \"daily 09:00\" or \"mon 09:00\"".to_owned();
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
