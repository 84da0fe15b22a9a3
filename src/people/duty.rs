//! When people are on duty and when they are left alone: hours, rotas and the times of digests, by
//! the clock on the wall. Pure: the time is an argument.

use jiff::{
    SignedDuration, Timestamp, ToSpan,
    civil::{Date, DateTime, Time, Weekday},
    tz::TimeZone,
};
use std::collections::BTreeSet;

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
        let time = now.time();
        let today = now.weekday();
        let begins_on = |day: Weekday| self.days.is_empty() || self.days.contains(&day);
        if self.from < self.until {
            return begins_on(today) && (self.from..self.until).contains(&time);
        }
        // Over midnight: the evening of today, or the morning after yesterday.
        (time >= self.from && begins_on(today))
            || (time < self.until && begins_on(today.previous()))
    }
}

const WEEK_S: i64 = 7 * 86_400;

/// People who are on duty by turns, a week each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rota {
    /// Unique.
    pub name: String,
    /// By their names, in the order of their weeks.
    pub people: Vec<String>,
    /// When the week of the first of them begins, by the clock on the wall: so each week begins on
    /// this day of the week, at this hour.
    pub starts: DateTime,
    /// Whose clock.
    pub zone: TimeZone,
}

impl Rota {
    /// Who is on duty at this moment (Unix milliseconds): by turns, and where they are away the
    /// next one who is not. `None`: nobody is there.
    #[must_use]
    pub fn on_duty(&self, now_ms: i64, away: &BTreeSet<String>) -> Option<&str> {
        let turn = self.week(now_ms)?.checked_rem_euclid(i64::try_from(self.people.len()).ok()?)?;
        let first = usize::try_from(turn).ok()?;
        let people = self.people.iter().cycle().skip(first).take(self.people.len());
        people.map(String::as_str).find(|name| !away.contains(*name))
    }

    /// When the next week begins; Unix milliseconds.
    #[must_use]
    pub fn next_change(&self, now_ms: i64) -> Option<i64> {
        self.begins(self.week(now_ms)?.checked_add(1)?)
    }

    /// The number of the week since the first, negative before it.
    // By the clock on the wall first, so that a week with a change of the clocks is one week. Where
    // weeks begin within an hour that comes twice or not at all, the clock alone would change the
    // person twice, or at another moment than is announced.
    fn week(&self, now_ms: i64) -> Option<i64> {
        let now = Timestamp::from_millisecond(now_ms).ok()?.to_zoned(self.zone.clone());
        let week = now.datetime().duration_since(self.starts).as_secs().div_euclid(WEEK_S);
        let next = week.checked_add(1)?;
        if self.begins(next)? <= now_ms {
            return Some(next);
        }
        if self.begins(week)? > now_ms { week.checked_sub(1) } else { Some(week) }
    }

    /// When a week begins; Unix milliseconds.
    fn begins(&self, week: i64) -> Option<i64> {
        let later = SignedDuration::from_secs(week.checked_mul(WEEK_S)?);
        let at = self.starts.checked_add(later).ok()?.to_zoned(self.zone.clone()).ok()?;
        Some(at.timestamp().as_millisecond())
    }
}

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

    fn at(text: &str) -> i64 {
        text.parse::<Timestamp>().unwrap().as_millisecond()
    }

    fn hours(from: Time, until: Time, days: &[Weekday]) -> Hours {
        Hours { from, until, days: days.to_vec(), zone: TimeZone::get("Europe/Rome").unwrap() }
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

    fn rota() -> Rota {
        Rota {
            name: "ops".to_owned(),
            people: ["Ana", "Ben", "Cid"].map(str::to_owned).to_vec(),
            // A Monday in winter.
            starts: "2026-03-16 09:00".parse().unwrap(),
            zone: TimeZone::get("Europe/Rome").unwrap(),
        }
    }

    #[test]
    fn weeks_change_at_the_same_hour_on_the_wall_in_winter_and_in_summer() {
        let rota = rota();
        let nobody = BTreeSet::new();
        // The clocks change on 29 March and on 25 October.
        let wanted = [
            ("2026-03-23T07:59:59Z", "Ana"),
            ("2026-03-23T08:00:00Z", "Ben"),
            ("2026-03-30T06:59:59Z", "Ben"),
            ("2026-03-30T07:00:00Z", "Cid"),
            ("2026-04-06T07:00:00Z", "Ana"),
            ("2026-10-26T07:59:59Z", "Ben"),
            ("2026-10-26T08:00:00Z", "Cid"),
            // Before the first week the turns are the same.
            ("2026-03-16T07:59:59Z", "Cid"),
        ];
        for (text, name) in wanted {
            assert_eq!(rota.on_duty(at(text), &nobody), Some(name), "{text}");
        }
        let next = rota.next_change(at("2026-03-25T12:00:00Z"));
        assert_eq!(next, Some(at("2026-03-30T07:00:00Z")));
    }

    #[test]
    fn a_week_that_begins_while_the_clocks_change_begins_once_and_when_it_is_announced() {
        // On 29 March 2026 there is no 2:30 in Rome, on 25 October there are two.
        for (starts, day) in
            [("2026-03-22 02:30", "2026-03-29"), ("2026-10-18 02:30", "2026-10-25")]
        {
            let rota = Rota { starts: starts.parse().unwrap(), ..rota() };
            let midnight = at(&format!("{day}T00:00:00Z"));
            let announced = rota.next_change(midnight).unwrap();
            for minute in 0..180 {
                let now = midnight + minute * 60_000;
                let wanted = if now < announced { "Ana" } else { "Ben" };
                assert_eq!(rota.on_duty(now, &BTreeSet::new()), Some(wanted), "{day}, {minute}");
            }
        }
    }

    #[test]
    fn the_next_one_stands_in_for_who_is_away() {
        let rota = rota();
        let now = at("2026-03-18T12:00:00Z");
        let away = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        assert_eq!(rota.on_duty(now, &away(&["Ana"])), Some("Ben"));
        assert_eq!(rota.on_duty(now, &away(&["Ana", "Ben"])), Some("Cid"));
        assert_eq!(rota.on_duty(now, &away(&["Ana", "Ben", "Cid"])), None);
    }

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
        let mut last = daily.latest(now).unwrap().0;
        let mut count = 0;
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
