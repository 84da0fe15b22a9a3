//! Repairs at a start what a crash or a new target left: cards that are missing or out of date.

use super::{NewCard, Store, StoreError, Tx, cards::insert};
use sqlx::Row;

/// The open asks of which a target has to have a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Belongs {
    /// All of them.
    Everything,
    /// Those that no route leads elsewhere.
    Unrouted,
    /// None: routes alone lead there.
    Nothing,
}

impl Store {
    /// Makes cards due that are older than their ask, and creates a card for every open ask that
    /// belongs to this target and has none there. Runs at every start.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn reconcile(
        &self,
        adapter: &str,
        target: &str,
        keeps_messages: bool,
        belongs: Belongs,
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
                fill_up(tx, &adapter, &target, belongs).await?;
                refresh(tx, &adapter, &target).await
            })
        })
        .await
    }
}

/// Retries cards that were given up, as new ones: the adapter keeps no messages over a restart.
async fn try_anew(tx: &mut Tx, adapter: &str, target: &str) -> Result<(), StoreError> {
    sqlx::query(
        "UPDATE card SET shown = 0, message = NULL, attempts = 0, gone = NULL \
         WHERE adapter = $1 AND target = $2 AND gone IS NOT NULL \
         AND ask IN (SELECT id FROM ask WHERE state = 'open')",
    )
    .bind(adapter)
    .bind(target)
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Retries cards that were given up: the target may accept them now.
async fn take_up(tx: &mut Tx, adapter: &str, target: &str) -> Result<(), StoreError> {
    sqlx::query(
        "UPDATE card SET gone = NULL WHERE adapter = $1 AND target = $2 AND gone IS NOT NULL \
         AND ask IN (SELECT id FROM ask WHERE state = 'open')",
    )
    .bind(adapter)
    .bind(target)
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// The span, in turns and in time, in which a younger card of an agent may have been sent before an
/// older one: both are counted before their commit, and commits overtake each other.
const OVERTAKEN: i64 = 4;
const OVERTAKEN_MS: i64 = 10_000;

/// Marks cards whose message may exist without our knowing. The card whose turn it was may have
/// been sent when the last process ended; its row then has no message id. It was the first of its
/// agent at that time, but others may have been committed since, so all near the first are marked.
async fn doubt(tx: &mut Tx, adapter: &str, target: &str) -> Result<(), StoreError> {
    // With `attempts = 1` the outbox posts the card as one that may be a repeat.
    sqlx::query(
        "UPDATE card SET attempts = 1 FROM (SELECT agent AS who, critical AS kind, \
         min(turn) AS first, min(due_at) AS oldest FROM card \
         WHERE adapter = $1 AND target = $2 AND gone IS NULL AND shown = 0 \
         AND message IS NULL AND attempts = 0 AND bundle IS NULL GROUP BY agent, critical) AS line \
         WHERE adapter = $1 AND target = $2 AND gone IS NULL AND shown = 0 AND message IS NULL \
         AND attempts = 0 AND bundle IS NULL AND agent = who AND critical = kind \
         AND turn <= first + $3 AND due_at <= oldest + $4",
    )
    .bind(adapter)
    .bind(target)
    .bind(OVERTAKEN)
    .bind(OVERTAKEN_MS)
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// Creates a card at this target for every open ask that belongs there and has none.
async fn fill_up(
    tx: &mut Tx,
    adapter: &str,
    target: &str,
    belongs: Belongs,
) -> Result<(), StoreError> {
    let most_routed = match belongs {
        Belongs::Nothing => return Ok(()),
        Belongs::Unrouted => 0,
        Belongs::Everything => 1,
    };
    let bare = sqlx::query(
        "SELECT a.id FROM ask a WHERE a.state = 'open' AND a.routed <= $3 AND NOT EXISTS \
         (SELECT 1 FROM card c WHERE c.ask = a.id AND c.adapter = $1 AND c.target = $2) \
         ORDER BY a.created_at, a.id",
    )
    .bind(adapter)
    .bind(target)
    .bind(most_routed)
    .fetch_all(&mut **tx)
    .await?;
    for row in bare {
        let nonce = countersign_tokens::ids::nonce();
        let card = NewCard { nonce, adapter: adapter.to_owned(), target: target.to_owned() };
        insert(tx, &row.try_get::<String, _>("id")?, &[card]).await?;
    }
    Ok(())
}

/// Makes cards of open asks due if they show an older version.
async fn refresh(tx: &mut Tx, adapter: &str, target: &str) -> Result<(), StoreError> {
    // A card in doubt keeps `attempts = 1`; see `doubt`.
    sqlx::query(
        "UPDATE card SET wanted = (SELECT version FROM ask WHERE id = card.ask), \
         due_at = (SELECT created_at FROM ask WHERE id = card.ask), \
         attempts = CASE WHEN message IS NULL AND attempts > 0 THEN 1 ELSE 0 END \
         WHERE adapter = $1 AND target = $2 AND ask IN (SELECT id FROM ask WHERE state = 'open') \
         AND (attempts > 0 OR wanted < (SELECT version FROM ask WHERE id = card.ask))",
    )
    .bind(adapter)
    .bind(target)
    .execute(&mut **tx)
    .await?;
    Ok(())
}
