//! The outbox, kept in the rows of the cards: what is due at a target, and what became of it.

use super::{CardRow, Fence, Store, StoreError, Tx, cards, lease, rows, rows::columns};
use crate::ask::Ask;
use sqlx::{AssertSqlSafe, Row, any::AnyRow};

/// A card that is behind, and its ask as it stands.
#[derive(Debug)]
pub struct Due {
    /// The card.
    pub card: CardRow,
    /// What it has to show; why not, where the row does not read back.
    pub ask: Result<Ask, StoreError>,
}

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
    /// Whether it stands without buttons, because presses are not received there.
    pub muted: bool,
}

/// A page of cards with their asks.
#[derive(Debug)]
pub struct DuePage {
    /// In their order.
    pub due: Vec<Due>,
    /// Whether there may be more behind it.
    pub more: bool,
}

/// Cards that are due; a first try does not wait for anything, whatever the clocks say.
macro_rules! due {
    ($redraw:literal, $which:literal) => {
        concat!(
            "SELECT * FROM (SELECT ",
            $redraw,
            " AS redraw, due_at AS place, nonce, ask, adapter, target, message, attempts, bytes FROM card \
             WHERE adapter = $1 AND target = $2 AND gone IS NULL AND ",
            $which,
            " AND (attempts = 0 OR due_at <= $3) \
             AND EXISTS (SELECT 1 FROM lease WHERE name = $4 AND epoch = $5) \
             ORDER BY due_at LIMIT $6) AS page"
        )
    };
}

/// So many of these cards, with their asks, as fit into a page.
// INVARIANT: the size of a page is known before the first body is read.
macro_rules! fitting {
    ($cards:expr, $most:literal) => {
        concat!(
            "SELECT nonce, due.ask, adapter, target, message, attempts, found, ",
            columns!(),
            " FROM (SELECT cards.*, count(*) OVER () AS found, sum(bytes) OVER (ORDER BY redraw, \
             place, ask ROWS UNBOUNDED PRECEDING) - bytes AS ahead FROM (",
            $cards,
            ") AS cards) AS due JOIN ask ON id = due.ask WHERE ahead < ",
            $most,
            " ORDER BY redraw, place, due.ask"
        )
    };
}

/// What stands somewhere, in the order in which it came. CROSS: SQLite begins with the asks, whose
/// index has that order, instead of sorting all cards for every page.
const STANDING: &str = fitting!(
    "SELECT 0 AS redraw, created_at AS place, nonce, ask, adapter, target, message, attempts, card.bytes \
     FROM ask CROSS JOIN card WHERE ask = id AND adapter = $1 AND target = $2 \
     AND state = 'open' AND shown > 0 AND gone IS NULL AND (created_at, id) > ($3, $4) \
     ORDER BY created_at, id LIMIT $5",
    "$6"
);

/// What stands muted and should not, or the other way round.
const OTHERWISE: &str = concat!(
    "SELECT nonce, ask, adapter, target, message, attempts, ",
    columns!(),
    " FROM ask CROSS JOIN card WHERE ask = id AND adapter = $1 AND target = $2 \
     AND state = 'open' AND shown > 0 AND message IS NOT NULL AND gone IS NULL AND muted <> $3 \
     AND (attempts = 0 OR due_at <= $4) ORDER BY created_at, id LIMIT $5"
);

/// New cards come before redraws, so that redraws never keep an ask from being seen.
const DUE: &str = fitting!(
    concat!(
        due!("0", "shown = 0"),
        " UNION ALL ",
        due!("1", "shown > 0 AND shown < wanted"),
        " ORDER BY redraw, place LIMIT $6"
    ),
    "$7"
);

impl Store {
    /// The cards at this target that are behind and may be tried now, for as long as the one who
    /// asks leads: new ones first, the oldest first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn due_cards(
        &self,
        adapter: &str,
        target: &str,
        now: i64,
        fence: &Fence,
        most: u32,
    ) -> Result<DuePage, StoreError> {
        let query = sqlx::query(DUE).bind(adapter).bind(target).bind(now);
        let query = query.bind(&fence.name).bind(fence.epoch).bind(i64::from(most));
        page(&self.all(query.bind(Self::PAGE_BYTES)).await?, most)
    }

    /// The cards at this target that the rows say stand there and whose asks are open, the oldest
    /// ask first, after that of the last page.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn standing_cards(
        &self,
        adapter: &str,
        target: &str,
        last: Option<&Ask>,
        most: u32,
    ) -> Result<DuePage, StoreError> {
        let query = sqlx::query(STANDING).bind(adapter).bind(target);
        let query = query.bind(last.map_or(i64::MIN, |ask| ask.created_at));
        let query = query.bind(last.map_or("", |ask| ask.id.as_str())).bind(i64::from(most));
        page(&self.all(query.bind(Self::PAGE_BYTES)).await?, most)
    }

    /// The cards of open asks that stand at this target, may be tried now, and are muted or not
    /// otherwise than this.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn drawn_otherwise(
        &self,
        adapter: &str,
        target: &str,
        muted: bool,
        now: i64,
        most: u32,
    ) -> Result<Vec<Due>, StoreError> {
        let query = sqlx::query(OTHERWISE).bind(adapter).bind(target).bind(i64::from(muted));
        self.all(query.bind(now).bind(i64::from(most))).await?.iter().map(due).collect()
    }

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

    /// Notes what cards show now; false: the one who showed it leads no more, and they are to be
    /// redrawn by whoever does.
    ///
    /// # Errors
    /// When the store fails; then nothing is noted.
    // INVARIANT: what a deposed leader showed never counts as the newest.
    pub async fn cards_shown(&self, shown: &[Shown], fence: &Fence) -> Result<bool, StoreError> {
        let (shown, fence) = (shown.to_vec(), fence.clone());
        self.write(move |tx| {
            Box::pin(async move {
                if note(tx, &shown, LED, &fence).await? > 0 || lease::leads(tx, &fence).await? {
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
                    .execute(&mut *tx)
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
        let rows =
            self.write(move |tx| Box::pin(async move { Ok(held.fetch_all(tx).await?) })).await?;
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
        let statement = sqlx::query(
            "UPDATE card SET target = $3, message = NULL, shown = 0, due_at = 0, attempts = 0 \
             WHERE adapter = $1 AND target = $2 AND gone IS NULL AND shown < wanted",
        )
        .bind(adapter.to_owned())
        .bind(old.to_owned())
        .bind(new.to_owned());
        self.execute(statement).await.map(drop)
    }
}

/// What a leader's word does to a card.
const LED: [&str; 2] = [
    "message = v.column2, shown = v.column3, muted = v.column4, attempts = 0, held = NULL",
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
        format!("(${at}, ${}, CAST(${} AS BIGINT), CAST(${} AS BIGINT))", at + 1, at + 2, at + 3)
    };
    let rows: Vec<_> = (0..shown.len()).map(|n| row(3 + n * 4)).collect();
    let sql = format!(
        "UPDATE card SET {set} FROM (VALUES {}) AS v WHERE nonce = v.column1 \
         AND {leads} (SELECT 1 FROM lease WHERE name = $1 AND epoch = $2)",
        rows.join(", ")
    );
    let query = sqlx::query(AssertSqlSafe(sql)).bind(fence.name.clone()).bind(fence.epoch);
    let query = shown.iter().fold(query, |query, shown| {
        let query = query.bind(shown.nonce.clone()).bind(shown.message.clone());
        query.bind(shown.version).bind(i64::from(shown.muted))
    });
    Ok(query.execute(&mut *tx).await?.rows_affected())
}

fn page(rows: &[AnyRow], most: u32) -> Result<DuePage, StoreError> {
    let due = rows.iter().map(due).collect::<Result<Vec<_>, _>>()?;
    let found: i64 = rows.first().map_or(Ok(0), |row| row.try_get("found"))?;
    let more = found >= i64::from(most) || usize::try_from(found).is_ok_and(|all| all > due.len());
    Ok(DuePage { due, more })
}

fn due(row: &AnyRow) -> Result<Due, StoreError> {
    Ok(Due { card: cards::card(row)?, ask: rows::ask(row) })
}

#[cfg(test)]
mod tests;
