//! Events in order: the audit log, and the stream at `/v1/events`.

use super::{
    Store, StoreError, Tx,
    engine::{from_json, to_json},
};
use countersign_domain::log::ProvenRow;
use serde_json::Value;
use sqlx::{AssertSqlSafe, Row, any::AnyRow};

/// Kinds of events that only the log shows: no reader of the live stream waits for them.
const QUIET: [&str; 5] = ["allowed", "shown", "config", "rules", "forgot"];
/// The largest number of events in one statement.
const TOGETHER: usize = 200;

/// One entry of the event log.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Event {
    /// Ascending number.
    pub id: i64,
    /// Unix milliseconds.
    pub at: i64,
    /// The kind: `asked`, `answered`, `expired`, `postponed`, `cancelled`, `ruled`, `refused`,
    /// `revoked` …
    pub kind: String,
    /// The id of the ask, if the event is about one.
    pub ask: Option<String>,
    /// Data of this kind of event.
    pub data: Value,
}

/// An event to append.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEvent {
    /// Unix milliseconds.
    pub at: i64,
    /// Its kind.
    pub kind: String,
    /// The id of the ask, if it is about one.
    pub ask: Option<String>,
    /// Data of this kind of event.
    pub data: Value,
}

impl Event {
    /// Whether only the log shows it.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        QUIET.contains(&self.kind.as_str())
    }
}

impl Store {
    /// Appends an event.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn note(
        &self,
        at: i64,
        kind: &str,
        ask: Option<&str>,
        data: &Value,
    ) -> Result<(), StoreError> {
        let (kind, ask, data) = (kind.to_owned(), ask.map(str::to_owned), data.clone());
        self.write(move |tx| {
            Box::pin(async move { append(tx, at, &kind, ask.as_deref(), &data).await })
        })
        .await
    }

    /// Appends events, all or none.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn note_all(&self, events: Vec<NewEvent>) -> Result<(), StoreError> {
        self.write(move |tx| Box::pin(async move { append_all(tx, &events).await })).await
    }

    /// The events after this id, oldest first, at most `most`.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn events_after(&self, id: i64, most: u32) -> Result<Vec<Event>, StoreError> {
        let rows = self
            .all(
                sqlx::query(
                    "SELECT id, at, kind, ask, data FROM event WHERE id > $1 ORDER BY id LIMIT $2",
                )
                .bind(id)
                .bind(i64::from(most)),
            )
            .await?;
        rows.iter().map(event).collect()
    }

    /// The events from id `first` to id `last`, both included.
    ///
    /// # Errors
    /// When the store fails.
    pub(super) async fn events_between(
        &self,
        first: i64,
        last: i64,
    ) -> Result<Vec<Event>, StoreError> {
        let query = sqlx::query(
            "SELECT id, at, kind, ask, data FROM event WHERE id >= $1 AND id <= $2 ORDER BY id",
        );
        let rows = self.all(query.bind(first).bind(last)).await?;
        rows.iter().map(event).collect()
    }

    /// The id of the newest event before this time; 0 if there is none.
    ///
    /// # Errors
    /// When the store fails.
    pub(super) async fn last_event_before(&self, at: i64) -> Result<i64, StoreError> {
        // The `+` keeps both engines from using the index on `at`: nearly all events are older, and
        // walking back from the newest id finds one at once.
        let last = sqlx::query("SELECT id FROM event WHERE +at < $1 ORDER BY id DESC LIMIT 1");
        let row = self.maybe(last.bind(at)).await?;
        Ok(row.map(|row| row.try_get("id")).transpose()?.unwrap_or(0))
    }

    /// The id of the event before the latest `latest` ones; 0 if there are no more. Those that only
    /// the log shows count where `quiet` is true.
    ///
    /// # Errors
    /// When the store fails.
    pub(super) async fn event_before_last(
        &self,
        latest: u32,
        quiet: bool,
    ) -> Result<i64, StoreError> {
        let kinds = QUIET.map(|kind| format!("'{kind}'")).join(", ");
        let only = if quiet { String::new() } else { format!("WHERE kind NOT IN ({kinds}) ") };
        let before = format!("SELECT id FROM event {only}ORDER BY id DESC LIMIT 1 OFFSET $1");
        let before = sqlx::query(AssertSqlSafe(before));
        let row = self.maybe(before.bind(i64::from(latest))).await?;
        Ok(row.map(|row| row.try_get("id")).transpose()?.unwrap_or(0))
    }

    /// The number of events of each kind, including those that were pruned.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn event_counts(&self) -> Result<Vec<(String, i64)>, StoreError> {
        let rows = self
            .all(sqlx::query(
                // PostgreSQL's sum of `BIGINT` is `NUMERIC`, which sqlx's Any driver cannot decode.
                "SELECT kind, CAST(sum(n) AS BIGINT) AS n FROM \
                 (SELECT kind, count(*) AS n FROM event GROUP BY kind \
                 UNION ALL SELECT kind, events FROM forgotten) AS counted \
                 GROUP BY kind ORDER BY kind",
            ))
            .await?;
        rows.iter().map(|row| Ok((row.try_get("kind")?, row.try_get("n")?))).collect()
    }
}

fn event(row: &AnyRow) -> Result<Event, StoreError> {
    let data: String = row.try_get("data")?;
    Ok(Event {
        id: row.try_get("id")?,
        at: row.try_get("at")?,
        kind: row.try_get("kind")?,
        ask: row.try_get("ask")?,
        data: from_json("data", &data)?,
    })
}

pub(super) async fn append(
    tx: &mut Tx,
    at: i64,
    kind: &str,
    ask: Option<&str>,
    data: &Value,
) -> Result<(), StoreError> {
    let data = to_json("data", data)?;
    let proof = tx.prove(&ProvenRow { at, kind, ask, data: &data });
    sqlx::query("INSERT INTO event (at, kind, ask, data, proof) VALUES ($1, $2, $3, $4, $5)")
        .bind(at)
        .bind(kind)
        .bind(ask)
        .bind(data)
        .bind(proof)
        .execute(&mut **tx)
        .await?;
    Ok(())
}

pub(super) async fn append_all(tx: &mut Tx, events: &[NewEvent]) -> Result<(), StoreError> {
    for events in events.chunks(TOGETHER) {
        let row = |at: usize| {
            let [at, kind, ask, data, proof] = [1, 2, 3, 4, 5].map(|field| at * 5 + field);
            format!("(${at}, ${kind}, ${ask}, ${data}, ${proof})")
        };
        let rows: Vec<_> = (0..events.len()).map(row).collect();
        let sql =
            format!("INSERT INTO event (at, kind, ask, data, proof) VALUES {}", rows.join(", "));
        let mut insert = sqlx::query(AssertSqlSafe(sql));
        for NewEvent { at, kind, ask, data } in events {
            let data = to_json("data", data)?;
            let proof = tx.prove(&ProvenRow { at: *at, kind, ask: ask.as_deref(), data: &data });
            insert = insert.bind(*at).bind(kind.clone()).bind(ask.clone()).bind(data).bind(proof);
        }
        insert.execute(&mut **tx).await?;
    }
    Ok(())
}
