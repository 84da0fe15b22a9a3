//! The chain of hashes over the events, and its signed checkpoints.
//!
//! Events join the chain after they are committed, in batches, so that no call waits for it. The
//! row `log_end` is locked meanwhile: several daemons make one chain.

use super::{Store, StoreError, Tx};
use crate::{
    audit::{Checkpoint, LogHead, LogHeader, LogLine, LogRow, SigningKey},
    clock,
};
use sqlx::{AssertSqlSafe, Row, any::AnyRow};
use std::sync::Arc;

/// The largest number of events that join in one transaction: other writers wait while it runs.
const BATCH: i64 = 200;
/// The largest number of rows in one page of an export.
const PAGE: i64 = 500;

/// A page of the log as an export has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogPage {
    /// The header of an export up to the newest checkpoint.
    pub header: LogHeader,
    /// The lines of this page.
    pub lines: Vec<LogLine>,
    /// The number of the last row of this page, if there are more.
    pub next: Option<i64>,
}

impl Store {
    /// Lets new events join the chain and signs its head; returns it if anything is new. There may
    /// be more as long as it is.
    ///
    /// # Errors
    /// When the store fails; then nothing is signed.
    // INVARIANT: an event that was committed joins the chain once, whichever daemon wrote it.
    pub async fn seal_log(&self, key: &Arc<SigningKey>) -> Result<Option<LogHead>, StoreError> {
        let unsealed = "SELECT 1 AS one FROM event WHERE seq IS NULL LIMIT 1";
        let unsigned = "SELECT 1 AS one FROM log_end WHERE count > \
             (SELECT coalesce(max(seq), 0) FROM log_checkpoint)";
        // Reads first: most rounds find nothing, and would otherwise cost a write transaction each.
        if self.maybe(sqlx::query(unsealed)).await?.is_none()
            && self.maybe(sqlx::query(unsigned)).await?.is_none()
        {
            return Ok(None);
        }
        let (key, store) = (key.clone(), self.id().to_owned());
        self.write(move |tx| {
            Box::pin(async move {
                let head = extend(tx, &store).await?;
                let checkpoint = Checkpoint::sign(&key, &store, head.clone(), clock::now_ms());
                note(tx, checkpoint).await?;
                Ok(Some(head))
            })
        })
        .await
    }

    /// The log behind row `after`, up to row `until` or the newest checkpoint; `None` while there
    /// is no checkpoint.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn log_page(
        &self,
        after: i64,
        until: Option<i64>,
    ) -> Result<Option<LogPage>, StoreError> {
        let newest = "SELECT seq, at, hash, key, signature FROM log_checkpoint \
             WHERE seq <= $1 ORDER BY seq DESC LIMIT 1";
        let newest = sqlx::query(newest).bind(until.unwrap_or(i64::MAX));
        let Some(newest) = self.maybe(newest).await? else { return Ok(None) };
        let last = checkpoint(&newest)?.head;
        let begin = "SELECT forgotten, forgotten_hash FROM log_end WHERE id = 1";
        let begin = self.one(sqlx::query(begin)).await?;
        let begin = LogHead {
            count: begin.try_get("forgotten")?,
            hash: origin(self.id(), begin.try_get("forgotten_hash")?),
        };
        let after = after.max(begin.count);
        let end = last.count.min(after.saturating_add(PAGE));
        let rows = "SELECT event.id, event.seq, at, kind, ask, data, hash FROM event \
             JOIN log_hash ON log_hash.seq = event.seq \
             WHERE event.seq > $1 AND event.seq <= $2 ORDER BY event.seq";
        let rows = self.all(sqlx::query(rows).bind(after).bind(end)).await?;
        let signed = "SELECT seq, at, hash, key, signature FROM log_checkpoint \
             WHERE seq > $1 AND seq <= $2 ORDER BY seq";
        let signed = self.all(sqlx::query(signed).bind(after).bind(end)).await?;
        let mut signed = signed.iter().map(checkpoint).collect::<Result<Vec<_>, _>>()?;
        let mut lines = Vec::with_capacity(rows.len() + signed.len());
        for row in &rows {
            let (seq, hash) = (row.try_get("seq")?, row.try_get("hash")?);
            lines.push(LogLine::Row(log_row(row, seq)?, hash));
            let covers = signed.iter().position(|signed| signed.head.count == seq);
            lines.extend(covers.map(|at| LogLine::Checkpoint(signed.remove(at))));
        }
        let header = LogHeader::new(self.id(), begin, last.clone());
        Ok(Some(LogPage { header, lines, next: (end < last.count).then_some(end) }))
    }

    /// Whether the log has this head, as far as that is not forgotten.
    ///
    /// # Errors
    /// When the store fails.
    pub(super) async fn has_head(&self, head: &LogHead) -> Result<bool, StoreError> {
        let hash = "SELECT hash FROM log_hash WHERE seq = $1 UNION ALL SELECT $2 AS hash \
             FROM log_end WHERE forgotten >= $1";
        let hash = sqlx::query(hash).bind(head.count).bind(head.hash.clone());
        let hash = self.maybe(hash).await?.map(|row| row.try_get::<String, _>("hash"));
        Ok(hash.transpose()?.as_ref() == Some(&head.hash))
    }
}

/// Lets events that are not in the chain join it, oldest id first; returns the new end.
pub(super) async fn extend(tx: &mut Tx, store: &str) -> Result<LogHead, StoreError> {
    // An update locks the row, so that of several daemons one extends the chain at a time.
    let end = "UPDATE log_end SET id = 1 WHERE id = 1 RETURNING count, hash";
    let end = sqlx::query(end).fetch_one(&mut *tx).await?;
    let mut last =
        LogHead { count: end.try_get("count")?, hash: origin(store, end.try_get("hash")?) };
    let new = "SELECT id, at, kind, ask, data FROM event WHERE seq IS NULL ORDER BY id LIMIT $1";
    let new = sqlx::query(new).bind(BATCH).fetch_all(&mut *tx).await?;
    if new.is_empty() {
        return Ok(last);
    }
    let mut joined = Vec::with_capacity(new.len());
    for row in &new {
        let seq = last.count + 1;
        last = LogHead { count: seq, hash: log_row(row, seq)?.hash(&last.hash) };
        joined.push((row.try_get::<i64, _>("id")?, last.clone()));
    }
    let pairs = |casts: [&str; 2]| {
        let pair = |at: usize| {
            let [first, second] = casts;
            format!("(CAST(${} AS {first}), CAST(${} AS {second}))", at * 2 + 1, at * 2 + 2)
        };
        (0..joined.len()).map(pair).collect::<Vec<_>>().join(", ")
    };
    let hashes = format!("INSERT INTO log_hash (seq, hash) VALUES {}", pairs(["BIGINT", "TEXT"]));
    let numbers = format!(
        "UPDATE event SET seq = v.column2 FROM (VALUES {}) AS v WHERE event.id = v.column1",
        pairs(["BIGINT", "BIGINT"])
    );
    let mut hash = sqlx::query(AssertSqlSafe(hashes));
    let mut number = sqlx::query(AssertSqlSafe(numbers));
    for (id, head) in &joined {
        hash = hash.bind(head.count).bind(head.hash.clone());
        number = number.bind(*id).bind(head.count);
    }
    hash.execute(&mut *tx).await?;
    number.execute(&mut *tx).await?;
    let end = sqlx::query("UPDATE log_end SET count = $1, hash = $2 WHERE id = 1");
    end.bind(last.count).bind(last.hash.clone()).execute(&mut *tx).await?;
    Ok(last)
}

async fn note(tx: &mut Tx, checkpoint: Checkpoint) -> Result<(), StoreError> {
    let Checkpoint { head, at, key, signature } = checkpoint;
    // Another daemon may have signed the same head.
    let note = "INSERT INTO log_checkpoint (seq, at, hash, key, signature) \
         VALUES ($1, $2, $3, $4, $5) ON CONFLICT (seq) DO NOTHING";
    let note = sqlx::query(note).bind(head.count).bind(at).bind(head.hash);
    note.bind(key).bind(signature).execute(&mut *tx).await?;
    Ok(())
}

/// The hash before the first row, where none is stored.
fn origin(store: &str, hash: String) -> String {
    if hash.is_empty() { LogRow::origin(store) } else { hash }
}

fn log_row(row: &AnyRow, seq: i64) -> Result<LogRow, StoreError> {
    Ok(LogRow {
        seq,
        at: row.try_get("at")?,
        kind: row.try_get("kind")?,
        ask: row.try_get("ask")?,
        data: row.try_get("data")?,
    })
}

fn checkpoint(row: &AnyRow) -> Result<Checkpoint, StoreError> {
    Ok(Checkpoint {
        head: LogHead { count: row.try_get("seq")?, hash: row.try_get("hash")? },
        at: row.try_get("at")?,
        key: row.try_get("key")?,
        signature: row.try_get("signature")?,
    })
}

#[cfg(test)]
mod tests;
