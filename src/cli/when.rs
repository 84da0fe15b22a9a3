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
            "`{text}` is no time; write 30m, 2h or 7d ago, or a date such as 2026-11-22, also with \
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
            assert!(past(text).unwrap_err().contains("is no time"), "{text}");
        }
    }
}
