//! Late cards: what has waited for a while to be shown anywhere, and the time that people have
//! then.

use super::{
    Store, StoreError,
    changes::{Follow, follow},
    engine::Tx,
};
use countersign_domain::{Ask, late::LATE_MS};
use countersign_tokens::clock;
use serde_json::json;
use sqlx::{Row, any::AnyRow};
use std::collections::HashSet;

/// A card that is not shown within this time is late; milliseconds.
pub const SHOWN_WITHIN_MS: i64 = 15_000;

/// The cards at one target that wait to be shown for longer than they should.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LateCards {
    /// Which adapter.
    pub adapter: String,
    /// Where.
    pub target: String,
    /// How many.
    pub cards: u64,
    /// When the oldest of their asks was opened; Unix milliseconds.
    pub since: i64,
}

/// CROSS: SQLite begins with the few cards that nobody has seen, not with all open asks.
pub(super) const LATE_CARDS: &str = concat!(
    "SELECT adapter, target, count(*) AS cards, min(created_at) AS since FROM card ",
    "CROSS JOIN ask WHERE id = card.ask AND gone IS NULL AND shown = 0 AND seen = 0 ",
    "AND state = 'open' AND created_at < $1 GROUP BY adapter, target ORDER BY adapter, target"
);

impl Store {
    /// The cards of asks that were opened before `before`, are open and are shown nowhere at their
    /// target yet.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn late_cards(&self, before: i64) -> Result<Vec<LateCards>, StoreError> {
        let query = sqlx::query(LATE_CARDS);
        let late = |row: &AnyRow| {
            let cards = u64::try_from(row.try_get::<i64, _>("cards")?).unwrap_or_default();
            let (adapter, target) = (row.try_get("adapter")?, row.try_get("target")?);
            Ok(LateCards { adapter, target, cards, since: row.try_get("since")? })
        };
        self.all(query.bind(before)).await?.iter().map(late).collect()
    }
}

/// Whether the time of this ask may have to start anew where it is shown now.
pub(super) fn is_late(ask: &Ask, now: i64) -> bool {
    ask.is_open() && ask.created_at < now - LATE_MS
}

/// Starts the time of those of these asks that nobody has seen until now; their ids. Their cards
/// are noted as shown after this.
// INVARIANT: the time of an ask starts with its first card, whichever target that is at.
pub(super) async fn start(tx: &mut Tx, asks: &[String]) -> Result<HashSet<String>, StoreError> {
    let (now, mut moved) = (clock::now_ms(), HashSet::new());
    for ask in asks {
        // The same as `ask::late::deadline`, which the card shows already.
        let start = sqlx::query(
            "UPDATE ask SET deadline_at = deadline_at + ($2 - created_at), version = version + 1 \
             WHERE id = $1 AND state = 'open' AND deadline_at > $2 AND created_at < $2 - $3 \
             AND NOT EXISTS (SELECT 1 FROM card WHERE card.ask = $1 AND seen = 1) \
             RETURNING deadline_at, created_at",
        );
        let start = start.bind(ask).bind(now).bind(LATE_MS);
        let Some(row) = start.fetch_optional(&mut **tx).await? else { continue };
        let (until, since): (i64, i64) = (row.try_get("deadline_at")?, row.try_get("created_at")?);
        let was = until - (now - since);
        let data = json!({"deadline_at": until, "was": was, "shown_at": now});
        follow(tx, ask, Follow::Behind, Some((now, "postponed", data))).await?;
        moved.insert(ask.clone());
    }
    Ok(moved)
}
