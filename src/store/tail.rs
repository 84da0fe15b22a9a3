//! Follows the end of the event log and returns every event once, also those that several daemons
//! write at the same time.
//!
//! PostgreSQL assigns an event's id before its transaction commits, so a lower id may appear after
//! a higher one. A gap in the ids is therefore read again for longer than any transaction may last.

use super::{Event, Store, StoreError};
use countersign_tokens::clock;
use std::time::Duration;
use tokio::time::Instant;

/// Longer than a transaction may hang before the server ends it
/// (`idle_in_transaction_session_timeout` and `statement_timeout` of our connections).
const LONGEST_GAP: Duration = Duration::from_secs(30);
/// The number of events read at once.
const PAGE: u32 = 500;

/// A position in the event log.
#[derive(Debug)]
pub struct Tail {
    last: i64,
    /// Gaps below `last` whose ids have not appeared, in ascending order.
    gaps: Vec<Gap>,
    /// No event up to this id appears any more.
    forgotten: i64,
}

/// A range of ids that have not appeared, and until when they may. One entry per range, because
/// thousands of events in a row may have been deleted.
#[derive(Debug, Clone, Copy)]
struct Gap {
    first: i64,
    last: i64,
    until: Instant,
}

/// The position of a reader that resumes.
#[derive(Debug)]
#[must_use]
pub enum Resumed {
    /// Every event after it is still stored.
    There(Tail),
    /// Some events after it were deleted; the stored ones follow.
    Forgotten(Tail),
}

impl Tail {
    /// Follows the log after the event with this id.
    #[must_use]
    pub fn after(id: i64) -> Self {
        Self { last: id, gaps: Vec::new(), forgotten: 0 }
    }

    /// As [`after`](Self::after), for a reader that has been disconnected.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn resume_after(store: &Store, id: i64) -> Result<Resumed, StoreError> {
        let forgotten = store.newest_forgotten().await?;
        let tail = Self { forgotten, ..Self::after(id) };
        Ok(if id < forgotten { Resumed::Forgotten(tail) } else { Resumed::There(tail) })
    }

    /// Follows the log from before its latest `latest` events on; those that only the log shows
    /// count where `quiet` is true.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn of_last(store: &Store, latest: u32, quiet: bool) -> Result<Self, StoreError> {
        let id = store.event_before_last(latest, quiet).await?;
        Ok(match Self::resume_after(store, id).await? {
            Resumed::There(tail) | Resumed::Forgotten(tail) => tail,
        })
    }

    /// Follows the log from now on. An event that is being committed now is returned later, even if
    /// newer ones are already stored.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn of_now(store: &Store) -> Result<Self, StoreError> {
        let longest = i64::try_from(LONGEST_GAP.as_millis()).unwrap_or(i64::MAX);
        // Twice: an event's time is taken a while before its id, and the clocks of daemons differ.
        let old = store.last_event_before(clock::now_ms() - 2 * longest).await?;
        let mut tail = Self::after(old);
        // Reads up to the end and drops the result, which leaves `last` and the open gaps.
        while tail.next(store).await?.len() >= PAGE as usize {}
        Ok(tail)
    }

    /// The id to resume after, for a reader that has read the result of [`Tail::next`] up to the
    /// event `read`: before the first event that may still appear.
    // INVARIANT: a reader that resumes there misses nothing.
    #[must_use]
    pub fn resume(&self, read: i64) -> i64 {
        self.gaps.first().map_or(read, |gap| read.min(gap.first - 1))
    }

    /// The new events, oldest first as far as is known; empty if there are none.
    ///
    /// # Errors
    /// When the store fails; then the next call returns the same events.
    pub async fn next(&mut self, store: &Store) -> Result<Vec<Event>, StoreError> {
        let now = Instant::now();
        self.gaps.retain(|gap| gap.until > now);
        // One query spans all gaps. The events between two gaps come along; they were returned
        // before, and `fill` drops them.
        let mut found = match (self.gaps.first(), self.gaps.last()) {
            (Some(first), Some(last)) => store.events_between(first.first, last.last).await?,
            _ => Vec::new(),
        };
        let new = store.events_after(self.last, PAGE).await?;
        found.retain(|event| self.fill(event.id));
        for event in &new {
            // Ids up to `forgotten` were deleted, so a gap among them is not waited for.
            let first = self.last.max(self.forgotten) + 1;
            if first < event.id {
                let (last, until) = (event.id - 1, now + LONGEST_GAP);
                self.gaps.push(Gap { first, last, until });
            }
            self.last = event.id;
        }
        found.extend(new);
        Ok(found)
    }

    /// Removes this id from its gap; returns `false` if it is in none, so was returned before.
    fn fill(&mut self, id: i64) -> bool {
        let of = |gap: &Gap| (gap.first..=gap.last).contains(&id);
        let Some(at) = self.gaps.iter().position(of) else { return false };
        let gap = self.gaps.remove(at);
        let rest = [Gap { last: id - 1, ..gap }, Gap { first: id + 1, ..gap }];
        self.gaps.splice(at..at, rest.into_iter().filter(|gap| gap.first <= gap.last));
        true
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]
    use super::*;
    use crate::engines::{Fresh, on_both};
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

    #[tokio::test]
    async fn however_many_events_are_forgotten_it_is_one_gap_at_most() {
        on_both(async |store| {
            let (log, _state) = store.sealed().await;
            for at in 1..=30 {
                store.note(at, "old", None, &Value::Null).await.unwrap();
            }
            log.seal().await.unwrap();
            let oldest = store.events_after(0, 1).await.unwrap().first().unwrap().id;
            store.note(50, "kept", None, &Value::Null).await.unwrap();
            log.seal().await.unwrap();
            assert_eq!(log.forget_before(40, 0).await.unwrap(), 30);
            let mut tail = Tail::after(oldest);
            assert_eq!(kinds(&mut tail, &store).await, ["kept", "forgot"]);
            assert_eq!(tail.gaps.len(), 1, "{tail:?}");
            let mut now = Tail::of_now(&store).await.unwrap();
            assert_eq!(kinds(&mut now, &store).await, [""; 0]);
        })
        .await;
    }

    #[tokio::test]
    async fn a_reader_whose_place_is_gone_learns_it_and_goes_on_with_what_is_kept() {
        on_both(async |store| {
            let (log, _state) = store.sealed().await;
            for at in 1..=3 {
                store.note(at, "old", None, &Value::Null).await.unwrap();
            }
            log.seal().await.unwrap();
            let newest = store.events_after(0, 9).await.unwrap().last().unwrap().id;
            for kind in ["kept", "kept too"] {
                store.note(9, kind, None, &Value::Null).await.unwrap();
            }
            log.seal().await.unwrap();
            assert_eq!(log.forget_before(5, 0).await.unwrap(), 3);
            let Resumed::Forgotten(mut tail) =
                Tail::resume_after(&store, newest - 1).await.unwrap()
            else {
                panic!("the newest of the old ones is gone, and was not read");
            };
            assert_eq!(kinds(&mut tail, &store).await, ["kept", "kept too", "forgot"]);
            assert_eq!(tail.resume(newest + 2), newest + 2, "it awaits nothing that is gone");
            let Resumed::There(mut tail) = Tail::resume_after(&store, newest).await.unwrap() else {
                panic!("it has read all that is gone");
            };
            assert_eq!(kinds(&mut tail, &store).await, ["kept", "kept too", "forgot"]);
        })
        .await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_gap_is_filled_from_anywhere_in_it() {
        let until = Instant::now() + LONGEST_GAP;
        let mut tail = Tail::after(9);
        tail.gaps.push(Gap { first: 2, last: 6, until });
        for (id, awaited) in [(4, true), (4, false), (2, true), (7, false), (6, true)] {
            assert_eq!(tail.fill(id), awaited, "{id}");
        }
        let left: Vec<_> = tail.gaps.iter().map(|gap| (gap.first, gap.last)).collect();
        assert_eq!(left, [(3, 3), (5, 5)]);
        assert_eq!(tail.resume(9), 2);
    }

    /// Begins an event without committing it; returns the connection and the event's id.
    async fn slow(store: &Store, kind: &str) -> (AnyConnection, i64) {
        let mut slow = store.engine.another().await.unwrap();
        slow.execute("BEGIN").await.unwrap();
        // The insert takes the next id, while other transactions commit higher ones.
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
        // The events read up to each point, and the id that a new reader resumes after.
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
