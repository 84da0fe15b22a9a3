//! What is wrong with the log, for everybody who has to know.

use super::{LogBreak, LogDestinationState, Store, Trouble};
use countersign_tokens::clock;
use std::time::Duration;

/// How long sealing may fail before somebody has to know.
const FAILING: Duration = Duration::from_secs(60);
/// How long a destination may take nothing before somebody has to know, in milliseconds.
const LATE_MS: i64 = 300_000;

impl Store {
    /// What is wrong with the log, and how to fix it: it is broken, is not sealed, or does not
    /// reach its destinations.
    pub async fn log_troubles(&self) -> Vec<Trouble> {
        let condition = self.engine.rows.condition().clone();
        let mut troubles: Vec<_> = self.log_broken().iter().map(broken).collect();
        if let Some((_, why)) = condition.failing.filter(|(since, _)| since.elapsed() > FAILING) {
            troubles.push(Trouble {
                says: format!("the log cannot be sealed: {why}"),
                fix: "look at the daemon's output, and at the store".to_owned(),
            });
        }
        let now = clock::now_ms();
        let destinations = self.log_destinations().await.unwrap_or_default();
        troubles.extend(destinations.iter().filter_map(|it| late(it, now)));
        troubles.extend(destinations.iter().filter_map(lost));
        troubles
    }

    /// How the log is broken, unless an approver has accepted that.
    #[must_use]
    pub fn log_broken(&self) -> Option<LogBreak> {
        self.engine.rows.condition().broken.clone().filter(|broken| !broken.accepted)
    }

    /// The same as a sentence for people.
    #[must_use]
    pub fn log_alarm(&self) -> Option<String> {
        self.log_broken().map(|it| broken(&it).says)
    }
}

fn broken(LogBreak { row, at, says, .. }: &LogBreak) -> Trouble {
    Trouble {
        says: format!("the log is broken at row {row}, found {}: {says}", clock::local(*at)),
        fix: "somebody wrote to the database: find out who, see docs/log.md on a broken log, and \
              then: countersign log key --accept"
            .to_owned(),
    }
}

fn late(it: &LogDestinationState, now: i64) -> Option<Trouble> {
    let since = it.since.filter(|since| it.waiting > 0 && now - since > LATE_MS)?;
    let why = it.why.as_deref().unwrap_or("it takes none");
    let (name, waiting, since) = (&it.name, it.waiting, clock::local(since));
    Some(Trouble {
        says: format!("{name}: {waiting} rows of the log wait since {since}: {why}"),
        fix: "repair the destination, or take it out of [log]; its rows are kept for 7 days more \
              than [store] keep, and then deleted"
            .to_owned(),
    })
}

fn lost(it: &LogDestinationState) -> Option<Trouble> {
    let (name, lost) = (&it.name, it.lost);
    (lost > 0).then(|| Trouble {
        says: format!("{name}: {lost} rows of the log were deleted before it took them"),
        fix: "they are in backups of the store, if anywhere; this stays while [log] names it"
            .to_owned(),
    })
}
