//! The kill switch in the store: every daemon sees it, and it outlives them.
//!
//! INVARIANT: what is committed after the pause approves nothing. Whatever approves reads the row
//! of the pause in its own transaction; where several daemons share the store, with a lock on that
//! row that the pause waits for.

use super::{
    Store, StoreError, Tx, cards,
    engine::SqlDialect,
    events,
    rows::{read, write},
};
use countersign_domain::{
    By,
    pause::{Pause, PauseMode},
};
use serde_json::json;
use sqlx::{AssertSqlSafe, Row, any::AnyRow};

const ROW: &str = "SELECT how, paused_by, since FROM pause WHERE id = 1";

impl Store {
    /// The pause, where one is on.
    ///
    /// # Errors
    /// When the store fails or the row does not read back: then nothing may be taken for allowed.
    pub async fn pause(&self) -> Result<Option<Pause>, StoreError> {
        pause_of(&self.one(sqlx::query(ROW)).await?)
    }

    /// Switches the pause on, or changes what becomes of calls: all open asks' deadlines stop
    /// still. Returns the pause as it was before.
    ///
    /// # Errors
    /// When the store fails; then nothing is changed.
    pub async fn set_pause(&self, new: &Pause) -> Result<Option<Pause>, StoreError> {
        let (new, dialect) = (new.clone(), self.engine.dialect);
        let before = self.write(move |tx| {
            Box::pin(async move {
                let before = locked(tx, lock_to_change(dialect)).await?;
                let by = write("paused_by", &new.by)?;
                let since = before.as_ref().map_or(new.since, |pause| pause.since);
                sqlx::query("UPDATE pause SET how = $1, paused_by = $2, since = $3 WHERE id = 1")
                    .bind(new.mode.name())
                    .bind(by)
                    .bind(since)
                    .execute(&mut **tx)
                    .await?;
                let stopped = sqlx::query(
                    "UPDATE ask SET left_ms = CASE WHEN deadline_at IS NULL THEN -1 \
                     WHEN deadline_at <= $1 THEN 1 ELSE deadline_at - $1 END, \
                     deadline_at = NULL, step_left_ms = CASE WHEN step_at <= $1 THEN 1 \
                     ELSE step_at - $1 END, step_at = NULL, version = version + 1 \
                     WHERE state = 'open' AND left_ms IS NULL",
                );
                stopped.bind(new.since).execute(&mut **tx).await?;
                cards::want_open(tx).await?;
                let data = json!({"how": new.mode, "by": new.by});
                events::append(tx, new.since, "paused", None, &data).await?;
                Ok(before)
            })
        });
        let before = before.await?;
        self.tell();
        Ok(before)
    }

    /// Switches it off: deadlines run on with what was left of them. Returns the pause that ended,
    /// where one was on.
    ///
    /// # Errors
    /// When the store fails; then nothing is changed.
    pub async fn end_pause(&self, by: &By, now: i64) -> Result<Option<Pause>, StoreError> {
        let (by, dialect) = (by.clone(), self.engine.dialect);
        let ended = self.write(move |tx| {
            Box::pin(async move {
                let before = locked(tx, lock_to_change(dialect)).await?;
                if before.is_none() {
                    return Ok(None);
                }
                let off = sqlx::query("UPDATE pause SET how = NULL WHERE id = 1");
                off.execute(&mut **tx).await?;
                let runs = sqlx::query(
                    "UPDATE ask SET deadline_at = CASE WHEN left_ms < 0 THEN NULL \
                     ELSE $1 + left_ms END, left_ms = NULL, step_at = $1 + step_left_ms, \
                     step_left_ms = NULL, version = version + 1 \
                     WHERE state = 'open' AND left_ms IS NOT NULL",
                );
                runs.bind(now).execute(&mut **tx).await?;
                cards::want_open(tx).await?;
                events::append(tx, now, "resumed", None, &json!({ "by": by })).await?;
                Ok(before)
            })
        });
        let ended = ended.await?;
        self.tell();
        Ok(ended)
    }
}

/// The pause, where one is on, held as it is until this transaction ends.
pub(super) async fn held(tx: &mut Tx, dialect: SqlDialect) -> Result<Option<Pause>, StoreError> {
    locked(tx, lock_to_read(dialect)).await
}

async fn locked(tx: &mut Tx, lock: &str) -> Result<Option<Pause>, StoreError> {
    let row = sqlx::query(AssertSqlSafe(format!("{ROW}{lock}"))).fetch_one(&mut **tx).await?;
    pause_of(&row)
}

/// SQLite has one writer at a time, which is lock enough.
fn lock_to_read(dialect: SqlDialect) -> &'static str {
    match dialect {
        SqlDialect::Sqlite => "",
        SqlDialect::Postgres => " FOR SHARE",
    }
}

fn lock_to_change(dialect: SqlDialect) -> &'static str {
    match dialect {
        SqlDialect::Sqlite => "",
        SqlDialect::Postgres => " FOR UPDATE",
    }
}

// FAIL-CLOSED: a word that nobody knows is an error, not the absence of a pause.
pub(super) fn pause_of(row: &AnyRow) -> Result<Option<Pause>, StoreError> {
    let how: Option<String> = row.try_get("how")?;
    let Some(how) = how else { return Ok(None) };
    let mode: PauseMode = how.parse().map_err(|why: String| sqlx::Error::Decode(why.into()))?;
    let by: String = row.try_get("paused_by")?;
    Ok(Some(Pause { mode, by: read("paused_by", &by)?, since: row.try_get("since")? }))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]
    use super::*;
    use crate::{
        Closed, Inserted,
        engines::on_both,
        tests::{answered, new_ask},
    };
    use countersign_domain::{State, StoppedClock};

    fn ana() -> By {
        By::Person { platform: "telegram".into(), id: "4211".into(), name: "Ana".into() }
    }

    fn hold(since: i64) -> Pause {
        Pause { mode: PauseMode::Hold, by: ana(), since }
    }

    async fn insert(store: &Store, id: &str, deadline_at: Option<i64>) -> countersign_domain::Ask {
        match store.insert_ask(&new_ask(id, None, deadline_at), &[]).await.unwrap() {
            Inserted::New(ask) | Inserted::Known(ask) => ask,
            other @ Inserted::OverLimit(_) => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn while_paused_nothing_is_approved_and_deadlines_run_on_with_what_was_left() {
        on_both(async |store| {
            let short = insert(&store, "short", Some(1_000)).await;
            let endless = insert(&store, "endless", None).await;
            assert_eq!(store.pause().await.unwrap(), None);
            assert_eq!(store.set_pause(&hold(400)).await.unwrap(), None);
            assert_eq!(store.pause().await.unwrap(), Some(hold(400)));
            let new = insert(&store, "new", Some(2_000)).await;
            let read = async |id: &str| store.ask(id).await.unwrap().unwrap();
            let stopped = |left_ms| Some(StoppedClock { left_ms });
            let now = read(&short.id).await;
            assert_eq!((now.deadline_at, now.stopped), (None, stopped(Some(600))));
            assert_eq!(read(&endless.id).await.stopped, stopped(None));
            assert_eq!((new.deadline_at, new.stopped), (None, stopped(Some(1_999))));
            assert_eq!(read(&new.id).await, new);
            // Read before the pause or read now: neither can approve it.
            let yes = answered(countersign_domain::Decision::Approve, 500);
            for seen in [&short, &now] {
                let closed = store.close_ask(seen, &yes, &[]).await.unwrap();
                assert!(matches!(closed, Closed::Lost(ask) if ask.is_open()));
            }
            let no = answered(countersign_domain::Decision::Deny, 500);
            assert!(matches!(store.close_ask(&new, &no, &[]).await.unwrap(), Closed::Won(_)));
            // Another way, and the same pause.
            let deny = Pause { mode: PauseMode::Deny, ..hold(700) };
            assert_eq!(store.set_pause(&deny).await.unwrap(), Some(hold(400)));
            let since = Pause { since: 400, ..deny };
            assert_eq!(store.end_pause(&ana(), 10_000).await.unwrap(), Some(since));
            assert_eq!(store.end_pause(&ana(), 10_000).await.unwrap(), None);
            let after = read(&short.id).await;
            assert_eq!((after.deadline_at, after.stopped), (Some(10_600), None));
            assert_eq!(read(&endless.id).await.deadline_at, None);
            let yes = answered(countersign_domain::Decision::Approve, 10_500);
            let closed = store.close_ask(&after, &yes, &[]).await.unwrap();
            assert!(matches!(closed, Closed::Won(ask) if matches!(ask.state, State::Answered(_))));
        })
        .await;
    }
}
