//! The end of the event log, followed: every event once, also those that several daemons write at the
//! same time.
//!
//! PostgreSQL hands out an event's id before its transaction is committed, so a lower id may turn up
//! after a higher one. A gap is therefore looked at again for longer than any transaction may last.

use super::{Event, Store, StoreError};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use tokio::time::Instant;

/// Longer than a transaction may hang before the server ends it.
const LONGEST_GAP: Duration = Duration::from_secs(30);
/// How many events are read at once.
const PAGE: u32 = 500;

/// A place in the event log.
#[derive(Debug)]
pub struct Tail {
    last: i64,
    /// Ids below `last` that have not turned up, and until when they may.
    gaps: BTreeMap<i64, Instant>,
}

impl Tail {
    /// Follows the log after the event with this id.
    #[must_use]
    pub fn after(id: i64) -> Self {
        Self { last: id, gaps: BTreeMap::new() }
    }

    /// What is new, oldest first as far as it can be known; empty when nothing is.
    ///
    /// # Errors
    /// When the store fails; then the same is told the next time.
    pub async fn next(&mut self, store: &Store) -> Result<Vec<Event>, StoreError> {
        let now = Instant::now();
        self.gaps.retain(|_, until| *until > now);
        let mut found = match (self.gaps.keys().next(), self.gaps.keys().next_back()) {
            (Some(first), Some(last)) => store.events_between(*first, *last).await?,
            _ => Vec::new(),
        };
        found.retain(|event| self.gaps.contains_key(&event.id));
        let new = store.events_after(self.last, PAGE).await?;
        let reached = new.last().map_or(self.last, |event| event.id);
        found.extend(new);
        let here: BTreeSet<i64> = found.iter().map(|event| event.id).collect();
        self.gaps.retain(|id, _| !here.contains(id));
        for id in self.last + 1..reached {
            if !here.contains(&id) {
                self.gaps.insert(id, now + LONGEST_GAP);
            }
        }
        self.last = self.last.max(reached);
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use crate::store::engines::{Fresh, on_both};
    use serde_json::Value;
    use sqlx::{Executor, Row};

    async fn kinds(tail: &mut Tail, store: &Store) -> Vec<String> {
        tail.next(store).await.unwrap().into_iter().map(|event| event.kind).collect()
    }

    #[tokio::test]
    async fn every_event_is_told_once_and_in_order() {
        on_both(async |store| {
            let mut tail = Tail::after(0);
            assert_eq!(kinds(&mut tail, &store).await, [""; 0]);
            for kind in ["one", "two"] {
                store.note(1, kind, None, &Value::Null).await.unwrap();
            }
            assert_eq!(kinds(&mut tail, &store).await, ["one", "two"]);
            store.note(1, "three", None, &Value::Null).await.unwrap();
            assert_eq!(kinds(&mut tail, &store).await, ["three"]);
            assert_eq!(kinds(&mut tail, &store).await, [""; 0]);
        })
        .await;
    }

    #[tokio::test]
    async fn an_event_that_is_committed_after_a_later_one_is_not_missed() {
        let Some(fresh) = Fresh::postgres().await else { return };
        let store = Store::open(&fresh.database).await.unwrap();
        let mut tail = Tail::after(0);
        let mut slow = store.engine.pool().begin().await.unwrap();
        let early = "INSERT INTO event (at, kind, data) VALUES (1, 'early', 'null') RETURNING id";
        let id: i64 = slow.fetch_one(early).await.unwrap().try_get("id").unwrap();
        store.note(1, "late", None, &Value::Null).await.unwrap();
        let late = tail.next(&store).await.unwrap();
        assert!(late.len() == 1 && late.iter().all(|event| event.id > id), "{late:?}");
        slow.commit().await.unwrap();
        assert_eq!(kinds(&mut tail, &store).await, ["early"]);
        assert_eq!(kinds(&mut tail, &store).await, [""; 0]);
        store.close().await;
        fresh.drop().await;
    }
}
