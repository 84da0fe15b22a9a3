//! Cards: one row per ask and target.

use super::{Store, StoreError, Tx, rows};
use crate::ask::Ask;
use sqlx::{AssertSqlSafe, Row, any::AnyRow};

/// A card to be posted.
#[derive(Debug, Clone)]
pub struct NewCard {
    /// The first part of its button tokens.
    pub nonce: String,
    /// Which adapter.
    pub adapter: String,
    /// Where, in the adapter's spelling.
    pub target: String,
}

/// A card as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardRow {
    /// The first part of its button tokens.
    pub nonce: String,
    /// Whose card it is.
    pub ask: String,
    /// Which adapter.
    pub adapter: String,
    /// Where.
    pub target: String,
    /// The posted message, once known.
    pub message: Option<String>,
    /// How often showing it was tried in a row and is not known to have worked.
    pub attempts: i64,
}

impl Store {
    /// The ask of the card with this nonce at this adapter, unless the message that the card is
    /// said to stand in holds another.
    ///
    /// # Errors
    /// As [`Store::ask`].
    pub async fn ask_of_card(
        &self,
        nonce: &str,
        adapter: &str,
        message: Option<&str>,
    ) -> Result<Option<Ask>, StoreError> {
        let query = sqlx::query(rows::select!(
            "WHERE id = (SELECT ask FROM card WHERE nonce = $1 AND adapter = $2 AND NOT EXISTS \
             (SELECT 1 FROM card AS other WHERE other.adapter = $2 AND other.message = $3 \
             AND other.nonce <> $1))"
        ));
        let row = self.maybe(query.bind(nonce).bind(adapter).bind(message)).await?;
        row.as_ref().map(rows::ask).transpose()
    }

    /// The cards of an ask that stand somewhere.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn cards_of(&self, ask: &str) -> Result<Vec<CardRow>, StoreError> {
        let query =
            "SELECT nonce, ask, adapter, target, message, attempts FROM card WHERE ask = $1";
        let rows = self.all(sqlx::query(query).bind(ask)).await?;
        rows.iter().map(card).collect()
    }

    /// Why cards of an ask were given up or are not delivered yet, each reason once.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn why_gone(&self, ask: &str) -> Result<Vec<String>, StoreError> {
        let rows = self
            .all(
                sqlx::query(
                    "SELECT DISTINCT adapter || ': ' || coalesce(gone, held) AS why FROM card \
             WHERE ask = $1 AND coalesce(gone, held) IS NOT NULL",
                )
                .bind(ask),
            )
            .await?;
        rows.iter().map(|row| Ok(row.try_get("why")?)).collect()
    }
}

impl Store {
    /// Makes cards at this target for those of the asks that are open and have none there.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn add_cards(
        &self,
        adapter: &str,
        target: &str,
        asks: Vec<String>,
    ) -> Result<(), StoreError> {
        if asks.is_empty() {
            return Ok(());
        }
        let (adapter, target) = (adapter.to_owned(), target.to_owned());
        self.write(move |tx| {
            Box::pin(async move {
                for ask in asks {
                    sqlx::query(
                        "INSERT INTO card (nonce, ask, adapter, target, shown, wanted, attempts, \
                         due_at, bytes) SELECT $1, id, $3, $4, 0, version, 0, created_at, bytes FROM ask \
                         WHERE id = $2 AND state = 'open' ON CONFLICT DO NOTHING",
                    )
                    .bind(crate::ids::nonce())
                    .bind(ask)
                    .bind(&adapter)
                    .bind(&target)
                    .execute(&mut *tx)
                    .await?;
                }
                Ok(())
            })
        })
        .await
    }
}

/// Puts cards in; the ask's age is their place in the line, and its size is theirs.
pub(super) async fn insert(
    tx: &mut Tx,
    ask: &str,
    since: i64,
    bytes: i64,
    new: &[NewCard],
) -> Result<(), StoreError> {
    if new.is_empty() {
        return Ok(());
    }
    let row = |at: usize| format!("(${at}, $1, ${}, ${}, 0, 1, 0, $2, $3)", at + 1, at + 2);
    let rows: Vec<_> = (0..new.len()).map(|n| row(4 + n * 3)).collect();
    let sql = format!(
        "INSERT INTO card (nonce, ask, adapter, target, shown, wanted, attempts, due_at, bytes) \
         VALUES {} ON CONFLICT DO NOTHING",
        rows.join(", ")
    );
    let query = sqlx::query(AssertSqlSafe(sql)).bind(ask.to_owned()).bind(since).bind(bytes);
    let query = new.iter().fold(query, |query, card| {
        query.bind(card.nonce.clone()).bind(card.adapter.clone()).bind(card.target.clone())
    });
    query.execute(&mut *tx).await?;
    Ok(())
}

/// All cards of the ask have to show its newest version, and may be tried at once, those too that
/// were given up: what the platform refused was an earlier version. One whose posting was tried
/// stays known as such: a message may stand that nobody knows.
pub(super) async fn want(tx: &mut Tx, ask: &str) -> Result<(), StoreError> {
    sqlx::query(
        "UPDATE card SET wanted = (SELECT version FROM ask WHERE id = $1), \
         due_at = (SELECT created_at FROM ask WHERE id = $1), \
         attempts = CASE WHEN message IS NULL AND attempts > 0 THEN 1 ELSE 0 END, \
         held = coalesce(gone, held), gone = NULL WHERE ask = $1",
    )
    .bind(ask)
    .execute(&mut *tx)
    .await?;
    Ok(())
}

pub(super) fn card(row: &AnyRow) -> Result<CardRow, StoreError> {
    Ok(CardRow {
        nonce: row.try_get("nonce")?,
        ask: row.try_get("ask")?,
        adapter: row.try_get("adapter")?,
        target: row.try_get("target")?,
        message: row.try_get("message")?,
        attempts: row.try_get("attempts")?,
    })
}
