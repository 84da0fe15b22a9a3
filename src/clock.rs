//! The only module that reads the clock.

use jiff::{Timestamp, tz::TimeZone};

/// Milliseconds since the Unix epoch.
#[must_use]
pub fn now_ms() -> i64 {
    now().as_millisecond()
}

#[cfg(not(test))]
fn now() -> Timestamp {
    Timestamp::now()
}

/// In this crate's unit tests the time of day follows tokio's clock, so that advancing a paused
/// clock advances it too. Everywhere else it is the machine's clock, including its jumps.
#[cfg(test)]
fn now() -> Timestamp {
    static START: std::sync::LazyLock<(std::time::Instant, Timestamp)> =
        std::sync::LazyLock::new(|| (std::time::Instant::now(), Timestamp::now()));
    let (start, at) = *START;
    let now = tokio::time::Instant::now().into_std();
    at + now.saturating_duration_since(start) - start.saturating_duration_since(now)
}

/// A time for people in this machine's zone, such as `12:03 CET`.
#[must_use]
pub fn short(at_ms: i64) -> String {
    zoned(at_ms, "%H:%M %Z")
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

    #[tokio::test(start_paused = true)]
    async fn an_hour_of_a_paused_clock_is_an_hour_of_the_day() {
        let before = now_ms();
        tokio::time::advance(std::time::Duration::from_secs(3_600)).await;
        assert_eq!(now_ms() - before, 3_600_000);
    }

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
    fn spans_read_as_a_person_would_say_them() {
        let said = [1_000, 90_000, 300_000, 7_200_000, 172_800_000].map(span);
        assert_eq!(said, ["1 second", "90 seconds", "5 minutes", "2 hours", "2 days"]);
        let brief = [1_000, 90_000, 300_000, 7_200_000, 172_800_000].map(brief_span);
        assert_eq!(brief, ["1 s", "90 s", "5 min", "2 h", "2 d"]);
    }
}
