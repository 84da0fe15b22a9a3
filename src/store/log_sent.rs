//! Which rows of the log a destination has taken, and which it never got.

use super::{Store, StoreError, Tx};
use countersign_tokens::clock;
use sqlx::Row;

/// A destination that no daemon has tried for so long is wanted no more, in milliseconds.
const WANTED_MS: i64 = 86_400_000;

/// A destination of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogDestinationState {
    /// Its name; no secret is in it.
    pub name: String,
    /// How many signed rows it has not taken.
    pub waiting: i64,
    /// Since when it has taken none, in Unix milliseconds.
    pub since: Option<i64>,
    /// Why it took none.
    pub why: Option<String>,
    /// How many rows were deleted before it took them.
    pub lost: i64,
}

impl Store {
    /// The last row of the log that this destination has taken; 0 before the first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn log_sent(&self, destination: &str) -> Result<i64, StoreError> {
        let sent = sqlx::query("SELECT seq FROM log_sent WHERE destination = $1");
        let sent = self.maybe(sent.bind(destination)).await?;
        Ok(sent.map(|row| row.try_get("seq")).transpose()?.unwrap_or(0))
    }

    /// Notes that this destination has taken the rows up to this one.
    ///
    /// # Errors
    /// When the store fails; then they are sent again.
    pub async fn note_log_sent(&self, destination: &str, seq: i64) -> Result<(), StoreError> {
        let note = "INSERT INTO log_sent (destination, seq, tried_at) VALUES ($1, $2, $3) \
             ON CONFLICT (destination) DO UPDATE SET seq = excluded.seq, \
             tried_at = excluded.tried_at, since = NULL, why = NULL";
        let note = sqlx::query(note).bind(destination.to_owned()).bind(seq);
        self.execute(note.bind(clock::now_ms())).await.map(drop)
    }

    /// Notes that this destination is wanted, and why it takes nothing, if it was tried.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn note_log_tried(
        &self,
        destination: &str,
        why: Option<&str>,
    ) -> Result<(), StoreError> {
        let note = "INSERT INTO log_sent (destination, seq, tried_at, since, why) \
             SELECT CAST($1 AS TEXT), forgotten, CAST($2 AS BIGINT), \
             CASE WHEN CAST($3 AS TEXT) IS NULL THEN NULL ELSE CAST($2 AS BIGINT) END, \
             CAST($3 AS TEXT) FROM log_end WHERE id = 1 \
             ON CONFLICT (destination) DO UPDATE SET tried_at = excluded.tried_at, \
             since = coalesce(log_sent.since, excluded.since), \
             why = coalesce(excluded.why, log_sent.why)";
        let note = sqlx::query(note).bind(destination.to_owned()).bind(clock::now_ms());
        self.execute(note.bind(why.map(str::to_owned))).await.map(drop)
    }

    /// The destinations that daemons send the log to.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn log_destinations(&self) -> Result<Vec<LogDestinationState>, StoreError> {
        let all = "SELECT destination, since, why, lost, \
             (SELECT coalesce(max(seq), 0) FROM log_checkpoint) - CASE WHEN seq > forgotten \
             THEN seq ELSE forgotten END AS waiting \
             FROM log_sent JOIN log_end ON id = 1 WHERE tried_at > $1 ORDER BY destination";
        let all = self.all(sqlx::query(all).bind(clock::now_ms() - WANTED_MS)).await?;
        let state = |row: &sqlx::any::AnyRow| {
            Ok(LogDestinationState {
                name: row.try_get("destination")?,
                waiting: row.try_get::<i64, _>("waiting")?.max(0),
                since: row.try_get("since")?,
                why: row.try_get("why")?,
                lost: row.try_get("lost")?,
            })
        };
        all.iter().map(state).collect()
    }

    /// The last row that every destination has taken.
    pub(super) async fn log_taken(&self) -> Result<i64, StoreError> {
        let taken = "SELECT min(seq) AS seq FROM log_sent WHERE tried_at > $1";
        let taken = self.one(sqlx::query(taken).bind(clock::now_ms() - WANTED_MS)).await?;
        Ok(taken.try_get::<Option<i64>, _>("seq")?.unwrap_or(i64::MAX))
    }
}

/// The rows up to this one are deleted: those that a destination has not taken are lost to it.
pub(super) async fn lost(tx: &mut Tx, last: i64) -> Result<(), StoreError> {
    let lost = "UPDATE log_sent SET lost = lost + $1 - seq, seq = $1 \
         WHERE seq < $1 AND tried_at > $2";
    let lost = sqlx::query(lost).bind(last).bind(clock::now_ms() - WANTED_MS);
    lost.execute(&mut **tx).await?;
    Ok(())
}
