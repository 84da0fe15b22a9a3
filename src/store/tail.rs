//! The end of the event log, followed: every event once, also those that several daemons write at
//! the same time.
//!
//! PostgreSQL hands out an event's id before its transaction is committed, so a lower id may turn
//! up after a higher one. A gap is therefore looked at again for longer than any transaction may
//! last.

use super::{Event, Store, StoreError};
use crate::clock;
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

    /// Follows the log from now on. What is being committed at this moment turns up, though what is
    /// later may stand there already.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn of_now(store: &Store) -> Result<Self, StoreError> {
        let longest = i64::try_from(LONGEST_GAP.as_millis()).unwrap_or(i64::MAX);
        // Twice: an event's time is a while older than its id, and the clocks of daemons differ.
        let old = store.last_event_before(clock::now_ms() - 2 * longest).await?;
        let mut tail = Self::after(old);
        while tail.next(store).await?.len() >= PAGE as usize {}
        Ok(tail)
    }

    /// After which event a reader goes on who has read what [`Tail::next`] told, up to the event
    /// with this id: before the first one that may still turn up.
    // INVARIANT: whoever goes on there misses nothing.
    #[must_use]
    pub fn resume(&self, read: i64) -> i64 {
        self.gaps.keys().next().map_or(read, |gap| read.min(gap - 1))
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
    use sqlx::{AnyConnection, Connection, Executor, Row};

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

    /// An event whose transaction is not committed yet, and its id.
    async fn slow(store: &Store, kind: &str) -> (AnyConnection, i64) {
        let mut slow = store.engine.another().await.unwrap();
        slow.execute("BEGIN").await.unwrap();
        let insert = "INSERT INTO event (at, kind, data) VALUES ($1, $2, 'null') RETURNING id";
        let insert = sqlx::query(insert).bind(clock::now_ms()).bind(kind.to_owned());
        let id = slow.fetch_one(insert).await.unwrap().try_get("id").unwrap();
        (slow, id)
    }

    async fn commit(mut slow: AnyConnection) {
        slow.execute("COMMIT").await.unwrap();
        slow.close().await.unwrap();
    }

    #[tokio::test]
    async fn an_event_that_is_committed_after_a_later_one_is_not_missed() {
        let Some(fresh) = Fresh::postgres().await else { return };
        let store = Store::open(&fresh.database).await.unwrap();
        let mut tail = Tail::after(0);
        let (early, id) = slow(&store, "early").await;
        store.note(clock::now_ms(), "late", None, &Value::Null).await.unwrap();
        let mut from_now = Tail::of_now(&store).await.unwrap();
        let late = tail.next(&store).await.unwrap();
        assert!(late.len() == 1 && late.iter().all(|event| event.id > id), "{late:?}");
        commit(early).await;
        assert_eq!(kinds(&mut tail, &store).await, ["early"]);
        assert_eq!(kinds(&mut tail, &store).await, [""; 0]);
        assert_eq!(kinds(&mut from_now, &store).await, ["early"]);
        store.close().await;
        fresh.drop().await;
    }

    #[tokio::test]
    async fn a_reader_that_goes_on_where_it_is_told_misses_nothing_whenever_its_line_breaks() {
        let Some(fresh) = Fresh::postgres().await else { return };
        let store = Store::open(&fresh.database).await.unwrap();
        let note =
            async |kind| store.note(clock::now_ms(), kind, None, &Value::Null).await.unwrap();
        note("a").await;
        let (b, _) = slow(&store, "b").await;
        note("c").await;
        let (d, _) = slow(&store, "d").await;
        note("e").await;
        let mut tail = Tail::after(0);
        // What was read, up to each event of a batch, and what a new reader gets who goes on there.
        let mut read = Vec::new();
        let mut broken = Vec::new();
        for late in [None, Some(d), Some(b)] {
            if let Some(slow) = late {
                commit(slow).await;
            }
            for event in tail.next(&store).await.unwrap() {
                read.push(event.kind);
                broken.push((read.clone(), tail.resume(event.id)));
            }
        }
        assert_eq!(read, ["a", "c", "e", "d", "b"]);
        for (mut had, resume) in broken {
            had.extend(kinds(&mut Tail::after(resume), &store).await);
            for kind in ["a", "b", "c", "d", "e"] {
                assert!(had.iter().any(|had| had == kind), "{kind} is not among {had:?}");
            }
        }
        store.close().await;
        fresh.drop().await;
    }
}
