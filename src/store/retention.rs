//! Settled asks are forgotten after a while; the event log is not.

use super::{Store, StoreError};
use sqlx::Row;

/// The most that is forgotten in one transaction: nobody waits for longer than that takes.
const BATCH: i64 = 200;

impl Store {
    /// Forgets some asks that were closed before `before`, with their cards, the oldest first; how
    /// many. As long as it forgets any there may be more.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn forget_closed(&self, before: i64) -> Result<u64, StoreError> {
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
                    let cards = sqlx::query("DELETE FROM card WHERE ask = $1").bind(&id);
                    cards.execute(&mut *tx).await?;
                    let ask = sqlx::query("DELETE FROM ask WHERE id = $1").bind(&id);
                    forgotten += ask.execute(&mut *tx).await?.rows_affected();
                }
                Ok(forgotten)
            })
        })
        .await
    }
}
