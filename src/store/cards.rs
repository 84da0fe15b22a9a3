//! Cards: one row per ask and target, and the outbox at the same time.

use super::{Fence, Store, StoreError, Tx, lease};
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
    /// How often showing it was tried in a row and is not known to have worked.
    pub attempts: i64,
}

macro_rules! select {
    ($rest:literal) => {
        concat!("SELECT nonce, ask, adapter, target, message, attempts FROM card ", $rest)
    };
}

/// Cards that are due; a first try does not wait for anything, whatever the clocks say.
macro_rules! due {
    ($which:literal) => {
        concat!(
            "SELECT nonce, ask, adapter, target, message, attempts FROM card \
             WHERE adapter = $1 AND target = $2 AND gone IS NULL AND ",
            $which,
            " AND (attempts = 0 OR due_at <= $3) \
             AND EXISTS (SELECT 1 FROM lease WHERE name = $4 AND epoch = $5) \
             ORDER BY due_at LIMIT 1"
        )
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

    /// The card at this target that is behind and may be tried now, for as long as the one who asks
    /// leads. New cards come before redraws, the oldest first, so that redraws never keep an ask from
    /// being seen.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn due_card(
        &self,
        adapter: &str,
        target: &str,
        now: i64,
        fence: &Fence,
    ) -> Result<Option<CardRow>, StoreError> {
        for sql in [due!("shown = 0"), due!("shown > 0 AND shown < wanted")] {
            let query = sqlx::query(sql).bind(adapter).bind(target).bind(now);
            let row = self.maybe(query.bind(&fence.name).bind(fence.epoch)).await?;
            if let Some(row) = row {
                return card(&row).map(Some);
            }
        }
        Ok(None)
    }

    /// When the next card at this target may be tried.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn next_due(&self, adapter: &str, target: &str) -> Result<Option<i64>, StoreError> {
        let query = sqlx::query(
            "SELECT min(due_at) AS at FROM card WHERE adapter = $1 AND target = $2 \
             AND gone IS NULL AND shown < wanted",
        );
        let row = self.one(query.bind(adapter).bind(target)).await?;
        Ok(row.try_get("at")?)
    }

    /// Notes that the card now shows this version of its ask, in this message; false: the one who
    /// showed it leads no more, and the card is to be redrawn by whoever does.
    ///
    /// # Errors
    /// When the store fails.
    // INVARIANT: what a deposed leader showed never counts as the newest.
    pub async fn card_shown(
        &self,
        nonce: &str,
        message: &str,
        version: i64,
        fence: &Fence,
    ) -> Result<bool, StoreError> {
        let (nonce, message, fence) = (nonce.to_owned(), message.to_owned(), fence.clone());
        self.write(move |tx| {
            Box::pin(async move {
                let leads = lease::leads(tx, &fence).await?;
                let sql = match leads {
                    true => {
                        "UPDATE card SET message = $2, shown = $3, attempts = 0 WHERE nonce = $1"
                    }
                    false => {
                        "UPDATE card SET message = coalesce(message, $2), \
                         wanted = CASE WHEN wanted > $3 THEN wanted ELSE $3 END, shown = 0 \
                         WHERE nonce = $1"
                    }
                };
                let noted = sqlx::query(sql).bind(nonce).bind(message).bind(version);
                noted.execute(&mut *tx).await?;
                Ok(leads)
            })
        })
        .await
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
            "UPDATE card SET target = $3, message = NULL, shown = 0, due_at = 0, attempts = 0 \
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
                         due_at) SELECT $1, id, $3, $4, 0, version, 0, created_at FROM ask \
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

/// Puts a card in; the ask's age is its place in the line.
pub(super) async fn insert(
    tx: &mut Tx,
    ask: &str,
    since: i64,
    new: &NewCard,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO card (nonce, ask, adapter, target, shown, wanted, attempts, due_at) \
         VALUES ($1, $2, $3, $4, 0, 1, 0, $5) ON CONFLICT DO NOTHING",
    )
    .bind(&new.nonce)
    .bind(ask)
    .bind(&new.adapter)
    .bind(&new.target)
    .bind(since)
    .execute(&mut *tx)
    .await?;
    Ok(())
}

/// All cards of the ask have to show its newest version, and may be tried at once. One whose posting
/// was tried stays known as such: a message may stand that nobody knows.
pub(super) async fn want(tx: &mut Tx, ask: &str) -> Result<(), StoreError> {
    sqlx::query(
        "UPDATE card SET wanted = (SELECT version FROM ask WHERE id = $1), \
         due_at = (SELECT created_at FROM ask WHERE id = $1), \
         attempts = CASE WHEN message IS NULL AND attempts > 0 THEN 1 ELSE 0 END WHERE ask = $1",
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
