//! Deletes closed asks and events after the retention time, in batches.

use super::{
    Store, StoreError, Tx,
    chain::{checkpoint, log_row},
    log_sent,
    sealing::{self, Round},
};
use countersign_domain::log::LogHead;
use serde_json::json;
use sqlx::{Row, any::AnyRow};
use std::collections::BTreeMap;

/// The largest number of events that are forgotten in one transaction.
const EVENTS: i64 = 500;

impl Store {
    /// The id of the newest event that was deleted; 0 if none was.
    ///
    /// # Errors
    /// When the store fails.
    pub(super) async fn newest_forgotten(&self) -> Result<i64, StoreError> {
        let newest = sqlx::query("SELECT coalesce(max(newest), 0) AS newest FROM forgotten");
        Ok(self.one(newest).await?.try_get("newest")?)
    }
}

/// How old rows of the log have to be to be forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Forgetting {
    /// For how long rows are kept, in milliseconds.
    pub(super) keep_ms: i64,
    /// Rows from before this are old enough.
    pub(super) before: i64,
    /// Rows behind this one wait, because a destination has not taken them …
    pub(super) taken: i64,
    /// … unless they are from before this.
    pub(super) long_before: i64,
}

/// Forgets some rows at the beginning of the log; returns how many.
// INVARIANT: deleted events are counted in the same transaction: no counter falls.
// INVARIANT: only the beginning of the log is forgotten, its last hash is kept, and a row that is
// sealed with it says so: the rest still proves itself.
// SECURITY: only rows that are as they were sealed. A time that somebody changed in the database
// makes no row older.
pub(super) async fn forget_rows(
    tx: &mut Tx,
    round: &mut Round,
    forgetting: Forgetting,
) -> Result<usize, StoreError> {
    sealing::resume(tx, round).await?;
    if round.more {
        return Ok(0);
    }
    let Some(begin) = round.known.forgotten.clone() else { return Ok(0) };
    let first = "SELECT event.seq, at, kind, ask, data, hash FROM event \
         JOIN log_hash ON log_hash.seq = event.seq WHERE event.seq > $1 \
         ORDER BY event.seq LIMIT $2";
    let first = sqlx::query(first).bind(begin.count).bind(EVENTS).fetch_all(&mut **tx).await?;
    let signed = "SELECT seq, at, hash, key, signature FROM log_checkpoint \
         WHERE seq > $1 ORDER BY seq LIMIT $2";
    let signed = sqlx::query(signed).bind(begin.count).bind(EVENTS).fetch_all(&mut **tx).await?;
    let signed = signed.iter().map(checkpoint).collect::<Result<Vec<_>, _>>()?;
    let signed: BTreeMap<_, _> = signed.iter().map(|it| (it.head.count, it)).collect();
    // Up to a checkpoint, because its signature says that the rows are as they were sealed.
    let (mut last, mut newest, mut untaken) = (begin.clone(), i64::MIN, 0_i64);
    let (mut up_to, mut changed) = (None, false);
    for row in &first {
        let seq = row.try_get("seq")?;
        let row = log_row(row, seq)?;
        let waits = seq > forgetting.taken && row.at >= forgetting.long_before;
        if row.at >= forgetting.before || waits {
            break;
        }
        untaken += i64::from(seq > forgetting.taken);
        newest = newest.max(row.at);
        last = LogHead { count: seq, hash: row.hash(&last.hash) };
        if let Some(signed) = signed.get(&seq) {
            let signer = signed.signer(&round.known.store).filter(|_| signed.head == last);
            changed = !signer.is_some_and(|key| round.trusts(&key));
            if changed {
                break;
            }
            up_to = Some((last.clone(), newest, untaken));
        }
    }
    let Some((last, newest, untaken)) = up_to else {
        let first = begin.count + 1;
        let seen = round.known.broken.as_ref().is_some_and(|broken| broken.row == first);
        if (changed || last.count - begin.count == EVENTS) && !seen {
            let says = "rows that are to be forgotten are not as they were sealed";
            round.broke(first, says.to_owned());
        }
        return Ok(0);
    };
    let end = "UPDATE log_end SET forgotten = $1, forgotten_hash = $2 WHERE id = 1";
    let end = sqlx::query(end).bind(last.count).bind(last.hash.clone());
    end.execute(&mut **tx).await?;
    for statement in
        ["DELETE FROM log_hash WHERE seq <= $1", "DELETE FROM log_checkpoint WHERE seq <= $1"]
    {
        sqlx::query(statement).bind(last.count).execute(&mut **tx).await?;
    }
    let gone = sqlx::query("DELETE FROM event WHERE seq <= $1 RETURNING id, kind");
    let gone = gone.bind(last.count).fetch_all(&mut **tx).await?;
    let rows = last.count;
    round.known.forgotten = Some(last);
    let mut data = json!({"rows": rows, "newest": newest, "keep_ms": forgetting.keep_ms});
    if let (true, Some(data)) = (untaken > 0, data.as_object_mut()) {
        data.insert("undelivered".to_owned(), untaken.into());
    }
    sealing::seal_own(tx, round, "forgot", &data).await?;
    log_sent::lost(tx, rows).await?;
    count(tx, &gone).await?;
    Ok(gone.len())
}

/// The number of deleted events of a kind, and the newest of them.
#[derive(Default)]
struct Forgotten {
    events: i64,
    newest: i64,
}

/// Counts events that are gone.
async fn count(tx: &mut Tx, gone: &[AnyRow]) -> Result<(), StoreError> {
    let mut kinds: BTreeMap<String, Forgotten> = BTreeMap::new();
    for row in gone {
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
        count.bind(kind).bind(events).bind(newest).execute(&mut **tx).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use crate::{LogSealer, engines::on_both};
    use futures::future::join_all;
    use serde_json::Value;

    async fn note(store: &Store, at: i64, kind: &str, times: usize) {
        let notes = (0..times).map(|_| store.note(at, kind, None, &Value::Null));
        join_all(notes).await.into_iter().for_each(|noted| noted.unwrap());
    }

    async fn forget_all(log: &LogSealer, before: i64) -> usize {
        let mut forgotten = 0;
        loop {
            match log.forget_before(before, 0).await.unwrap() {
                0 => return forgotten,
                some => forgotten += some,
            }
        }
    }

    #[tokio::test]
    async fn events_are_forgotten_by_age_and_a_page_at_a_time() {
        on_both(async |store| {
            let (log, _state) = store.sealed().await;
            let page = usize::try_from(EVENTS).unwrap();
            note(&store, 1, "ruled", page + 3).await;
            log.seal().await.unwrap();
            note(&store, 5, "ruled", 2).await;
            log.seal().await.unwrap();
            assert_eq!(log.forget_before(1, 0).await.unwrap(), 0);
            let first = log.forget_before(5, 0).await.unwrap();
            assert!((1..=page).contains(&first), "{first}");
            assert_eq!(forget_all(&log, 5).await, page + 3 - first);
            let left = store.events_after(0, 99).await.unwrap();
            let left: Vec<_> = left.iter().filter(|event| event.kind != "forgot").collect();
            assert!(left.len() == 2 && left.iter().all(|event| event.at == 5), "{left:?}");
        })
        .await;
    }

    #[tokio::test]
    async fn no_counter_falls_when_events_are_forgotten() {
        on_both(async |store| {
            let (log, _state) = store.sealed().await;
            note(&store, 1, "asked", 2).await;
            note(&store, 1, "ruled", 3).await;
            log.seal().await.unwrap();
            let counts = async || {
                let mut counts = store.event_counts().await.unwrap();
                counts.retain(|(kind, _)| kind != "forgot");
                counts
            };
            let all = [("asked".to_owned(), 2), ("ruled".to_owned(), 3)];
            assert_eq!(counts().await, all);
            assert_eq!(store.newest_forgotten().await.unwrap(), 0);
            let newest = store.events_after(0, 99).await.unwrap().last().unwrap().id;
            assert_eq!(log.forget_before(2, 0).await.unwrap(), 5);
            assert_eq!(counts().await, all);
            assert_eq!(store.newest_forgotten().await.unwrap(), newest);
            note(&store, 1, "ruled", 1).await;
            log.seal().await.unwrap();
            // Behind the row that says what was forgotten, which is young.
            assert_eq!(log.forget_before(2, 0).await.unwrap(), 0);
            note(&store, 3, "ruled", 1).await;
            assert_eq!(counts().await, [("asked".to_owned(), 2), ("ruled".to_owned(), 5)]);
        })
        .await;
    }

    #[tokio::test]
    async fn a_time_that_somebody_changed_makes_no_row_older() {
        on_both(async |store| {
            let (log, _state) = store.sealed().await;
            note(&store, 100, "ruled", 9).await;
            log.seal().await.unwrap();
            store.execute(sqlx::query("UPDATE event SET at = 1 WHERE seq < 5")).await.unwrap();
            assert_eq!(log.forget_before(50, 0).await.unwrap(), 0);
            assert!(store.log_broken().is_none(), "a part of what was sealed together is no proof");
            store.execute(sqlx::query("UPDATE event SET at = 1 WHERE seq < 10")).await.unwrap();
            assert_eq!(log.forget_before(50, 0).await.unwrap(), 0);
            let says = store.log_broken().unwrap().says;
            assert_eq!(says, "rows that are to be forgotten are not as they were sealed");
            assert_eq!(store.events_after(0, 99).await.unwrap().len(), 10, "none is gone");
        })
        .await;
    }

    #[tokio::test]
    async fn rows_that_a_destination_has_not_taken_wait_within_a_bound_and_then_are_told() {
        on_both(async |store| {
            let (log, _state) = store.sealed().await;
            let week = 7 * 86_400_000;
            let taken = |seq| {
                let store = store.clone();
                async move { store.note_log_sent("file a", seq).await.unwrap() }
            };
            store.note_log_tried("file a", Some("the disk is full")).await.unwrap();
            for at in [10, 20, 30] {
                note(&store, at, "ruled", 1).await;
                log.seal().await.unwrap();
            }
            assert_eq!(log.forget_before(40, 0).await.unwrap(), 0);
            let one = store.log_destinations().await.unwrap().remove(0);
            assert_eq!((one.waiting, one.why.as_deref()), (3, Some("the disk is full")));
            taken(1).await;
            assert_eq!(log.forget_before(40, 0).await.unwrap(), 1);
            // Longer than that nothing waits: the row says so, and the destination's state.
            assert_eq!(log.forget_before(week + 25, 0).await.unwrap(), 1);
            let rows = store.events_after(0, 99).await.unwrap();
            let forgot = rows.iter().filter(|row| row.kind == "forgot");
            let undelivered: Vec<_> = forgot.map(|row| row.data.get("undelivered")).collect();
            assert_eq!(undelivered, [None, Some(&json!(1))]);
            let one = store.log_destinations().await.unwrap().remove(0);
            assert_eq!((one.lost, one.since), (1, None));
            let told: Vec<_> = store.log_troubles().await.into_iter().map(|it| it.says).collect();
            assert_eq!(told, ["file a: 1 rows of the log were deleted before it took them"]);
        })
        .await;
    }
}
