//! When digests are sent. Pure: the time is an argument.

use jiff::{
    Timestamp, ToSpan,
    civil::{Date, Time, Weekday},
    tz::TimeZone,
};

/// When a digest is sent: every day, or on a day of the week.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DigestTime {
    /// On which day; `None`: every day.
    pub day: Option<Weekday>,
    /// When, by the clock on the wall.
    pub at: Time,
    /// Whose clock.
    pub zone: TimeZone,
}

impl DigestTime {
    /// The latest time up to now at which a digest was due, and the one before it; Unix
    /// milliseconds.
    // Counted in days of the calendar, so an hour that comes twice or not at all moves a digest and
    // neither repeats nor drops one.
    #[must_use]
    pub fn latest(&self, now_ms: i64) -> Option<(i64, i64)> {
        let today = Timestamp::from_millisecond(now_ms).ok()?.to_zoned(self.zone.clone()).date();
        let on_day = |date: &Date| self.day.is_none_or(|day| day == date.weekday());
        let days = (0..=15).filter_map(|ago| today.checked_sub(i64::from(ago).days()).ok());
        let times = days.filter(on_day).filter_map(|date| self.on(date));
        let mut due = times.filter(|at| *at <= now_ms);
        Some((due.next()?, due.next()?))
    }

    fn on(&self, date: Date) -> Option<i64> {
        let at = date.to_datetime(self.at).to_zoned(self.zone.clone()).ok()?;
        Some(at.timestamp().as_millisecond())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use jiff::civil::time;

    fn digest(day: Option<Weekday>, at: Time) -> DigestTime {
        DigestTime { day, at, zone: TimeZone::get("Europe/Rome").unwrap() }
    }

    fn latest(digest: &DigestTime, now: &str) -> [String; 2] {
        let now = now.parse::<Timestamp>().unwrap().as_millisecond();
        let (due, before) = digest.latest(now).unwrap();
        [due, before].map(|at| Timestamp::from_millisecond(at).unwrap().to_string())
    }

    #[test]
    fn a_digest_is_due_at_its_hour_on_the_wall_in_summer_and_in_winter() {
        let daily = digest(None, time(9, 0, 0, 0));
        for (now, wanted) in [
            ("2026-07-02T06:59:59Z", ["2026-07-01T07:00:00Z", "2026-06-30T07:00:00Z"]),
            ("2026-07-02T07:00:00Z", ["2026-07-02T07:00:00Z", "2026-07-01T07:00:00Z"]),
            ("2026-01-02T08:00:00Z", ["2026-01-02T08:00:00Z", "2026-01-01T08:00:00Z"]),
            // The clocks change on 29 March: a day of 23 hours.
            ("2026-03-29T07:00:00Z", ["2026-03-29T07:00:00Z", "2026-03-28T08:00:00Z"]),
        ] {
            assert_eq!(latest(&daily, now), wanted, "{now}");
        }
        // 2 January 2026 is a Friday.
        let weekly = digest(Some(Weekday::Friday), time(9, 0, 0, 0));
        let wanted = ["2026-01-02T08:00:00Z", "2025-12-26T08:00:00Z"];
        assert_eq!(latest(&weekly, "2026-01-02T08:00:00Z"), wanted);
        assert_eq!(latest(&weekly, "2026-01-09T07:59:59Z"), wanted);
    }

    #[test]
    fn an_hour_that_is_left_out_moves_a_digest_and_one_that_comes_twice_repeats_none() {
        let daily = digest(None, time(2, 30, 0, 0));
        // On 29 March 2:30 does not exist: 3:30 stands in.
        let spring = ["2026-03-29T01:30:00Z", "2026-03-28T01:30:00Z"];
        assert_eq!(latest(&daily, "2026-03-29T01:30:00Z"), spring);
        assert_eq!(latest(&daily, "2026-03-29T23:00:00Z"), spring);
        // On 25 October it comes twice: the first counts, at the second nothing is due.
        let autumn = ["2026-10-25T00:30:00Z", "2026-10-24T00:30:00Z"];
        for now in ["2026-10-25T00:30:00Z", "2026-10-25T01:29:00Z", "2026-10-25T01:31:00Z"] {
            assert_eq!(latest(&daily, now), autumn, "{now}");
        }
    }

    #[test]
    fn in_every_year_each_day_has_one_digest() {
        let daily = digest(None, time(2, 30, 0, 0));
        let mut now = "2026-01-01T12:00:00Z".parse::<Timestamp>().unwrap().as_millisecond();
        let (mut last, mut count) = (daily.latest(now).unwrap().0, 0);
        let end = now + 730 * 86_400_000;
        while now < end {
            now += 600_000;
            let (due, before) = daily.latest(now).unwrap();
            if due != last {
                assert_eq!(before, last, "none is left out");
                (last, count) = (due, count + 1);
            }
        }
        assert_eq!(count, 730);
    }
}
