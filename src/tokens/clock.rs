//! The only module that reads the clock.

use jiff::{Timestamp, civil::DateTime, tz::TimeZone};
use std::{
    sync::{OnceLock, PoisonError, RwLock},
    time::{Duration, Instant},
};

/// What the clock of a shared store said at an instant, where this process goes by it.
static SHARED: RwLock<Option<(i64, Instant)>> = RwLock::new(None);
/// A reading that differs by less is as good as the one before: time need not jump for it.
const SAME_MS: i64 = 100;

/// Milliseconds since the Unix epoch: by the clock of the shared store where there is one.
// INVARIANT: daemons that share a store agree on what time it is, so none expires the asks of
// others early, whatever its machine's clock says or does.
#[must_use]
pub fn now_ms() -> i64 {
    shared_ms().unwrap_or_else(machine_ms)
}

/// The same by this machine's clock alone.
#[must_use]
pub fn machine_ms() -> i64 {
    INSTEAD.get().map_or_else(|| Timestamp::now().as_millisecond(), |ms| ms())
}

/// How long it is until then; nothing where that is past.
#[must_use]
pub fn until(at_ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(at_ms.saturating_sub(now_ms())).unwrap_or_default())
}

/// From now on goes by a clock that said this at that instant. Between two readings the monotonic
/// clock counts, so that a jump of the machine's clock changes nothing.
pub fn go_by(at_ms: i64, read: Instant) {
    let mut shared = SHARED.write().unwrap_or_else(PoisonError::into_inner);
    let now = shared.map(since);
    if now.is_none_or(|now| (since((at_ms, read)) - now).abs() >= SAME_MS) {
        *shared = Some((at_ms, read));
    }
}

fn shared_ms() -> Option<i64> {
    SHARED.read().unwrap_or_else(PoisonError::into_inner).map(since)
}

fn since((at_ms, read): (i64, Instant)) -> i64 {
    at_ms.saturating_add(i64::try_from(read.elapsed().as_millis()).unwrap_or(i64::MAX))
}

/// What says the time of day instead of the machine.
static INSTEAD: OnceLock<fn() -> i64> = OnceLock::new();

/// For tests that pause the clock: from now on the machine's clock says this for the whole process.
// A feature for it would make the tests build every room a second time.
pub fn go_by_instead(ms: fn() -> i64) {
    INSTEAD.get_or_init(|| ms);
}

/// A time for people in this machine's zone, such as `12:03 CET`.
#[must_use]
pub fn short(at_ms: i64) -> String {
    zoned(at_ms, "%H:%M %Z")
}

/// This machine's zone at a time: its name as in [`short`], and how far it is ahead of UTC, in
/// minutes.
#[must_use]
pub fn zone(at_ms: i64) -> (String, i32) {
    let at = Timestamp::from_millisecond(at_ms).unwrap_or_default();
    (zoned(at_ms, "%Z"), TimeZone::system().to_offset(at).seconds() / 60)
}

/// A time for programs: RFC 3339 in UTC.
#[must_use]
pub fn rfc3339(at_ms: i64) -> String {
    Timestamp::from_millisecond(at_ms).map(|at| at.to_string()).unwrap_or_default()
}

/// Reads a time of programs; `None` for anything else.
#[must_use]
pub fn from_rfc3339(text: &str) -> Option<i64> {
    text.parse::<Timestamp>().ok().map(Timestamp::as_millisecond)
}

/// A time for people in this machine's zone, such as `2026-11-22 18:03:11`.
#[must_use]
pub fn local(at_ms: i64) -> String {
    zoned(at_ms, "%Y-%m-%d %H:%M:%S")
}

/// A time as people say it at this one: `3 min ago`, `in 2 h`, and the date where it is long ago.
#[must_use]
pub fn relative(at_ms: i64, now_ms: i64) -> String {
    let minutes = (now_ms - at_ms).unsigned_abs() / 60_000;
    let span = match minutes {
        0 if at_ms <= now_ms => return "just now".to_owned(),
        0 => "1 min".to_owned(),
        1..60 => format!("{minutes} min"),
        60..1440 => format!("{} h", minutes / 60),
        1440..10_080 => format!("{} d", minutes / 1440),
        _ => return zoned(at_ms, "%Y-%m-%d"),
    };
    if at_ms <= now_ms { format!("{span} ago") } else { format!("in {span}") }
}

/// Reads a time that a person wrote: a date, or a date and a time, in this machine's zone, or RFC
/// 3339; `None` for anything else.
#[must_use]
pub fn from_local(text: &str) -> Option<i64> {
    let zoned = |at: DateTime| Some(at.to_zoned(TimeZone::system()).ok()?.timestamp());
    let read = text.parse::<DateTime>().ok().filter(|_| !text.ends_with(['Z', 'z']));
    from_rfc3339(text).or_else(|| Some(zoned(read?)?.as_millisecond()))
}

/// A duration for people, such as `5 minutes`.
#[must_use]
pub fn span(ms: i64) -> String {
    let (count, unit) = parts(ms);
    if count == 1 { format!("1 {unit}") } else { format!("{count} {unit}s") }
}

fn parts(ms: i64) -> (i64, &'static str) {
    let seconds = (ms + 500) / 1000;
    match seconds {
        ..120 => (seconds, "second"),
        120..7200 => (seconds / 60, "minute"),
        7200..172_800 => (seconds / 3600, "hour"),
        _ => (seconds / 86_400, "day"),
    }
}

/// A duration for people where room is short, such as `5 min`.
#[must_use]
pub fn brief_span(ms: i64) -> String {
    let (count, unit) = parts(ms);
    let unit = match unit {
        "second" => "s",
        "minute" => "min",
        "hour" => "h",
        _ => "d",
    };
    format!("{count} {unit}")
}

fn zoned(at_ms: i64, format: &str) -> String {
    Timestamp::from_millisecond(at_ms)
        .map(|at| at.to_zoned(TimeZone::system()).strftime(format).to_string())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_programs_reads_back_in_every_zone() {
        let at = 1_763_805_641_120;
        assert_eq!(from_rfc3339(&rfc3339(at)), Some(at));
        assert_eq!(from_rfc3339("2025-11-22T11:00:41.12+01:00"), Some(at));
        for text in ["", "yesterday", "2025-11-22", "2025-11-22T10:00:41"] {
            assert_eq!(from_rfc3339(text), None, "{text}");
        }
    }

    #[test]
    fn a_time_reads_as_people_say_it_at_another() {
        let now = 1_763_805_641_120;
        let minute = 60_000;
        let said = |minutes: i64| relative(now - minutes * minute, now);
        assert_eq!(
            [0, 1, 59, 60, 1439, 1440, 10_079].map(said),
            ["just now", "1 min ago", "59 min ago", "1 h ago", "23 h ago", "1 d ago", "6 d ago"]
        );
        assert_eq!([-1, -90].map(said), ["in 1 min", "in 1 h"]);
        assert_eq!(relative(now + 5, now), "in 1 min");
        assert_eq!(relative(0, now), zoned(0, "%Y-%m-%d"));
    }

    #[test]
    fn a_local_time_reads_back_and_a_date_is_its_midnight() {
        let at = 1_763_805_641_000;
        assert_eq!(from_local(&local(at)), Some(at));
        assert_eq!(from_local("2026-11-22"), from_local("2026-11-22 00:00:00"));
        assert_eq!(from_local("2026-11-22T18:00:00Z"), from_rfc3339("2026-11-22T18:00:00Z"));
        assert_eq!(from_local("22.11.2026"), None);
    }

    #[test]
    fn spans_read_as_a_person_would_say_them() {
        let said = [1_000, 90_000, 300_000, 7_200_000, 172_800_000].map(span);
        assert_eq!(said, ["1 second", "90 seconds", "5 minutes", "2 hours", "2 days"]);
        let brief = [1_000, 90_000, 300_000, 7_200_000, 172_800_000].map(brief_span);
        assert_eq!(brief, ["1 s", "90 s", "5 min", "2 h", "2 d"]);
    }
}
