//! Deletes closed asks and events after the retention time, in batches.

use super::{Store, StoreError, Tx, bundling};
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
        self.write(move |tx| Box::pin(async move { forget_events(tx, before).await })).await
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
async fn forget_events(tx: &mut Tx, before: i64) -> Result<usize, StoreError> {
    let gone = sqlx::query(
        "DELETE FROM event WHERE id IN \
         (SELECT id FROM event WHERE at < $1 ORDER BY at LIMIT $2) RETURNING id, kind",
    );
    let gone = gone.bind(before).bind(EVENTS).fetch_all(&mut *tx).await?;
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

    #[tokio::test]
    async fn events_are_forgotten_by_age_and_a_page_at_a_time() {
        on_both(async |store| {
            let page = usize::try_from(EVENTS).unwrap();
            note(&store, 1, "ruled", page + 3).await;
            note(&store, 5, "ruled", 2).await;
            assert_eq!(store.forget_events(1).await.unwrap(), 0);
            assert_eq!(store.forget_events(5).await.unwrap(), page);
            assert_eq!(store.forget_events(5).await.unwrap(), 3);
            assert_eq!(store.forget_events(5).await.unwrap(), 0);
            let left = store.events_after(0, 99).await.unwrap();
            assert!(left.len() == 2 && left.iter().all(|event| event.at == 5), "{left:?}");
        })
        .await;
    }

    #[tokio::test]
    async fn no_counter_falls_when_events_are_forgotten() {
        on_both(async |store| {
            note(&store, 1, "asked", 2).await;
            note(&store, 1, "ruled", 3).await;
            let counts = async || store.event_counts().await.unwrap();
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
