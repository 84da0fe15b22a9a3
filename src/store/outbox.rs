//! The outbox, kept in the rows of the cards: what is due at a target and in which order, and what
//! became of what was sent. Also reminders of cards, and digests.

use super::{
    CardRow, Fence, Store, StoreError,
    asks::{self, columns, whole},
    cards,
    changes::{Follow, follow},
    engine::Tx,
    lease,
    log::{self, NewEvent},
};
use countersign_domain::{Ask, deadline::LATE_MS};
use countersign_tokens::clock;
use serde_json::json;
use sqlx::{AssertSqlSafe, Row, any::AnyRow};
use std::collections::HashSet;

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

/// A card of which its target has to be reminded.
#[derive(Debug)]
pub struct DueReminder {
    /// Which card.
    pub nonce: String,
    /// The message that it is in.
    pub message: String,
    /// How many reminders there should have been.
    pub reminders: i64,
    /// Its ask.
    pub ask: Ask,
}

/// How many reminders are read at once.
const REMINDERS: i64 = 16;

pub(super) const DUE_REMINDERS: &str = concat!(
    "SELECT due.nonce, due.message AS posted_in, due.reminders, ",
    columns!(),
    " FROM (SELECT nonce, ask, reminders, coalesce(message, (SELECT message FROM bundle \
     WHERE bundle.nonce = card.bundle)) AS message FROM card WHERE adapter = $1 \
     AND target = $2 AND gone IS NULL AND reminded < reminders \
     AND EXISTS (SELECT 1 FROM lease WHERE name = $3 AND epoch = $4)) AS due \
     JOIN ask ON id = due.ask WHERE state = 'open' AND left_ms IS NULL \
     AND due.message IS NOT NULL ORDER BY created_at, id LIMIT $5"
);

/// A digest for a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDigest {
    /// Which adapter.
    pub adapter: String,
    /// Where, in the adapter's spelling.
    pub target: String,
    /// What it says, as its maker wrote it down.
    pub content: String,
}

/// A digest that has to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueDigest {
    /// When it was due; Unix milliseconds.
    pub due_at: i64,
    /// What it says, as its maker wrote it down.
    pub content: String,
}

/// What became of an attempt to send a digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DigestTry {
    /// It was sent, or is given up.
    Over,
    /// It has to be sent again.
    Again,
}

impl Store {
    /// The cards at this target that are behind and may be tried now, for as long as the one who
    /// asks leads: new ones first, by turns of their agents. `last` is the agent that had the last
    /// turn.
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
    pub async fn next_due(&self, adapter: &str, target: &str) -> Result<Option<i64>, StoreError> {
        let query = sqlx::query(
            "SELECT min(at) AS at FROM (SELECT min(due_at) AS at FROM card WHERE adapter = $1 \
             AND target = $2 AND gone IS NULL AND shown < wanted AND bundle IS NULL UNION ALL \
             SELECT min(due_at) AS at FROM bundle AS b WHERE adapter = $1 AND target = $2 \
             AND gone IS NULL AND EXISTS (SELECT 1 FROM card WHERE card.bundle = b.nonce \
             AND shown < wanted)) AS next",
        );
        Ok(self.value(query.bind(adapter).bind(target)).await?.flatten())
    }

    /// Notes that this card is muted from now on.
    pub async fn card_muted(&self, nonce: &str) -> Result<(), StoreError> {
        let muted = sqlx::query("UPDATE card SET muted = 1 WHERE nonce = $1");
        self.execute(muted.bind(nonce.to_owned())).await.map(drop)
    }

    /// Makes this card due as if it had never been shown.
    pub async fn card_lost(&self, nonce: &str) -> Result<(), StoreError> {
        let lost = sqlx::query("UPDATE card SET shown = 0, message = NULL WHERE nonce = $1");
        self.execute(lost.bind(nonce.to_owned())).await.map(drop)
    }

    /// Notes what cards show now; false: the one who showed it leads no more, and they are to be
    /// redrawn by the daemon that does.
    // INVARIANT: what a deposed leader showed never counts as the newest.
    pub async fn cards_shown(&self, shown: &[Shown], fence: &Fence) -> Result<bool, StoreError> {
        let shown = shown.to_vec();
        let fence = fence.clone();
        self.write(move |tx| {
            Box::pin(async move {
                let mut shown = shown;
                let late = shown.iter().filter(|shown| shown.seen == Seen::Late);
                let late: Vec<_> = late.map(|shown| shown.ask.clone()).collect();
                if !late.is_empty() && lease::leads(tx, &fence).await? {
                    let moved = start_time(tx, &late).await?;
                    let started = |shown: &&mut Shown| moved.contains(&shown.ask);
                    shown.iter_mut().filter(started).for_each(|shown| shown.version += 1);
                }
                if note(tx, &shown, LED, &fence).await? > 0 || lease::leads(tx, &fence).await? {
                    let drawn: Vec<_> = shown.iter().filter_map(event).collect();
                    log::append_all(tx, &drawn).await?;
                    return Ok(true);
                }
                note(tx, &shown, DEPOSED, &fence).await?;
                Ok(false)
            })
        })
        .await
    }

    /// Notes a failed try and when to try again.
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
        let due = "UPDATE card SET due_at = (SELECT created_at FROM ask WHERE id = card.ask) \
                   WHERE nonce = $1 AND shown < wanted";
        let due = |nonce| sqlx::query(due).bind(nonce);
        self.execute_all(nonces.into_iter().map(due).collect()).await
    }

    /// Notes why the target takes nothing now, at the cards that it has not got yet. The asks at
    /// which that is news.
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
        let held = self.write(move |tx| Box::pin(tx.all(held)));
        held.await?.iter().map(|row| Ok(row.try_get("ask")?)).collect()
    }

    /// Gives a card up, and says why.
    pub async fn card_gone(&self, nonce: &str, why: &str) -> Result<(), StoreError> {
        let statement = sqlx::query("UPDATE card SET gone = $2 WHERE nonce = $1")
            .bind(nonce.to_owned())
            .bind(why.to_owned());
        self.execute(statement).await.map(drop)
    }

    /// Lets the cards of open asks at this target that were given up be tried again.
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
    pub async fn target_moved(
        &self,
        adapter: &str,
        old: &str,
        new: &str,
    ) -> Result<(), StoreError> {
        let moved = [
            "UPDATE card SET target = $3, message = NULL, shown = 0, due_at = 0, attempts = 0 \
             WHERE adapter = $1 AND target = $2 AND gone IS NULL AND shown < wanted",
            "UPDATE bundle SET target = $3, message = NULL, due_at = 0, attempts = 0 \
             WHERE adapter = $1 AND target = $2 AND gone IS NULL AND EXISTS \
             (SELECT 1 FROM card WHERE card.bundle = bundle.nonce AND shown < wanted)",
        ];
        let bound = |sql| {
            let query = sqlx::query(sql).bind(adapter.to_owned()).bind(old.to_owned());
            query.bind(new.to_owned())
        };
        self.execute_all(moved.map(bound).into()).await
    }

    /// The cards of asks that were opened before `before`, are open and are shown nowhere at their
    /// target yet.
    pub async fn late_cards(&self, before: i64) -> Result<Vec<LateCards>, StoreError> {
        let query = sqlx::query(LATE_CARDS);
        let late = |row: &AnyRow| {
            let cards = u64::try_from(row.try_get::<i64, _>("cards")?).unwrap_or_default();
            let adapter = row.try_get("adapter")?;
            let target = row.try_get("target")?;
            Ok(LateCards { adapter, target, cards, since: row.try_get("since")? })
        };
        self.all(query.bind(before)).await?.iter().map(late).collect()
    }

    /// The cards at this target of which it has to be reminded, for as long as the one who asks
    /// leads.
    pub async fn due_reminders(
        &self,
        adapter: &str,
        target: &str,
        fence: &Fence,
    ) -> Result<Vec<DueReminder>, StoreError> {
        let query = sqlx::query(DUE_REMINDERS);
        let query = query.bind(adapter).bind(target).bind(&fence.name).bind(fence.epoch);
        let rows = self.all(query.bind(REMINDERS)).await?;
        let due = |row: &AnyRow| -> Result<Option<DueReminder>, StoreError> {
            let nonce = row.try_get("nonce")?;
            let message = row.try_get("posted_in")?;
            let reminders = row.try_get("reminders")?;
            Ok(whole(row).map(|ask| DueReminder { nonce, message, reminders, ask }))
        };
        rows.iter().filter_map(|row| due(row).transpose()).collect()
    }

    /// Notes that this card's reminders are sent, before they are; whether the one who says so
    /// leads and nobody has before.
    // INVARIANT: noted first, so that a crash may lose a reminder and never repeats one.
    pub async fn reminding(
        &self,
        nonce: &str,
        reminders: i64,
        fence: &Fence,
    ) -> Result<bool, StoreError> {
        let noted = sqlx::query(
            "UPDATE card SET reminded = $2 WHERE nonce = $1 AND reminded < $2 \
             AND EXISTS (SELECT 1 FROM lease WHERE name = $3 AND epoch = $4)",
        );
        let noted = noted.bind(nonce.to_owned()).bind(reminders);
        Ok(self.execute(noted.bind(fence.name.clone()).bind(fence.epoch)).await? > 0)
    }

    /// Notes that this card's last reminder was not sent after all.
    ///
    /// # Errors
    /// When the store fails; then it is not sent again.
    pub async fn not_reminded(&self, nonce: &str, reminders: i64) -> Result<(), StoreError> {
        let noted =
            sqlx::query("UPDATE card SET reminded = $2 - 1 WHERE nonce = $1 AND reminded = $2");
        self.execute(noted.bind(nonce.to_owned()).bind(reminders)).await.map(drop)
    }

    /// When the last digest was due that was made; Unix milliseconds.
    pub async fn last_digest(&self) -> Result<Option<i64>, StoreError> {
        self.time("SELECT max(due_at) AS at FROM digest").await
    }

    /// Adds the digest that was due then, for these targets, in place of all earlier ones. False:
    /// it was made already.
    // INVARIANT: of all daemons that make the digest of a time one adds it: its row without a
    // target decides.
    pub async fn add_digest(
        &self,
        due_at: i64,
        digests: Vec<NewDigest>,
    ) -> Result<bool, StoreError> {
        self.change(move |tx| {
            Box::pin(async move {
                let insert = "INSERT INTO digest (due_at, adapter, target, content, sent) \
                              VALUES ($1, $2, $3, $4, 0) ON CONFLICT DO NOTHING";
                let first = sqlx::query(insert).bind(due_at).bind("").bind("").bind("[]");
                if tx.run(first).await? == 0 {
                    return Ok(false);
                }
                let earlier = sqlx::query("DELETE FROM digest WHERE due_at < $1").bind(due_at);
                tx.run(earlier).await?;
                for NewDigest { adapter, target, content } in &digests {
                    let row = sqlx::query(insert).bind(due_at).bind(adapter).bind(target);
                    tx.run(row.bind(content)).await?;
                }
                Ok(true)
            })
        })
        .await
    }

    /// The digest that has to be sent at this target, for as long as the one who asks leads.
    pub async fn due_digest(
        &self,
        adapter: &str,
        target: &str,
        fence: &Fence,
    ) -> Result<Option<DueDigest>, StoreError> {
        let query = sqlx::query(
            "SELECT due_at, content FROM digest WHERE adapter = $1 AND target = $2 \
             AND sent <> 1 AND sent <> -$4 \
             AND EXISTS (SELECT 1 FROM lease WHERE name = $3 AND epoch = $4) \
             ORDER BY due_at DESC LIMIT 1",
        );
        let query = query.bind(adapter).bind(target).bind(&fence.name).bind(fence.epoch);
        let Some(row) = self.maybe(query).await? else { return Ok(None) };
        Ok(Some(DueDigest { due_at: row.try_get("due_at")?, content: row.try_get("content")? }))
    }

    /// Notes that this digest is being sent here; whether the one who says so leads and has not
    /// begun before.
    // INVARIANT: the column holds 1 once it is sent, and before that the negative epoch of the
    // leader that began. The same leader begins once, so a store that fails makes no flood; the
    // next leader sends what an earlier one did not finish, so a crash may repeat a digest and
    // never loses one.
    pub async fn digest_sending(
        &self,
        due_at: i64,
        adapter: &str,
        target: &str,
        fence: &Fence,
    ) -> Result<bool, StoreError> {
        let noted = sqlx::query(
            "UPDATE digest SET sent = -$5 WHERE due_at = $1 AND adapter = $2 AND target = $3 \
             AND sent <> 1 AND sent <> -$5 \
             AND EXISTS (SELECT 1 FROM lease WHERE name = $4 AND epoch = $5)",
        );
        let noted = noted.bind(due_at).bind(adapter.to_owned()).bind(target.to_owned());
        Ok(self.execute(noted.bind(fence.name.clone()).bind(fence.epoch)).await? > 0)
    }

    /// Notes that this digest was sent here, or that it has to be sent again.
    ///
    /// # Errors
    /// When the store fails; then the next leader sends it again.
    pub async fn digest_tried(
        &self,
        due_at: i64,
        adapter: &str,
        target: &str,
        tried: DigestTry,
    ) -> Result<(), StoreError> {
        let sent = match tried {
            DigestTry::Over => 1_i64,
            DigestTry::Again => 0,
        };
        let noted = sqlx::query(
            "UPDATE digest SET sent = $4 WHERE due_at = $1 AND adapter = $2 AND target = $3 \
             AND sent <> 1",
        );
        let noted = noted.bind(due_at).bind(adapter.to_owned()).bind(target.to_owned());
        self.execute(noted.bind(sent)).await.map(drop)
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

/// The event of a card that was sent.
fn event(shown: &Shown) -> Option<NewEvent> {
    let DrawnCard { adapter, target, digest } = shown.drawn.as_ref()?;
    let data = json!({"adapter": adapter, "target": target, "message": shown.message,
        "version": shown.version, "digest": digest});
    let kind = "shown".to_owned();
    let ask = Some(shown.ask.clone());
    Some(NewEvent { at: clock::now_ms(), kind, ask, data })
}

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
    tx.run(query).await
}

/// Whether the time of this ask may have to start anew where it is shown now.
pub(super) fn is_late(ask: &Ask, now: i64) -> bool {
    ask.is_open() && ask.created_at < now - LATE_MS
}

/// Starts the time of those of these asks that nobody has seen until now; their ids. Their cards
/// are noted as shown after this.
// INVARIANT: the time of an ask starts with its first card, whichever target that is at.
pub(super) async fn start_time(
    tx: &mut Tx,
    asks: &[String],
) -> Result<HashSet<String>, StoreError> {
    let now = clock::now_ms();
    let mut moved = HashSet::new();
    for ask in asks {
        // The same as `ask::late::deadline`, which the card shows already.
        let start = sqlx::query(
            "UPDATE ask SET deadline_at = deadline_at + ($2 - created_at), version = version + 1 \
             WHERE id = $1 AND state = 'open' AND deadline_at > $2 AND created_at < $2 - $3 \
             AND NOT EXISTS (SELECT 1 FROM card WHERE card.ask = $1 AND seen = 1) \
             RETURNING deadline_at, created_at",
        );
        let start = start.bind(ask).bind(now).bind(LATE_MS);
        let Some(row) = tx.maybe(start).await? else { continue };
        let (until, since): (i64, i64) = (row.try_get("deadline_at")?, row.try_get("created_at")?);
        let was = until - (now - since);
        let data = json!({"deadline_at": until, "was": was, "shown_at": now});
        follow(tx, ask, Follow::Behind, Some((now, "postponed", data))).await?;
        moved.insert(ask.clone());
    }
    Ok(moved)
}

#[cfg(test)]
mod tests;
