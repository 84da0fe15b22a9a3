//! Hours of the day in a time zone. Pure: the time is an argument.

use jiff::{
    Timestamp,
    civil::{Time, Weekday},
    tz::TimeZone,
};

/// Hours that come again every day, or on some days of the week.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hours {
    /// When they begin, by the clock on the wall.
    pub from: Time,
    /// When they are over; on the next day where this is not after the beginning.
    pub until: Time,
    /// The days on which they begin; empty for every day.
    pub days: Vec<Weekday>,
    /// Whose clock.
    pub zone: TimeZone,
}

impl Hours {
    /// Whether this moment (Unix milliseconds) is within them.
    // The clock on the wall decides, so an hour that comes twice or not at all needs no care.
    #[must_use]
    pub fn include(&self, now_ms: i64) -> bool {
        let Ok(now) = Timestamp::from_millisecond(now_ms) else { return false };
        let now = now.to_zoned(self.zone.clone());
        let (time, today) = (now.time(), now.weekday());
        let begins_on = |day: Weekday| self.days.is_empty() || self.days.contains(&day);
        if self.from < self.until {
            return begins_on(today) && (self.from..self.until).contains(&time);
        }
        // Over midnight: the evening of today, or the morning after yesterday.
        (time >= self.from && begins_on(today))
            || (time < self.until && begins_on(today.previous()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use jiff::civil::time;

    fn hours(from: Time, until: Time, days: &[Weekday]) -> Hours {
        Hours { from, until, days: days.to_vec(), zone: TimeZone::get("Europe/Rome").unwrap() }
    }

    fn at(text: &str) -> i64 {
        text.parse::<Timestamp>().unwrap().as_millisecond()
    }

    #[test]
    fn hours_go_by_the_clock_on_the_wall_in_summer_and_in_winter() {
        let day = hours(time(9, 0, 0, 0), time(18, 0, 0, 0), &[]);
        // Rome is two hours ahead in summer and one in winter.
        let wanted = [
            ("2026-07-01T06:59:59Z", false),
            ("2026-07-01T07:00:00Z", true),
            ("2026-07-01T15:59:59Z", true),
            ("2026-07-01T16:00:00Z", false),
            ("2026-01-07T07:30:00Z", false),
            ("2026-01-07T08:00:00Z", true),
            ("2026-01-07T17:00:00Z", false),
        ];
        for (text, included) in wanted {
            assert_eq!(day.include(at(text)), included, "{text}");
        }
    }

    #[test]
    fn an_hour_that_comes_twice_counts_twice_and_one_that_is_left_out_never() {
        let two_to_three = hours(time(2, 0, 0, 0), time(3, 0, 0, 0), &[]);
        // On 25 October 2026 the clocks go from 3:00 back to 2:00, on 29 March from 2:00 to 3:00.
        let autumn = ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2026-10-25T02:30:00Z"];
        assert_eq!(autumn.map(|text| two_to_three.include(at(text))), [true, true, false]);
        let spring = ["2026-03-29T00:59:59Z", "2026-03-29T01:00:00Z"];
        assert_eq!(spring.map(|text| two_to_three.include(at(text))), [false, false]);
    }

    #[test]
    fn a_night_belongs_to_the_day_on_which_it_begins() {
        let night = hours(time(22, 0, 0, 0), time(6, 0, 0, 0), &[Weekday::Friday]);
        // 2 January 2026 is a Friday.
        let wanted = [
            ("2026-01-02T04:00:00Z", false),
            ("2026-01-02T21:00:00Z", true),
            ("2026-01-03T04:59:00Z", true),
            ("2026-01-03T05:00:00Z", false),
            ("2026-01-03T21:00:00Z", false),
        ];
        for (text, included) in wanted {
            assert_eq!(night.include(at(text)), included, "{text}");
        }
        let always = hours(time(7, 0, 0, 0), time(7, 0, 0, 0), &[]);
        assert!(always.include(at("2026-01-02T06:00:00Z")), "from 7 to 7 is the whole day");
    }
}
