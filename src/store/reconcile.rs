//! What a start makes up for: cards that a crash or a new target left out.

use super::{NewCard, Store, StoreError, Tx, cards::insert};
use sqlx::Row;

impl Store {
    /// Makes cards due that are behind their ask, and a card for every open ask at a target that
    /// has none yet. The reconciliation at every start.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn reconcile(
        &self,
        adapter: &str,
        target: &str,
        keeps_messages: bool,
    ) -> Result<(), StoreError> {
        let (adapter, target) = (adapter.to_owned(), target.to_owned());
        self.write(move |tx| {
            Box::pin(async move {
                if keeps_messages {
                    take_up(tx, &adapter, &target).await?;
                    doubt(tx, &adapter, &target).await?;
                } else {
                    try_anew(tx, &adapter, &target).await?;
                }
                fill_up(tx, &adapter, &target).await?;
                refresh(tx, &adapter, &target).await
            })
        })
        .await
    }
}

/// Those that were given up may be taken by the process of today.
async fn try_anew(tx: &mut Tx, adapter: &str, target: &str) -> Result<(), StoreError> {
    sqlx::query(
        "UPDATE card SET shown = 0, message = NULL, attempts = 0, gone = NULL \
         WHERE adapter = $1 AND target = $2 AND gone IS NOT NULL \
         AND ask IN (SELECT id FROM ask WHERE state = 'open')",
    )
    .bind(adapter)
    .bind(target)
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// Those that were given up may be taken by the target of today.
async fn take_up(tx: &mut Tx, adapter: &str, target: &str) -> Result<(), StoreError> {
    sqlx::query(
        "UPDATE card SET gone = NULL WHERE adapter = $1 AND target = $2 AND gone IS NOT NULL \
         AND ask IN (SELECT id FROM ask WHERE state = 'open')",
    )
    .bind(adapter)
    .bind(target)
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// How far ahead of an older card a younger one may have been sent: an ask's age is told before its
/// commit, and commits overtake each other.
const OVERTAKEN_MS: i64 = 10_000;

/// The card whose turn it was may have been on its way when the last process ended: its message may
/// stand, and nobody knows which it is. It was the oldest then; older ones may have been committed
/// since.
async fn doubt(tx: &mut Tx, adapter: &str, target: &str) -> Result<(), StoreError> {
    sqlx::query(
        "UPDATE card SET attempts = 1 WHERE adapter = $1 AND target = $2 AND gone IS NULL \
         AND shown = 0 AND message IS NULL AND attempts = 0 AND due_at <= $3 + (\
         SELECT min(due_at) FROM card WHERE adapter = $1 AND target = $2 AND gone IS NULL \
         AND shown = 0 AND message IS NULL AND attempts = 0)",
    )
    .bind(adapter)
    .bind(target)
    .bind(OVERTAKEN_MS)
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// Every open ask gets a card at this target.
async fn fill_up(tx: &mut Tx, adapter: &str, target: &str) -> Result<(), StoreError> {
    let bare = sqlx::query(
        "SELECT a.id, a.created_at, a.bytes FROM ask a WHERE a.state = 'open' AND NOT EXISTS \
         (SELECT 1 FROM card c WHERE c.ask = a.id AND c.adapter = $1 AND c.target = $2)",
    )
    .bind(adapter)
    .bind(target)
    .fetch_all(&mut *tx)
    .await?;
    for row in bare {
        let nonce = crate::ids::nonce();
        let card = NewCard { nonce, adapter: adapter.to_owned(), target: target.to_owned() };
        let (since, bytes) = (row.try_get("created_at")?, row.try_get("bytes")?);
        insert(tx, &row.try_get::<String, _>("id")?, since, bytes, &[card]).await?;
    }
    Ok(())
}

/// The cards of open asks have to show them as they stand.
async fn refresh(tx: &mut Tx, adapter: &str, target: &str) -> Result<(), StoreError> {
    sqlx::query(
        "UPDATE card SET wanted = (SELECT version FROM ask WHERE id = card.ask), \
         due_at = (SELECT created_at FROM ask WHERE id = card.ask), \
         attempts = CASE WHEN message IS NULL AND attempts > 0 THEN 1 ELSE 0 END \
         WHERE adapter = $1 AND target = $2 AND ask IN (SELECT id FROM ask WHERE state = 'open') \
         AND (attempts > 0 OR wanted < (SELECT version FROM ask WHERE id = card.ask))",
    )
    .bind(adapter)
    .bind(target)
    .execute(&mut *tx)
    .await?;
    Ok(())
}
