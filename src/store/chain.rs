//! The chain of hashes over the events, and its signed checkpoints: what an export has of it.

use super::{Store, StoreError};
use countersign_domain::log::{Checkpoint, LogHead, LogHeader, LogLine, LogRow, PublicKey};
use sqlx::{Row, any::AnyRow};

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

    /// Where the log ends and begins, and who signed that; `None` if nobody did.
    ///
    /// # Errors
    /// When the store fails.
    pub(super) async fn signed_end(
        &self,
    ) -> Result<Option<(LogHead, LogHead, PublicKey)>, StoreError> {
        let end = "SELECT forgotten, forgotten_hash, seq, at, c.hash, key, signature \
             FROM log_end JOIN log_checkpoint c ON c.seq = count AND c.hash = log_end.hash \
             WHERE id = 1";
        let Some(row) = self.maybe(sqlx::query(end)).await? else { return Ok(None) };
        let signed = checkpoint(&row)?;
        let hash = origin(self.id(), row.try_get("forgotten_hash")?);
        let begin = LogHead { count: row.try_get("forgotten")?, hash };
        Ok(signed.signer(self.id()).map(|key| (signed.head, begin, key)))
    }
}

/// The hash before the first row, where none is stored.
pub(super) fn origin(store: &str, hash: String) -> String {
    if hash.is_empty() { LogRow::origin(store) } else { hash }
}

pub(super) fn log_row(row: &AnyRow, seq: i64) -> Result<LogRow, StoreError> {
    Ok(LogRow {
        seq,
        at: row.try_get("at")?,
        kind: row.try_get("kind")?,
        ask: row.try_get("ask")?,
        data: row.try_get("data")?,
    })
}

pub(super) fn checkpoint(row: &AnyRow) -> Result<Checkpoint, StoreError> {
    Ok(Checkpoint {
        head: LogHead { count: row.try_get("seq")?, hash: row.try_get("hash")? },
        at: row.try_get("at")?,
        key: row.try_get("key")?,
        signature: row.try_get("signature")?,
    })
}

#[cfg(test)]
mod tests;
