//! Parked runs: their rows, who resumes one, and who takes the answer of its call.
//!
//! INVARIANT: of all who resume a parked run one takes the answer of its call, once: the row is
//! compared and set, in one transaction with the note at the ask that the call starts.

use super::{
    Store, StoreError,
    changes::{Change, compare_and_set, executed},
    engine::{Tx, from_json, to_json},
};
use countersign_domain::{Ask, Execution, parked::ParkedRun};
use serde_json::json;
use sqlx::{AssertSqlSafe, Row, any::AnyRow};
use std::time::Duration;

/// The most that are listed.
const LISTED: i64 = 1000;

/// A parked run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parked {
    /// The ask that it waits for.
    pub ask: String,
    /// Where it was, and what starts it again.
    pub run: ParkedRun,
    /// What it has cost so far, in millionths of a dollar.
    pub cost: Option<i64>,
    /// Unix milliseconds.
    pub parked_at: i64,
    /// Until when nobody else may resume it; Unix milliseconds.
    pub until_at: i64,
}

/// What became of parking a run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum ParkOutcome {
    /// It is parked.
    Parked,
    /// Another call of its session has parked it: this ask.
    ForAnother(String),
    /// The ask has changed meanwhile.
    Changed,
}

/// What became of resuming a run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Resumption {
    /// It may be resumed, under this number.
    Granted(i64, ParkedRun),
    /// Somebody else is about to.
    Held,
    /// It is not parked, or not any more.
    NotParked,
}

/// What became of taking the answer of a parked call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum TakeOutcome {
    /// It is taken, by this call or by an earlier one of the same process.
    Taken,
    /// Another one has it, or resumes the run by now.
    Stale,
    /// The ask has changed meanwhile, or everything is paused.
    Changed,
}

impl Store {
    /// Parks the run whose call waits for this ask, if its row is still at the version of `seen`:
    /// nobody has to wait on a connection any more, until this deadline.
    // INVARIANT: a session has one parked call at most; the index of the table holds it.
    pub async fn park(
        &self,
        seen: &Ask,
        run: &ParkedRun,
        deadline_at: Option<i64>,
        now: i64,
    ) -> Result<ParkOutcome, StoreError> {
        let seen = seen.clone();
        let run = to_json("run", run)?;
        self.change(move |tx| {
            Box::pin(async move {
                let call = &seen.body.call;
                let row = sqlx::query(
                    "INSERT INTO parked (ask, agent, session, run, parked_at) \
                     VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING",
                );
                let row = row.bind(&seen.id).bind(&call.agent).bind(&call.session);
                if tx.run(row.bind(run).bind(now)).await? == 0 {
                    let there = parked_in(tx, &call.agent, &call.session).await?;
                    return Ok(match there {
                        Some(ask) if ask == seen.id => ParkOutcome::Parked,
                        Some(ask) => ParkOutcome::ForAnother(ask),
                        None => ParkOutcome::Changed,
                    });
                }
                if compare_and_set(tx, &seen.id, parked(&seen, deadline_at, now)).await? {
                    return Ok(ParkOutcome::Parked);
                }
                let none = sqlx::query("DELETE FROM parked WHERE ask = $1").bind(&seen.id);
                tx.run(none).await?;
                Ok(ParkOutcome::Changed)
            })
        })
        .await
    }

    /// The parked runs, longest first.
    pub async fn parked_runs(&self) -> Result<Vec<Parked>, StoreError> {
        let parked = sqlx::query(
            "SELECT ask, run, cost, parked_at, until_at FROM parked WHERE taken IS NULL \
             ORDER BY parked_at, ask LIMIT $1",
        );
        let parked = self.all(parked.bind(LISTED)).await?;
        parked.iter().map(row).collect()
    }

    /// Whether a session is parked.
    pub async fn is_parked(&self, agent: &str, session: &str) -> Result<bool, StoreError> {
        Ok(self.maybe(sqlx::query(PARKED_IN).bind(agent).bind(session)).await?.is_some())
    }

    /// Gives the right to resume the run that waits for this ask, for so long. It is held by the
    /// database's clock, as leases are.
    pub async fn resume_run(&self, ask: &str, hold: Duration) -> Result<Resumption, StoreError> {
        let ask = ask.to_owned();
        let hold = i64::try_from(hold.as_millis()).unwrap_or(i64::MAX);
        self.write(move |tx| {
            Box::pin(async move {
                let now = tx.dialect.now();
                let sql = format!(
                    "UPDATE parked SET epoch = epoch + 1, until_at = {now} + $2 \
                     WHERE ask = $1 AND taken IS NULL AND until_at <= {now} RETURNING epoch, run"
                );
                let taken = sqlx::query(AssertSqlSafe(sql)).bind(&ask).bind(hold);
                if let Some(row) = tx.maybe(taken).await? {
                    let run = from_json(&row, "run")?;
                    return Ok(Resumption::Granted(row.try_get("epoch")?, run));
                }
                let there = "SELECT 1 AS one FROM parked WHERE ask = $1 AND taken IS NULL";
                let there = tx.maybe(sqlx::query(there).bind(&ask)).await?;
                Ok(there.map_or(Resumption::NotParked, |_| Resumption::Held))
            })
        })
        .await
    }

    /// Takes the answer of a parked call for the run that was resumed under this number, and notes
    /// at its ask that the call starts, if that is to be noted and the row is as seen. While
    /// everything is paused nothing starts.
    pub async fn take_answer(
        &self,
        seen: &Ask,
        epoch: i64,
        starts: Option<Execution>,
    ) -> Result<TakeOutcome, StoreError> {
        let seen = seen.clone();
        self.change(move |tx| {
            Box::pin(async move {
                let take = "UPDATE parked SET taken = $2 \
                            WHERE ask = $1 AND epoch = $2 AND taken IS NULL";
                let take = sqlx::query(take).bind(&seen.id).bind(epoch);
                if tx.run(take).await? == 0 {
                    let mine = "SELECT 1 AS one FROM parked WHERE ask = $1 AND taken = $2";
                    let mine = tx.maybe(sqlx::query(mine).bind(&seen.id).bind(epoch)).await?;
                    return Ok(mine.map_or(TakeOutcome::Stale, |_| TakeOutcome::Taken));
                }
                // FAIL-CLOSED: one that was noted before starts nothing again.
                let Some((_, change)) = starts.map(|it| executed(&seen, it)).transpose()?.flatten()
                else {
                    return Ok(TakeOutcome::Taken);
                };
                if compare_and_set(tx, &seen.id, change).await? {
                    return Ok(TakeOutcome::Taken);
                }
                let back = sqlx::query("UPDATE parked SET taken = NULL WHERE ask = $1");
                tx.run(back.bind(&seen.id)).await?;
                Ok(TakeOutcome::Changed)
            })
        })
        .await
    }

    /// Notes that the process with this number has ended, so that others may resume the run at
    /// once, and what it has cost so far, in millionths of a dollar. One that has put its call off
    /// did not run it, whatever it took. Whether the run is still parked.
    pub async fn process_ended(
        &self,
        ask: &str,
        epoch: i64,
        put_off: bool,
        cost: Option<i64>,
    ) -> Result<bool, StoreError> {
        let ended = sqlx::query(
            "UPDATE parked SET cost = COALESCE($3, cost), taken = NULL, \
             until_at = CASE WHEN epoch = $2 THEN 0 ELSE until_at END \
             WHERE ask = $1 AND (taken IS NULL OR (taken = $2 AND $4 = 1))",
        );
        let ended = ended.bind(ask.to_owned()).bind(epoch).bind(cost).bind(i64::from(put_off));
        Ok(self.execute(ended).await? > 0)
    }

    /// Gives a parked run up: nobody resumes it. Whether it was parked.
    pub async fn drop_parked(&self, ask: &str) -> Result<bool, StoreError> {
        let gone = sqlx::query("DELETE FROM parked WHERE ask = $1 AND taken IS NULL");
        Ok(self.execute(gone.bind(ask.to_owned())).await? > 0)
    }
}

const PARKED_IN: &str =
    "SELECT ask FROM parked WHERE agent = $1 AND session = $2 AND taken IS NULL";

async fn parked_in(tx: &mut Tx, agent: &str, session: &str) -> Result<Option<String>, StoreError> {
    let row = tx.maybe(sqlx::query(PARKED_IN).bind(agent).bind(session)).await?;
    Ok(row.map(|row| row.try_get("ask")).transpose()?)
}

/// Nobody waits on a connection for this ask any more, until this deadline.
fn parked(seen: &Ask, deadline_at: Option<i64>, now: i64) -> Change {
    let left = deadline_at.map_or(-1, |at| at.saturating_sub(now).max(1));
    let update = sqlx::query(
        "UPDATE ask SET attended = 0, attached = '', version = version + 1, \
         deadline_at = CASE WHEN left_ms IS NULL THEN $3 ELSE deadline_at END, \
         left_ms = CASE WHEN left_ms IS NULL THEN left_ms ELSE $4 END \
         WHERE id = $1 AND version = $2 AND state = 'open' \
         AND (deadline_at IS NULL OR deadline_at > $5)",
    );
    let update = update.bind(seen.id.clone()).bind(seen.version).bind(deadline_at);
    let data = json!({"deadline_at": deadline_at});
    Change { event: Some((now, "parked", data)), ..Change::of(update.bind(left).bind(now)) }
}

fn row(row: &AnyRow) -> Result<Parked, StoreError> {
    Ok(Parked {
        ask: row.try_get("ask")?,
        run: from_json(row, "run")?,
        cost: row.try_get("cost")?,
        parked_at: row.try_get("parked_at")?,
        until_at: row.try_get("until_at")?,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]
    use super::*;
    use crate::{
        Closed,
        testkit::engines::on_both,
        tests::{answered, new_ask_in},
    };
    use countersign_domain::{Decision, deadline::Pause};

    const HOLD: Duration = Duration::from_mins(1);

    fn run() -> ParkedRun {
        let host = Some("mill".into());
        let cwd = "/shop".into();
        let transcript = Some("/t".into());
        ParkedRun { host, cwd, transcript, words: vec!["claude".into()], after_s: 600, seal: None }
    }

    /// An ask that a caller waits for.
    async fn asked(store: &Store, id: &str, session: &str) -> Ask {
        let attended = Ask { attended: true, deadline_at: Some(50), ..new_ask_in(session, id) };
        store.insert_ask(&attended, &[], None).await.unwrap();
        store.ask(id).await.unwrap().unwrap()
    }

    async fn approved(store: &Store, id: &str) -> Ask {
        let seen = store.ask(id).await.unwrap().unwrap();
        match store.close_ask(&seen, &answered(Decision::Approve, 60), &[]).await.unwrap() {
            Closed::Won(ask) => ask,
            other => panic!("{other:?}"),
        }
    }

    fn starts() -> Option<Execution> {
        Some(Execution { started_at: 70, as_call: Some("toolu_1".into()), end: None })
    }

    #[tokio::test]
    async fn a_parked_ask_has_no_caller_and_a_later_deadline_and_its_session_no_second_one() {
        on_both(async |store| {
            let one = asked(&store, "one", "s").await;
            let two = asked(&store, "two", "s").await;
            let park =
                async |seen: &Ask, now| store.park(seen, &run(), Some(90), now).await.unwrap();
            assert_eq!(park(&one, 50).await, ParkOutcome::Changed, "its time is over");
            assert_eq!(park(&one, 10).await, ParkOutcome::Parked);
            assert_eq!(
                park(&one, 11).await,
                ParkOutcome::Parked,
                "a lost reply is asked for again"
            );
            assert_eq!(park(&two, 12).await, ParkOutcome::ForAnother("one".into()));
            let other = asked(&store, "other", "t").await;
            assert_eq!(park(&other, 13).await, ParkOutcome::Parked);
            let now = store.ask("one").await.unwrap().unwrap();
            assert_eq!((now.attended, now.deadline_at, now.is_open()), (false, Some(90), true));
            let parked = store.parked_runs().await.unwrap();
            let ids: Vec<_> = parked.iter().map(|it| (&*it.ask, it.run == run())).collect();
            assert_eq!(ids, [("one", true), ("other", true)]);
            assert!(store.is_parked("a", "s").await.unwrap());
            assert!(store.drop_parked("one").await.unwrap());
            assert!(!store.drop_parked("one").await.unwrap());
            assert!(!store.is_parked("a", "s").await.unwrap());
        })
        .await;
    }

    #[tokio::test]
    async fn an_answer_is_taken_once_by_who_resumed_last() {
        on_both(async |store| {
            let one = asked(&store, "one", "s").await;
            assert_eq!(store.park(&one, &run(), None, 10).await.unwrap(), ParkOutcome::Parked);
            let seen = approved(&store, "one").await;
            let take = async |epoch| store.take_answer(&seen, epoch, starts()).await.unwrap();
            let resume = async |hold| store.resume_run("one", hold).await.unwrap();
            assert_eq!(resume(Duration::ZERO).await, Resumption::Granted(1, run()));
            assert_eq!(resume(HOLD).await, Resumption::Granted(2, run()));
            assert_eq!(resume(HOLD).await, Resumption::Held);
            assert_eq!(take(1).await, TakeOutcome::Stale);
            let by = countersign_domain::By::Timeout;
            let pause =
                Pause { mode: countersign_domain::deadline::PauseMode::Hold, by, since: 61 };
            store.set_pause(&pause).await.unwrap();
            assert_eq!(take(2).await, TakeOutcome::Changed, "nothing starts in a pause");
            store.end_pause(&pause.by, 62).await.unwrap();
            assert_eq!(take(2).await, TakeOutcome::Taken);
            assert_eq!(take(2).await, TakeOutcome::Taken, "the same process, whose reply was lost");
            assert_eq!((take(1).await, take(3).await), (TakeOutcome::Stale, TakeOutcome::Stale));
            assert_eq!(resume(HOLD).await, Resumption::NotParked);
            let now = store.ask("one").await.unwrap().unwrap();
            assert_eq!(now.answer().unwrap().execution, starts());
            assert!(!store.process_ended("one", 1, true, None).await.unwrap());
            assert!(!store.process_ended("one", 2, false, None).await.unwrap());
            assert!(store.process_ended("one", 2, true, Some(5)).await.unwrap(), "it did not run");
            assert_eq!(store.parked_runs().await.unwrap().first().unwrap().cost, Some(5));
            assert_eq!(resume(HOLD).await, Resumption::Granted(3, run()));
        })
        .await;
    }

    #[tokio::test]
    async fn of_many_that_resume_a_run_at_once_one_may_and_of_many_that_take_one_does() {
        on_both(async |store| {
            let one = asked(&store, "one", "s").await;
            assert_eq!(store.park(&one, &run(), None, 10).await.unwrap(), ParkOutcome::Parked);
            let seen = approved(&store, "one").await;
            let all = (0..8).map(|_| store.resume_run("one", HOLD));
            let all = futures::future::try_join_all(all).await.unwrap();
            let granted = all.iter().filter(|it| **it == Resumption::Granted(1, run())).count();
            let held = all.iter().filter(|it| **it == Resumption::Held).count();
            assert_eq!((granted, held), (1, 7));
            let all = (0..8).map(|epoch| store.take_answer(&seen, epoch, starts()));
            let all = futures::future::try_join_all(all).await.unwrap();
            assert_eq!(all.iter().filter(|it| **it == TakeOutcome::Taken).count(), 1);
        })
        .await;
    }
}
