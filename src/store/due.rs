//! The outbox, kept in the rows of the cards: what is due at a target, and in which order.

use super::{
    CardRow, Fence, Store, StoreError,
    asks::{self, columns},
    cards,
};
use countersign_domain::Ask;
use sqlx::{Row, any::AnyRow};

/// A card that is behind, and its ask.
#[derive(Debug)]
pub struct Due {
    /// The card.
    pub card: CardRow,
    /// What it has to show; why not, where the row does not read back.
    pub ask: Result<Ask, StoreError>,
}

/// A page of cards with their asks.
#[derive(Debug)]
pub struct DuePage {
    /// In their order.
    pub due: Vec<Due>,
    /// Whether there may be more behind it.
    pub more: bool,
}

/// First turns at a target. Agents take turns, going on behind the one that had the last; within an
/// agent critical asks come first, then its sessions take turns. A first try does not wait for
/// anything, whatever the clocks say.
macro_rules! first_turns {
    () => {
        "SELECT * FROM (SELECT * FROM (SELECT 0 AS redraw, row_number() OVER (PARTITION BY agent \
     ORDER BY critical DESC, turn, due_at, nonce) AS place, \
     CASE WHEN agent > $6 THEN 0 ELSE 1 END AS lap, agent AS line, \
     nonce, ask, adapter, target, message, attempts, shown, instead, bytes FROM card \
     WHERE adapter = $1 AND target = $2 AND gone IS NULL AND shown = 0 AND bundle IS NULL \
     AND (attempts = 0 OR due_at <= $3) \
     AND EXISTS (SELECT 1 FROM lease WHERE name = $4 AND epoch = $5)) AS first \
     ORDER BY place, lap, line LIMIT $7) AS page"
    };
}

/// Cards to be redrawn, the oldest first.
macro_rules! redraws {
    () => {
        "SELECT * FROM (SELECT 1 AS redraw, due_at AS place, 0 AS lap, '' AS line, \
     nonce, ask, adapter, target, message, attempts, shown, instead, bytes FROM card \
     WHERE adapter = $1 AND target = $2 AND gone IS NULL AND shown > 0 AND shown < wanted \
     AND bundle IS NULL AND (attempts = 0 OR due_at <= $3) \
     AND EXISTS (SELECT 1 FROM lease WHERE name = $4 AND epoch = $5) \
     ORDER BY due_at LIMIT $7) AS behind"
    };
}

/// So many of these cards, with their asks, as fit into a page.
// INVARIANT: the size of a page is known before the first body is read.
macro_rules! fitting {
    ($cards:expr, $most:literal) => {
        concat!(
            "SELECT nonce, due.ask, adapter, target, message, attempts, shown, instead, \
             CAST(CASE WHEN EXISTS (SELECT 1 FROM card AS other \
             WHERE other.ask = due.ask AND other.seen = 1) THEN 1 \
             ELSE 0 END AS BIGINT) AS seen, found, ",
            columns!(),
            " FROM (SELECT cards.*, count(*) OVER () AS found, sum(bytes) OVER (ORDER BY redraw, \
             place, lap, line, ask ROWS UNBOUNDED PRECEDING) - bytes AS ahead FROM (",
            $cards,
            ") AS cards) AS due JOIN ask ON id = due.ask WHERE ahead < ",
            $most,
            " ORDER BY redraw, place, lap, line, due.ask"
        )
    };
}

/// What is somewhere, in the order in which it came. CROSS: SQLite begins with the asks, whose
/// index has that order, instead of sorting all cards for every page.
const POSTED: &str = fitting!(
    "SELECT 0 AS redraw, created_at AS place, 0 AS lap, '' AS line, nonce, ask, adapter, target, \
     message, attempts, shown, instead, card.bytes \
     FROM ask CROSS JOIN card WHERE ask = id AND adapter = $1 AND target = $2 \
     AND state = 'open' AND shown > 0 AND gone IS NULL AND (created_at, id) > ($3, $4) \
     ORDER BY created_at, id LIMIT $5",
    "$6"
);

/// What is muted and should not be, or the other way round.
const OTHERWISE: &str = concat!(
    "SELECT nonce, ask, adapter, target, message, attempts, shown, instead, seen, ",
    columns!(),
    " FROM ask CROSS JOIN card WHERE ask = id AND adapter = $1 AND target = $2 \
     AND state = 'open' AND shown > 0 AND message IS NOT NULL AND gone IS NULL AND muted <> $3 \
     AND (attempts = 0 OR due_at <= $4) ORDER BY created_at, id LIMIT $5"
);

/// New cards come before redraws, so that redraws never keep an ask from being seen.
const DUE: &str = fitting!(
    concat!(
        first_turns!(),
        " UNION ALL ",
        redraws!(),
        " ORDER BY redraw, place, lap, line LIMIT $7"
    ),
    "$8"
);

impl Store {
    /// The cards at this target that are behind and may be tried now, for as long as the one who
    /// asks leads: new ones first, by turns of their agents. `last` is the agent that had the last
    /// turn.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn due_cards(
        &self,
        adapter: &str,
        target: &str,
        now: i64,
        fence: &Fence,
        last: &str,
        most: u32,
    ) -> Result<DuePage, StoreError> {
        let query = sqlx::query(DUE).bind(adapter).bind(target).bind(now);
        let query = query.bind(&fence.name).bind(fence.epoch).bind(last).bind(i64::from(most));
        page(&self.all(query.bind(Self::PAGE_BYTES)).await?, most)
    }

    /// The cards at this target that the rows say are there and whose asks are open, the oldest
    /// ask first, after that of the last page.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn posted_cards(
        &self,
        adapter: &str,
        target: &str,
        last: Option<&Ask>,
        most: u32,
    ) -> Result<DuePage, StoreError> {
        let query = sqlx::query(POSTED).bind(adapter).bind(target);
        let query = query.bind(last.map_or(i64::MIN, |ask| ask.created_at));
        let query = query.bind(last.map_or("", |ask| ask.id.as_str())).bind(i64::from(most));
        page(&self.all(query.bind(Self::PAGE_BYTES)).await?, most)
    }

    /// The cards of open asks that are at this target, may be tried now, and are muted or not
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

    /// When the next card at this target may be tried.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn next_due(&self, adapter: &str, target: &str) -> Result<Option<i64>, StoreError> {
        let query = sqlx::query(
            "SELECT min(at) AS at FROM (SELECT min(due_at) AS at FROM card WHERE adapter = $1 \
             AND target = $2 AND gone IS NULL AND shown < wanted AND bundle IS NULL UNION ALL \
             SELECT min(due_at) AS at FROM bundle AS b WHERE adapter = $1 AND target = $2 \
             AND gone IS NULL AND EXISTS (SELECT 1 FROM card WHERE card.bundle = b.nonce \
             AND shown < wanted)) AS next",
        );
        let row = self.one(query.bind(adapter).bind(target)).await?;
        Ok(row.try_get("at")?)
    }
}

fn page(rows: &[AnyRow], most: u32) -> Result<DuePage, StoreError> {
    let due = rows.iter().map(due).collect::<Result<Vec<_>, _>>()?;
    let found: i64 = rows.first().map_or(Ok(0), |row| row.try_get("found"))?;
    let more = found >= i64::from(most) || usize::try_from(found).is_ok_and(|all| all > due.len());
    Ok(DuePage { due, more })
}

fn due(row: &AnyRow) -> Result<Due, StoreError> {
    Ok(Due { card: cards::card(row)?, ask: asks::ask(row) })
}
