//! Rotas: who is on duty in which week. Pure: the time is an argument.

use jiff::{SignedDuration, Timestamp, civil::DateTime, tz::TimeZone};
use std::collections::BTreeSet;

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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;

    fn rota() -> Rota {
        Rota {
            name: "ops".to_owned(),
            people: ["Ana", "Ben", "Cid"].map(str::to_owned).to_vec(),
            // A Monday in winter.
            starts: "2026-03-16 09:00".parse().unwrap(),
            zone: TimeZone::get("Europe/Rome").unwrap(),
        }
    }

    fn at(text: &str) -> i64 {
        text.parse::<Timestamp>().unwrap().as_millisecond()
    }

    #[test]
    fn weeks_change_at_the_same_hour_on_the_wall_in_winter_and_in_summer() {
        let (rota, nobody) = (rota(), BTreeSet::new());
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
        let (rota, now) = (rota(), at("2026-03-18T12:00:00Z"));
        let away = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        assert_eq!(rota.on_duty(now, &away(&["Ana"])), Some("Ben"));
        assert_eq!(rota.on_duty(now, &away(&["Ana", "Ben"])), Some("Cid"));
        assert_eq!(rota.on_duty(now, &away(&["Ana", "Ben", "Cid"])), None);
    }
}
