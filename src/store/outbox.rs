//! The outbox, kept in the rows of the cards: what became of what was sent.

use super::{
    Fence, Store, StoreError, Tx,
    events::{self, NewEvent},
    late, lease,
};
use countersign_tokens::clock;
use serde_json::json;
use sqlx::{AssertSqlSafe, Row};

/// What a card shows now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// Which card.
    pub nonce: String,
    /// Of which ask.
    pub ask: String,
    /// In which message.
    pub message: String,
    /// The version of its ask.
    pub version: i64,
    /// Whether it is shown without buttons, because presses are not received there.
    pub muted: bool,
    /// Whether people see it there.
    pub seen: Seen,
    /// What was drawn, for the log; `None` where nothing was sent.
    pub drawn: Option<DrawnCard>,
}

/// A card as it was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrawnCard {
    /// To which adapter.
    pub adapter: String,
    /// To which target.
    pub target: String,
    /// SHA-256 of the card as JSON, without its tokens.
    pub digest: String,
}

/// Whether people see a card where it is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// Nobody looks there.
    No,
    /// They do.
    Yes,
    /// They do, and the ask has waited for a while: if nobody has seen it anywhere, its time
    /// starts.
    Late,
}

impl Store {
    /// Notes that this card is muted from now on.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn card_muted(&self, nonce: &str) -> Result<(), StoreError> {
        let muted = sqlx::query("UPDATE card SET muted = 1 WHERE nonce = $1");
        self.execute(muted.bind(nonce.to_owned())).await.map(drop)
    }

    /// Makes this card due as if it had never been shown.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn card_lost(&self, nonce: &str) -> Result<(), StoreError> {
        let lost = sqlx::query("UPDATE card SET shown = 0, message = NULL WHERE nonce = $1");
        self.execute(lost.bind(nonce.to_owned())).await.map(drop)
    }

    /// Notes what cards show now; false: the one who showed it leads no more, and they are to be
    /// redrawn by the daemon that does.
    ///
    /// # Errors
    /// When the store fails; then nothing is noted.
    // INVARIANT: what a deposed leader showed never counts as the newest.
    pub async fn cards_shown(&self, shown: &[Shown], fence: &Fence) -> Result<bool, StoreError> {
        let (shown, fence) = (shown.to_vec(), fence.clone());
        self.write(move |tx| {
            Box::pin(async move {
                let mut shown = shown;
                let late = shown.iter().filter(|shown| shown.seen == Seen::Late);
                let late: Vec<_> = late.map(|shown| shown.ask.clone()).collect();
                if !late.is_empty() && lease::leads(tx, &fence).await? {
                    let moved = late::start(tx, &late).await?;
                    let started = |shown: &&mut Shown| moved.contains(&shown.ask);
                    shown.iter_mut().filter(started).for_each(|shown| shown.version += 1);
                }
                if note(tx, &shown, LED, &fence).await? > 0 || lease::leads(tx, &fence).await? {
                    let drawn: Vec<_> = shown.iter().filter_map(event).collect();
                    events::append_all(tx, &drawn).await?;
                    return Ok(true);
                }
                note(tx, &shown, DEPOSED, &fence).await?;
                Ok(false)
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

    /// Lets cards be tried again at once, in their old places in the line.
    ///
    /// # Errors
    /// When the store fails; then they are tried when they are due.
    pub async fn cards_due(&self, nonces: Vec<String>) -> Result<(), StoreError> {
        if nonces.is_empty() {
            return Ok(());
        }
        self.write(move |tx| {
            Box::pin(async move {
                for nonce in nonces {
                    sqlx::query(
                        "UPDATE card SET due_at = (SELECT created_at FROM ask WHERE id = card.ask) \
                         WHERE nonce = $1 AND shown < wanted",
                    )
                    .bind(nonce)
                    .execute(&mut **tx)
                    .await?;
                }
                Ok(())
            })
        })
        .await
    }

    /// Notes why the target takes nothing now, at the cards that it has not got yet. The asks at
    /// which that is news.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn target_refuses(
        &self,
        adapter: &str,
        target: &str,
        why: &str,
    ) -> Result<Vec<String>, StoreError> {
        let held = sqlx::query(
            "UPDATE card SET held = $3 WHERE adapter = $1 AND target = $2 AND gone IS NULL \
             AND held IS NULL AND shown = 0 AND message IS NULL RETURNING ask",
        );
        let held = held.bind(adapter.to_owned()).bind(target.to_owned()).bind(why.to_owned());
        let rows = self
            .write(move |tx| Box::pin(async move { Ok(held.fetch_all(&mut **tx).await?) }))
            .await?;
        rows.iter().map(|row| Ok(row.try_get("ask")?)).collect()
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

    /// Lets the cards of open asks at this target that were given up be tried again.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn cards_taken_up(&self, adapter: &str, target: &str) -> Result<(), StoreError> {
        let statement = sqlx::query(
            "UPDATE card SET held = coalesce(gone, held), gone = NULL, \
             due_at = (SELECT created_at FROM ask WHERE id = card.ask) \
             WHERE adapter = $1 AND target = $2 AND gone IS NOT NULL \
             AND ask IN (SELECT id FROM ask WHERE state = 'open')",
        );
        let statement = statement.bind(adapter.to_owned()).bind(target.to_owned());
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
        let [adapter, old, new] = [adapter, old, new].map(str::to_owned);
        self.write(move |tx| {
            Box::pin(async move {
                for statement in [
                    "UPDATE card SET target = $3, message = NULL, shown = 0, due_at = 0, \
                     attempts = 0 WHERE adapter = $1 AND target = $2 AND gone IS NULL \
                     AND shown < wanted",
                    "UPDATE bundle SET target = $3, message = NULL, due_at = 0, attempts = 0 \
                     WHERE adapter = $1 AND target = $2 AND gone IS NULL AND EXISTS \
                     (SELECT 1 FROM card WHERE card.bundle = bundle.nonce AND shown < wanted)",
                ] {
                    let moved = sqlx::query(statement).bind(&adapter).bind(&old).bind(&new);
                    moved.execute(&mut **tx).await?;
                }
                Ok(())
            })
        })
        .await
    }
}

/// The event of a card that was sent.
fn event(shown: &Shown) -> Option<NewEvent> {
    let DrawnCard { adapter, target, digest } = shown.drawn.as_ref()?;
    let data = json!({"adapter": adapter, "target": target, "message": shown.message,
        "version": shown.version, "digest": digest});
    let (kind, ask) = ("shown".to_owned(), Some(shown.ask.clone()));
    Some(NewEvent { at: clock::now_ms(), kind, ask, data })
}

/// What a leader's word does to a card.
const LED: [&str; 2] = [
    "message = v.column2, shown = v.column3, muted = v.column4, attempts = 0, held = NULL, \
     seen = CASE WHEN v.column5 > 0 THEN 1 ELSE seen END",
    "EXISTS",
];
/// What it does once another leads.
const DEPOSED: [&str; 2] = [
    "message = coalesce(message, v.column2), shown = 0, \
     wanted = CASE WHEN wanted > v.column3 THEN wanted ELSE v.column3 END",
    "NOT EXISTS",
];

/// One statement for all of them, as a start may bring back a hundred thousand; how many it
/// changed.
async fn note(
    tx: &mut Tx,
    shown: &[Shown],
    [set, leads]: [&str; 2],
    fence: &Fence,
) -> Result<u64, StoreError> {
    let row = |at: usize| {
        let number = |at: usize| format!("CAST(${at} AS BIGINT)");
        let [version, muted, seen] = [at + 2, at + 3, at + 4].map(number);
        format!("(${at}, ${}, {version}, {muted}, {seen})", at + 1)
    };
    let rows: Vec<_> = (0..shown.len()).map(|n| row(3 + n * 5)).collect();
    let sql = format!(
        "UPDATE card SET {set} FROM (VALUES {}) AS v WHERE nonce = v.column1 \
         AND {leads} (SELECT 1 FROM lease WHERE name = $1 AND epoch = $2)",
        rows.join(", ")
    );
    let query = sqlx::query(AssertSqlSafe(sql)).bind(fence.name.clone()).bind(fence.epoch);
    let query = shown.iter().fold(query, |query, shown| {
        let query = query.bind(shown.nonce.clone()).bind(shown.message.clone());
        let seen = i64::from(shown.seen != Seen::No);
        query.bind(shown.version).bind(i64::from(shown.muted)).bind(seen)
    });
    Ok(query.execute(&mut **tx).await?.rows_affected())
}

#[cfg(test)]
mod tests;
