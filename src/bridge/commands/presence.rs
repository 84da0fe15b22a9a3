//! `/away`, `/back`, `/snooze` and `/duty`: who is there.

use super::{
    reading::first_word,
    run::{CommandRun, words},
};
use countersign_gate::NotNamed;
use countersign_people::routes::DutyTurn;
use countersign_port::{CommandReply, Outcome, line};
use countersign_store::{Absence, StoreError};
use countersign_tokens::clock;
use jiff::{SignedDuration, Timestamp, ToSpan, civil::Time, tz::TimeZone};

/// How long somebody is away who does not say until when.
const AWAY: &str = "until /back";
const LONGEST_MS: i64 = 365 * 86_400_000;
const WRONG: &str = "Say a time such as 20m or 2h, or `until 18:00`.";

impl CommandRun<'_> {
    pub(super) async fn away(self, how_long: &str) -> Result<CommandReply, StoreError> {
        self.leave(Absence::Away, how_long).await
    }

    pub(super) async fn snooze(self, how_long: &str) -> Result<CommandReply, StoreError> {
        if how_long.trim().is_empty() {
            return Ok(CommandReply::words(Outcome::Noted, WRONG));
        }
        self.leave(Absence::Snoozed, how_long).await
    }

    async fn leave(self, how: Absence, how_long: &str) -> Result<CommandReply, StoreError> {
        let (now, zone) = (clock::now_ms(), self.gate.zone_of(&self.who));
        let Some(until) = until(how_long, now, &zone) else {
            return Ok(CommandReply::words(Outcome::Noted, WRONG));
        };
        match self.gate.set_absent(&self.who, how, until.unwrap_or(now + LONGEST_MS)).await? {
            Err(NotNamed(why)) => Ok(CommandReply::words(Outcome::NotAllowed, why)),
            Ok(person) => {
                let until =
                    until.map_or(AWAY.to_owned(), |at| format!("until {}", at_in(at, &zone)));
                let what = match how {
                    Absence::Away => "is away",
                    Absence::Snoozed => "gets no direct messages",
                };
                let says = format!("{} {what} {until}.", line(&person));
                Ok(CommandReply::words(Outcome::Applied, says))
            }
        }
    }

    pub(super) async fn back(self) -> Result<CommandReply, StoreError> {
        Ok(match self.gate.set_back(&self.who).await? {
            Err(NotNamed(why)) => CommandReply::words(Outcome::NotAllowed, why),
            Ok((person, true)) => {
                CommandReply::words(Outcome::Applied, format!("{} is back.", line(&person)))
            }
            Ok((person, false)) => {
                CommandReply::words(Outcome::Noted, format!("{} was not away.", line(&person)))
            }
        })
    }

    pub(super) async fn duty(self) -> Result<CommandReply, StoreError> {
        let zone = self.gate.zone_of(&self.who);
        let turns = self.gate.duty().await?;
        let mut lines: Vec<_> = turns.iter().map(|turn| words(turn_line(turn, &zone))).collect();
        if lines.is_empty() {
            lines.push(words("There is no rota ([[rotas]] in the config)."));
        }
        Ok(CommandReply { outcome: Outcome::Noted, lines })
    }
}

/// `ops: Ana until Mon 09:00 CET`.
fn turn_line(turn: &DutyTurn, zone: &TimeZone) -> String {
    let who = turn.person.as_deref().map_or("nobody is there".to_owned(), line);
    let until = turn.until.map(|at| format!(" until {}", at_in(at, zone))).unwrap_or_default();
    format!("{}: {who}{until}", turn.rota)
}

fn at_in(at: i64, zone: &TimeZone) -> String {
    let at = Timestamp::from_millisecond(at).unwrap_or_default().to_zoned(zone.clone());
    at.strftime("%a %H:%M %Z").to_string()
}

/// The time that somebody means: `Some(None)` where they say none, `None` where it cannot be read.
#[allow(clippy::option_option, reason = "no time and a time that cannot be read are different")]
fn until(text: &str, now: i64, zone: &TimeZone) -> Option<Option<i64>> {
    let (word, rest) = first_word(text);
    if word.is_empty() {
        return Some(None);
    }
    if word == "until" {
        let (hour, minute) = rest.split_once(':')?;
        let time = Time::new(hour.parse().ok()?, minute.parse().ok()?, 0, 0).ok()?;
        let here = Timestamp::from_millisecond(now).ok()?.to_zoned(zone.clone());
        let day = if here.time() < time { here.date() } else { here.date() + 1.day() };
        let at = day.to_datetime(time).to_zoned(zone.clone()).ok()?;
        return Some(Some(at.timestamp().as_millisecond()));
    }
    let length = text.trim().parse::<SignedDuration>().ok()?;
    let ms = i64::try_from(length.as_millis()).ok()?;
    (1..=LONGEST_MS).contains(&ms).then_some(Some(now + ms))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;

    #[test]
    fn a_time_is_a_length_or_the_next_time_by_the_persons_clock() {
        let zone = TimeZone::get("Europe/Rome").unwrap();
        let at = |text: &str| text.parse::<Timestamp>().unwrap().as_millisecond();
        let now = at("2026-03-28T20:00:00Z");
        let read = |text: &str| until(text, now, &zone);
        assert_eq!(read(" "), Some(None));
        assert_eq!(read("20m"), Some(Some(now + 20 * 60_000)));
        assert_eq!(read("1h 30m"), Some(Some(now + 90 * 60_000)));
        assert_eq!(read("until 22:30"), Some(Some(at("2026-03-28T21:30:00Z"))));
        // The next morning Rome is one hour further ahead.
        assert_eq!(read("until 7:00"), Some(Some(at("2026-03-29T05:00:00Z"))));
        for wrong in ["soon", "until", "until noon", "-5m", "0s", "until 25:00", "99999h"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
