//! Cards: one row per ask and target, and the outbox at the same time.

use super::{Store, StoreError, Tx};
use sqlx::{Row, any::AnyRow};

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
    /// How often showing it failed in a row.
    pub attempts: i64,
}

macro_rules! select {
    ($rest:literal) => {
        concat!("SELECT nonce, ask, adapter, target, message, attempts FROM card ", $rest)
    };
}

impl Store {
    /// The card with this nonce.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn card(&self, nonce: &str) -> Result<Option<CardRow>, StoreError> {
        let row = self.maybe(sqlx::query(select!("WHERE nonce = $1")).bind(nonce)).await?;
        row.as_ref().map(card).transpose()
    }

    /// The card that stands in this message.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn card_in(
        &self,
        adapter: &str,
        message: &str,
    ) -> Result<Option<CardRow>, StoreError> {
        let row = self
            .maybe(
                sqlx::query(select!("WHERE adapter = $1 AND message = $2"))
                    .bind(adapter)
                    .bind(message),
            )
            .await?;
        row.as_ref().map(card).transpose()
    }

    /// The card at this target that is behind and may be tried now. New cards come before redraws,
    /// the oldest first, so that redraws never keep an ask from being seen.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn due_card(
        &self,
        adapter: &str,
        target: &str,
        now: i64,
    ) -> Result<Option<CardRow>, StoreError> {
        let row = self
            .maybe(
                sqlx::query(select!(
                    "WHERE adapter = $1 AND target = $2 AND gone IS NULL AND shown < wanted \
             AND due_at <= $3 ORDER BY shown > 0, due_at, \
             (SELECT created_at FROM ask WHERE id = card.ask), nonce LIMIT 1"
                ))
                .bind(adapter)
                .bind(target)
                .bind(now),
            )
            .await?;
        row.as_ref().map(card).transpose()
    }

    /// When the next card at this target may be tried.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn next_due(&self, adapter: &str, target: &str) -> Result<Option<i64>, StoreError> {
        let row = self
            .one(
                sqlx::query(
                    "SELECT min(due_at) AS at FROM card WHERE adapter = $1 AND target = $2 \
             AND gone IS NULL AND shown < wanted",
                )
                .bind(adapter)
                .bind(target),
            )
            .await?;
        Ok(row.try_get("at")?)
    }

    /// Notes that the card now shows this version of its ask, in this message.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn card_shown(
        &self,
        nonce: &str,
        message: &str,
        version: i64,
    ) -> Result<(), StoreError> {
        let statement =
            sqlx::query("UPDATE card SET message = $2, shown = $3, attempts = 0 WHERE nonce = $1")
                .bind(nonce.to_owned())
                .bind(message.to_owned())
                .bind(version);
        self.execute(statement).await.map(drop)
    }

    /// Notes a failed try and when to try again.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn card_failed(&self, nonce: &str, due_at: i64) -> Result<(), StoreError> {
        let statement =
            sqlx::query("UPDATE card SET attempts = attempts + 1, due_at = $2 WHERE nonce = $1")
                .bind(nonce.to_owned())
                .bind(due_at);
        self.execute(statement).await.map(drop)
    }

    /// Gives a card up, and says why.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn card_gone(&self, nonce: &str, why: &str) -> Result<(), StoreError> {
        let statement = sqlx::query("UPDATE card SET gone = $2 WHERE nonce = $1")
            .bind(nonce.to_owned())
            .bind(why.to_owned());
        self.execute(statement).await.map(drop)
    }

    /// Moves the unsent cards of a target that has a new name. Messages at the old one are dead.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn target_moved(
        &self,
        adapter: &str,
        old: &str,
        new: &str,
    ) -> Result<(), StoreError> {
        let statement = sqlx::query(
            "UPDATE card SET target = $3, message = NULL, shown = 0, due_at = 0 \
             WHERE adapter = $1 AND target = $2 AND gone IS NULL AND shown < wanted",
        )
        .bind(adapter.to_owned())
        .bind(old.to_owned())
        .bind(new.to_owned());
        self.execute(statement).await.map(drop)
    }

    /// The cards of an ask that stand somewhere.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn cards_of(&self, ask: &str) -> Result<Vec<CardRow>, StoreError> {
        let rows = self.all(sqlx::query(select!("WHERE ask = $1")).bind(ask)).await?;
        rows.iter().map(card).collect()
    }

    /// Why cards of an ask were given up, each reason once.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn why_gone(&self, ask: &str) -> Result<Vec<String>, StoreError> {
        let rows = self
            .all(
                sqlx::query(
                    "SELECT DISTINCT adapter || ': ' || gone AS why FROM card \
             WHERE ask = $1 AND gone IS NOT NULL",
                )
                .bind(ask),
            )
            .await?;
        rows.iter().map(|row| Ok(row.try_get("why")?)).collect()
    }

    /// Makes cards due anew: those of an adapter whose messages did not outlive the last process, and
    /// a card for every open ask at a target that has none yet. The reconciliation at every start.
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
                if !keeps_messages {
                    repost(tx, &adapter).await?;
                }
                fill_up(tx, &adapter, &target).await?;
                refresh(tx, &adapter, &target).await
            })
        })
        .await
    }
}

/// The messages of these cards are gone with the process that posted them.
async fn repost(tx: &mut Tx, adapter: &str) -> Result<(), StoreError> {
    sqlx::query(
        "UPDATE card SET shown = 0, message = NULL, due_at = 0, gone = NULL \
         WHERE adapter = $1 AND ask IN (SELECT id FROM ask WHERE state = 'open')",
    )
    .bind(adapter)
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// Every open ask gets a card at this target.
async fn fill_up(tx: &mut Tx, adapter: &str, target: &str) -> Result<(), StoreError> {
    let bare = sqlx::query(
        "SELECT id FROM ask WHERE state = 'open' AND id NOT IN \
         (SELECT ask FROM card WHERE adapter = $1 AND target = $2)",
    )
    .bind(adapter)
    .bind(target)
    .fetch_all(&mut *tx)
    .await?;
    for row in bare {
        let nonce = crate::ids::nonce();
        let card = NewCard { nonce, adapter: adapter.to_owned(), target: target.to_owned() };
        insert(tx, &row.try_get::<String, _>("id")?, &card).await?;
    }
    Ok(())
}

/// The cards of open asks have to show them as they stand.
async fn refresh(tx: &mut Tx, adapter: &str, target: &str) -> Result<(), StoreError> {
    sqlx::query(
        "UPDATE card SET wanted = (SELECT version FROM ask WHERE id = card.ask), due_at = 0 \
         WHERE adapter = $1 AND target = $2 AND ask IN (SELECT id FROM ask WHERE state = 'open')",
    )
    .bind(adapter)
    .bind(target)
    .execute(&mut *tx)
    .await?;
    Ok(())
}

pub(super) async fn insert(tx: &mut Tx, ask: &str, new: &NewCard) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO card (nonce, ask, adapter, target, shown, wanted, attempts, due_at) \
         VALUES ($1, $2, $3, $4, 0, 1, 0, 0)",
    )
    .bind(&new.nonce)
    .bind(ask)
    .bind(&new.adapter)
    .bind(&new.target)
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// All cards of the ask have to show its newest version, and may be tried at once.
pub(super) async fn want(tx: &mut Tx, ask: &str) -> Result<(), StoreError> {
    sqlx::query(
        "UPDATE card SET wanted = (SELECT version FROM ask WHERE id = $1), due_at = 0, attempts = 0 \
         WHERE ask = $1",
    )
    .bind(ask)
    .execute(&mut *tx)
    .await?;
    Ok(())
}

fn card(row: &AnyRow) -> Result<CardRow, StoreError> {
    Ok(CardRow {
        nonce: row.try_get("nonce")?,
        ask: row.try_get("ask")?,
        adapter: row.try_get("adapter")?,
        target: row.try_get("target")?,
        message: row.try_get("message")?,
        attempts: row.try_get("attempts")?,
    })
}
