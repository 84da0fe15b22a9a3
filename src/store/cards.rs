//! Cards: one row per ask and target.

use super::{Store, StoreError, Tx, asks};
use countersign_domain::Ask;
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
    /// Whether it has been shown, as far as is noted.
    pub shown: bool,
    /// Which target it replaces, and why, in a sentence; `None` for most.
    pub instead: Option<String>,
    /// Whether any card of its ask has been where people look.
    pub seen: bool,
}

/// A target of an ask's card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Which adapter.
    pub adapter: String,
    /// Where, in the adapter's spelling.
    pub target: String,
    /// Whether it has been shown there.
    pub shown: bool,
    /// Why the target does not take it at the moment.
    pub held: Option<String>,
    /// Why it was given up.
    pub gone: Option<String>,
}

impl Store {
    /// The ask of the card with this nonce at this adapter, unless the message that the card is
    /// said to be in holds another.
    ///
    /// # Errors
    /// As [`Store::ask`].
    pub async fn ask_of_card(
        &self,
        nonce: &str,
        adapter: &str,
        message: Option<&str>,
    ) -> Result<Option<Ask>, StoreError> {
        let query = sqlx::query(asks::select!(
            "WHERE id = (SELECT ask FROM card WHERE nonce = $1 AND adapter = $2 AND NOT EXISTS \
             (SELECT 1 FROM card AS other WHERE other.adapter = $2 AND other.message = $3 \
             AND other.nonce <> $1) AND NOT EXISTS (SELECT 1 FROM bundle \
             WHERE bundle.adapter = $2 AND bundle.message = $3 \
             AND bundle.nonce <> coalesce(card.bundle, '')))"
        ));
        let row = self.maybe(query.bind(nonce).bind(adapter).bind(message)).await?;
        row.as_ref().map(asks::ask).transpose()
    }

    /// The card in this message, by the first part of its tokens, and its ask.
    ///
    /// # Errors
    /// As [`Store::ask`].
    pub async fn ask_at(
        &self,
        adapter: &str,
        message: &str,
    ) -> Result<Option<(String, Ask)>, StoreError> {
        let card = "SELECT nonce, ask FROM card WHERE adapter = $1 AND message = $2";
        let row = self.maybe(sqlx::query(card).bind(adapter).bind(message)).await?;
        let Some(row) = row else { return Ok(None) };
        let ask = self.ask(row.try_get("ask")?).await?;
        let nonce: String = row.try_get("nonce")?;
        Ok(ask.map(|ask| (nonce, ask)))
    }

    /// The cards of an ask that are somewhere.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn cards_of(&self, ask: &str) -> Result<Vec<CardRow>, StoreError> {
        let query = "SELECT nonce, ask, adapter, target, message, attempts, shown, instead, seen \
                     FROM card \
                     WHERE ask = $1";
        let rows = self.all(sqlx::query(query).bind(ask)).await?;
        rows.iter().map(card).collect()
    }

    /// Where an ask is shown, or should be.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn deliveries(&self, ask: &str) -> Result<Vec<Delivery>, StoreError> {
        let query = sqlx::query(
            "SELECT adapter, target, shown, seen, held, gone FROM card WHERE ask = $1 \
             ORDER BY adapter, target",
        );
        self.all(query.bind(ask)).await?.iter().map(delivery).collect()
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
                    let nonce = countersign_tokens::ids::nonce();
                    let (adapter, target) = (adapter.clone(), target.clone());
                    insert(tx, &ask, &[NewCard { nonce, adapter, target }]).await?;
                }
                Ok(())
            })
        })
        .await
    }
}

/// The turn that a new card of this ask has at its target: behind the last card of its session, or
/// where its agent has come to. `$new` names the row with adapter and target, `$of` that with
/// agent, session and whether it is critical.
macro_rules! turn {
    ($new:literal, $of:literal) => {
        concat!(
            "coalesce((SELECT max(turn) + 1 FROM card AS own WHERE own.adapter = ",
            $new,
            ".adapter AND own.target = ",
            $new,
            ".target AND own.agent = ",
            $of,
            ".agent AND own.session = ",
            $of,
            ".session AND own.critical = ",
            $of,
            ".critical AND own.gone IS NULL AND own.shown = 0 AND own.bundle IS NULL), \
             (SELECT min(turn) FROM card AS other WHERE other.adapter = ",
            $new,
            ".adapter AND other.target = ",
            $new,
            ".target AND other.agent = ",
            $of,
            ".agent AND other.critical = ",
            $of,
            ".critical AND other.gone IS NULL AND other.shown = 0 AND other.bundle IS NULL), 0)"
        )
    };
}

/// Puts cards of a stored ask in; its age is their place among those of its session, and its size
/// is theirs.
pub(super) async fn insert(tx: &mut Tx, ask: &str, new: &[NewCard]) -> Result<(), StoreError> {
    if new.is_empty() {
        return Ok(());
    }
    let row = |at: usize| format!("(${at}, ${}, ${})", at + 1, at + 2);
    let rows: Vec<_> = (0..new.len()).map(|n| row(2 + n * 3)).collect();
    let sql = format!(
        "INSERT INTO card (nonce, ask, adapter, target, shown, wanted, attempts, due_at, bytes, \
         agent, session, critical, turn) \
         SELECT new.nonce, id, new.adapter, new.target, 0, version, 0, created_at, bytes, \
         agent, session, critical, {} FROM ask, (SELECT column1 AS nonce, column2 AS adapter, \
         column3 AS target FROM (VALUES {}) AS v) AS new WHERE id = $1 AND state = 'open' \
         ON CONFLICT DO NOTHING",
        turn!("new", "ask"),
        rows.join(", ")
    );
    let query = sqlx::query(AssertSqlSafe(sql)).bind(ask.to_owned());
    let query = new.iter().fold(query, |query, card| {
        query.bind(card.nonce.clone()).bind(card.adapter.clone()).bind(card.target.clone())
    });
    query.execute(&mut **tx).await?;
    Ok(())
}

/// All cards of the ask have to show its newest version, and may be tried at once, those too that
/// were given up: what the platform refused was an earlier version. One whose posting was tried
/// stays known as such: there may be a message that nobody knows.
pub(super) async fn want(tx: &mut Tx, ask: &str) -> Result<(), StoreError> {
    sqlx::query(
        "UPDATE card SET wanted = (SELECT version FROM ask WHERE id = $1), \
         due_at = (SELECT created_at FROM ask WHERE id = $1), \
         attempts = CASE WHEN message IS NULL AND attempts > 0 THEN 1 ELSE 0 END, \
         held = coalesce(gone, held), gone = NULL WHERE ask = $1",
    )
    .bind(ask)
    .execute(&mut **tx)
    .await?;
    Ok(())
}

/// They have to show it, but are tried when they are due.
pub(super) async fn behind(tx: &mut Tx, ask: &str) -> Result<(), StoreError> {
    sqlx::query("UPDATE card SET wanted = (SELECT version FROM ask WHERE id = $1) WHERE ask = $1")
        .bind(ask)
        .execute(&mut **tx)
        .await?;
    Ok(())
}

/// The same as [`want`] for the cards of all open asks.
pub(super) async fn want_open(tx: &mut Tx) -> Result<(), StoreError> {
    sqlx::query(
        "UPDATE card SET wanted = (SELECT version FROM ask WHERE id = card.ask), \
         due_at = (SELECT created_at FROM ask WHERE id = card.ask), \
         attempts = CASE WHEN message IS NULL AND attempts > 0 THEN 1 ELSE 0 END, \
         held = coalesce(gone, held), gone = NULL \
         WHERE ask IN (SELECT id FROM ask WHERE state = 'open')",
    )
    .execute(&mut **tx)
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
        shown: row.try_get::<i64, _>("shown")? > 0,
        instead: row.try_get("instead")?,
        seen: row.try_get::<i64, _>("seen")? > 0,
    })
}

fn delivery(row: &AnyRow) -> Result<Delivery, StoreError> {
    let (shown, seen): (i64, i64) = (row.try_get("shown")?, row.try_get("seen")?);
    Ok(Delivery {
        adapter: row.try_get("adapter")?,
        target: row.try_get("target")?,
        // A card that was posted again after a crash is not shown yet, and has been seen.
        shown: shown > 0 || seen != 0,
        held: row.try_get("held")?,
        gone: row.try_get("gone")?,
    })
}
