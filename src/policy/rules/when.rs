//! Points in time, as rules files write them.

/// Parses `2026-12-01`, `2026-12-01T08:30:00Z`, or a time with an offset, to milliseconds since
/// 1970.
pub(super) fn millis(text: &str) -> Option<i64> {
    let (date, time) = match text.split_once(['T', ' ']) {
        Some((date, time)) => (date, time),
        None => (text, "00:00:00Z"),
    };
    let mut date = date.splitn(3, '-').map(number);
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let (clock, offset) = match time.find(['Z', 'z', '+', '-']) {
        Some(at) => (time.get(..at)?, time.get(at..)?),
        None => return None,
    };
    let mut clock = clock.splitn(3, ':');
    let (hour, minute) = (number(clock.next()?)?, number(clock.next()?)?);
    // A leap second is accepted; fractions of a second are cut off.
    let second =
        clock.next().map_or(Some(0), |s| number(s.split('.').next().unwrap_or_default()))?;
    if !(1970..=9999).contains(&year)
        || !(1..=12).contains(&month)
        || !(1..=31).contains(&day)
        || hour > 23
        || minute > 59
        || second > 60
    {
        return None;
    }
    let seconds = days(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second;
    Some((seconds - offset_seconds(offset)?) * 1_000)
}

fn number(text: &str) -> Option<i64> {
    (!text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok())?
}

fn offset_seconds(text: &str) -> Option<i64> {
    if matches!(text, "Z" | "z") {
        return Some(0);
    }
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+')?),
    };
    let (hours, minutes) = rest.split_once(':')?;
    Some(sign * (number(hours)? * 3_600 + number(minutes)? * 60))
}

/// Returns the days since 1970-01-01 in the Gregorian calendar (Howard Hinnant's method).
fn days(year: i64, month: i64, day: i64) -> i64 {
    // The year starts in March here, so a leap day is its last day.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::millis;

    #[test]
    fn dates_and_times_with_and_without_offset_are_read() {
        assert_eq!(millis("1970-01-01"), Some(0));
        assert_eq!(millis("2026-11-20T12:00:00Z"), Some(1_795_176_000_000));
        assert_eq!(millis("2026-11-20T14:00:00+02:00"), Some(1_795_176_000_000));
        assert_eq!(millis("2024-02-29T00:00:00Z"), Some(1_709_164_800_000));
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in ["", "tomorrow", "2026-13-01", "2026-11-20T25:00:00Z", "2026-11-20T12:00"] {
            assert_eq!(millis(text), None, "{text}");
        }
    }
}
