//! Times on the command line: as people give them, and as they read them.

use countersign_tokens::clock;
use std::io::{self, IsTerminal};

/// A time of the API for people: relative on a terminal, this machine's local time elsewhere.
pub(super) fn when(rfc3339: &str) -> String {
    match clock::from_rfc3339(rfc3339) {
        Some(at) if io::stdout().is_terminal() => clock::relative(at, clock::now_ms()),
        Some(at) => clock::local(at),
        None => rfc3339.to_owned(),
    }
}

/// The same in full, with how long ago it is.
pub(super) fn when_in_full(rfc3339: &str) -> String {
    match clock::from_rfc3339(rfc3339) {
        Some(at) => format!("{} ({})", clock::local(at), clock::relative(at, clock::now_ms())),
        None => rfc3339.to_owned(),
    }
}

/// Reads a time in the past as RFC 3339: `2h` ago, a local `2026-11-22` or `2026-11-22 18:00`, or
/// RFC 3339.
pub(super) fn past(text: &str) -> Result<String, String> {
    let at = match ago(text) {
        Some(ms) => clock::now_ms().checked_sub(ms),
        None => clock::from_local(text),
    };
    at.map(clock::rfc3339).ok_or_else(|| {
        format!(
            "invalid time `{text}`; use 30m, 2h or 7d ago, or a date such as 2026-11-22, also with \
             a time: 2026-11-22 18:00"
        )
    })
}

fn ago(text: &str) -> Option<i64> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let unit = match unit {
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        "w" => 604_800_000,
        _ => return None,
    };
    number.parse::<u32>().ok().map(|number| i64::from(number) * unit)
}

/// Parses a duration on a command line, in seconds.
pub(super) fn seconds(text: &str) -> Result<u64, String> {
    let plain = text.parse::<u64>().ok();
    let spelled = || {
        let length = text.parse::<jiff::SignedDuration>().ok()?;
        u64::try_from(length.as_secs()).ok()
    };
    plain
        .or_else(spelled)
        .filter(|seconds| *seconds > 0)
        .ok_or_else(|| format!("invalid duration `{text}`; use 90s, 10m or 2h"))
}

/// A length of time in seconds, also in days.
pub(super) fn days(text: &str) -> Result<u64, String> {
    let days = text.strip_suffix('d').and_then(|days| days.parse::<u64>().ok());
    match days.and_then(|days| days.checked_mul(86_400)).filter(|seconds| *seconds > 0) {
        Some(seconds) => Ok(seconds),
        None => seconds(text).map_err(|_| format!("invalid duration `{text}`; use 12h or 30d")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;

    #[test]
    fn a_time_in_the_past_is_a_span_a_date_or_a_time_of_programs() {
        let now = clock::now_ms();
        for (text, ms) in
            [("90s", 90_000), ("30m", 1_800_000), ("2h", 7_200_000), ("7d", 604_800_000)]
        {
            let at = clock::from_rfc3339(&past(text).unwrap()).unwrap();
            assert!((now - ms..=now - ms + 5_000).contains(&at), "{text}");
        }
        assert_eq!(past("2026-11-22T18:00:00Z").unwrap(), "2026-11-22T18:00:00Z");
        for date in ["2026-11-22", "2026-11-22 18:00", "2026-11-22 18:00:30"] {
            assert!(past(date).is_ok(), "{date}");
        }
        for text in ["", "h", "two hours", "-2h", "2y", "22.11.2026", "99999999999h", "é"] {
            assert!(past(text).unwrap_err().contains("invalid time"), "{text}");
        }
    }

    #[test]
    fn times_are_read_as_people_write_them() {
        let read = ["90", "90s", "10m", "1h 30m"].map(seconds);
        assert_eq!(read, [Ok(90), Ok(90), Ok(600), Ok(5400)]);
        let refused = "invalid duration `soon`; use 90s, 10m or 2h";
        assert_eq!(seconds("soon"), Err(refused.into()));
        assert!(seconds("0").is_err() && seconds("-5m").is_err());
    }

    #[test]
    fn a_token_ends_after_days_or_hours() {
        assert_eq!(["30d", "12h", "90"].map(days), [Ok(2_592_000), Ok(43_200), Ok(90)]);
        let refused = "invalid duration `soon`; use 12h or 30d".to_owned();
        assert_eq!(
            [days("soon"), days("0d")],
            [Err(refused.clone()), Err(refused.replace("soon", "0d"))]
        );
    }
}
