//! Deletes closed asks and events after the retention time, in batches.

use super::{Store, StoreError, Tx, bundling, chain, events, threads};
use crate::clock;
use serde_json::json;
use sqlx::Row;
use std::collections::BTreeMap;

/// The largest number of asks deleted in one transaction: other writers wait while it runs.
const BATCH: i64 = 200;
/// The same for events, which are small.
const EVENTS: i64 = 500;

impl Store {
    /// Deletes some asks that were closed before `before`, with their cards, oldest first; returns
    /// how many. There may be more as long as the result is not 0.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn forget_closed(&self, before: i64) -> Result<u64, StoreError> {
        // Read outside the transaction, so that the writer is held only for the deletes. A closed
        // ask never opens again, so the list stays true.
        let old =
            sqlx::query("SELECT id FROM ask WHERE closed_at < $1 ORDER BY closed_at LIMIT $2");
        let old = self.all(old.bind(before).bind(BATCH)).await?;
        let ids = old.iter().map(|row| row.try_get("id")).collect::<Result<Vec<String>, _>>()?;
        if ids.is_empty() {
            return Ok(0);
        }
        self.write(move |tx| {
            Box::pin(async move {
                let mut forgotten = 0;
                for id in ids {
                    // Before the ask, which they refer to by a foreign key.
                    let cards = sqlx::query("DELETE FROM card WHERE ask = $1").bind(&id);
                    cards.execute(&mut *tx).await?;
                    let owed = sqlx::query("DELETE FROM owed_text WHERE ask = $1").bind(&id);
                    owed.execute(&mut *tx).await?;
                    let ask = sqlx::query("DELETE FROM ask WHERE id = $1").bind(&id);
                    forgotten += ask.execute(&mut *tx).await?.rows_affected();
                }
                bundling::forget(tx, before).await?;
                threads::forget(tx, before).await?;
                Ok(forgotten)
            })
        })
        .await
    }

    /// Deletes some events before `before`, oldest first; returns how many. There may be more as
    /// long as the result is not 0.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn forget_events(&self, before: i64) -> Result<usize, StoreError> {
        // A read first: most calls find nothing, and would otherwise cost a write transaction each.
        let old = sqlx::query("SELECT 1 AS one FROM event WHERE at < $1 LIMIT 1");
        if self.maybe(old.bind(before)).await?.is_none() {
            return Ok(0);
        }
        let store = self.id().to_owned();
        self.write(move |tx| Box::pin(async move { forget_events(tx, &store, before).await })).await
    }

    /// The id of the newest event that was deleted; 0 if none was.
    ///
    /// # Errors
    /// When the store fails.
    pub(super) async fn newest_forgotten(&self) -> Result<i64, StoreError> {
        let newest = sqlx::query("SELECT coalesce(max(newest), 0) AS newest FROM forgotten");
        Ok(self.one(newest).await?.try_get("newest")?)
    }
}

/// The number of deleted events of a kind, and the newest of them.
#[derive(Default)]
struct Forgotten {
    events: i64,
    newest: i64,
}

// INVARIANT: deleted events are counted in the same transaction: no counter falls.
// INVARIANT: only the beginning of the log is forgotten, its last hash is kept, and a row says so:
// the rest still proves itself.
async fn forget_events(tx: &mut Tx, store: &str, before: i64) -> Result<usize, StoreError> {
    chain::extend(tx, store).await?;
    let first = "SELECT seq, at, \
         (SELECT hash FROM log_hash WHERE log_hash.seq = event.seq) AS hash FROM event \
         WHERE seq > (SELECT forgotten FROM log_end WHERE id = 1) ORDER BY seq LIMIT $1";
    let first = sqlx::query(first).bind(EVENTS).fetch_all(&mut *tx).await?;
    let mut last: Option<(i64, String)> = None;
    for row in &first {
        if row.try_get::<i64, _>("at")? >= before {
            break;
        }
        last = Some((row.try_get("seq")?, row.try_get("hash")?));
    }
    let Some((last, hash)) = last else { return Ok(0) };
    let end = "UPDATE log_end SET forgotten = $1, forgotten_hash = $2 WHERE id = 1";
    sqlx::query(end).bind(last).bind(hash).execute(&mut *tx).await?;
    for statement in
        ["DELETE FROM log_hash WHERE seq <= $1", "DELETE FROM log_checkpoint WHERE seq <= $1"]
    {
        sqlx::query(statement).bind(last).execute(&mut *tx).await?;
    }
    let gone = sqlx::query("DELETE FROM event WHERE seq <= $1 RETURNING id, kind");
    let gone = gone.bind(last).fetch_all(&mut *tx).await?;
    events::append(tx, clock::now_ms(), "forgot", None, &json!({ "rows": last })).await?;
    let mut kinds: BTreeMap<String, Forgotten> = BTreeMap::new();
    for row in &gone {
        let kind = kinds.entry(row.try_get("kind")?).or_default();
        kind.events += 1;
        kind.newest = kind.newest.max(row.try_get("id")?);
    }
    for (kind, Forgotten { events, newest }) in kinds {
        let count = sqlx::query(
            "INSERT INTO forgotten (kind, events, newest) VALUES ($1, $2, $3) \
             ON CONFLICT (kind) DO UPDATE SET events = forgotten.events + excluded.events, \
             newest = CASE WHEN excluded.newest > forgotten.newest THEN excluded.newest \
             ELSE forgotten.newest END",
        );
        count.bind(kind).bind(events).bind(newest).execute(&mut *tx).await?;
    }
    Ok(gone.len())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use crate::store::engines::on_both;
    use futures::future::join_all;
    use serde_json::Value;

    async fn note(store: &Store, at: i64, kind: &str, times: usize) {
        let notes = (0..times).map(|_| store.note(at, kind, None, &Value::Null));
        join_all(notes).await.into_iter().for_each(|noted| noted.unwrap());
    }

    async fn forget_all(store: &Store, before: i64) -> usize {
        let mut forgotten = 0;
        loop {
            match store.forget_events(before).await.unwrap() {
                0 => return forgotten,
                some => forgotten += some,
            }
        }
    }

    #[tokio::test]
    async fn events_are_forgotten_by_age_and_a_page_at_a_time() {
        on_both(async |store| {
            let page = usize::try_from(EVENTS).unwrap();
            note(&store, 1, "ruled", page + 3).await;
            note(&store, 5, "ruled", 2).await;
            assert_eq!(store.forget_events(1).await.unwrap(), 0);
            let first = store.forget_events(5).await.unwrap();
            assert!((1..=page).contains(&first), "{first}");
            assert_eq!(forget_all(&store, 5).await, page + 3 - first);
            let left = store.events_after(0, 99).await.unwrap();
            let left: Vec<_> = left.iter().filter(|event| event.kind != "forgot").collect();
            assert!(left.len() == 2 && left.iter().all(|event| event.at == 5), "{left:?}");
        })
        .await;
    }

    #[tokio::test]
    async fn no_counter_falls_when_events_are_forgotten() {
        on_both(async |store| {
            note(&store, 1, "asked", 2).await;
            note(&store, 1, "ruled", 3).await;
            let counts = async || {
                let mut counts = store.event_counts().await.unwrap();
                counts.retain(|(kind, _)| kind != "forgot");
                counts
            };
            let all = [("asked".to_owned(), 2), ("ruled".to_owned(), 3)];
            assert_eq!(counts().await, all);
            assert_eq!(store.newest_forgotten().await.unwrap(), 0);
            let newest = store.events_after(0, 99).await.unwrap().last().unwrap().id;
            assert_eq!(store.forget_events(2).await.unwrap(), 5);
            assert_eq!(counts().await, all);
            assert_eq!(store.newest_forgotten().await.unwrap(), newest);
            note(&store, 1, "ruled", 1).await;
            store.forget_events(2).await.unwrap();
            note(&store, 3, "ruled", 1).await;
            assert_eq!(counts().await, [("asked".to_owned(), 2), ("ruled".to_owned(), 5)]);
        })
        .await;
    }
}
