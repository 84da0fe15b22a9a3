//! Bundles: one message at a target for the cards of several asks.
//!
//! INVARIANT: a revision is stored before it is sent, together with the cards that it is the first
//! to show. A press on it covers exactly those, whatever was lost on the way or came since.

use super::{
    Fence, Store, StoreError,
    asks::{columns, whole},
    engine::{Tx, places},
    lease,
    outbox::{is_late, start_time},
};
use countersign_domain::Ask;
use countersign_tokens::{clock, ids};
use sqlx::{AssertSqlSafe, Row, any::AnyRow};

/// The most asks in one bundle.
pub const BUNDLE: usize = 200;

/// A bundle as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundleRow {
    /// The first part of its button tokens.
    pub nonce: String,
    /// The posted message, once known.
    pub message: Option<String>,
    /// Counts its drawings.
    pub revision: i64,
    /// How often drawing it was tried in a row and is not known to have worked.
    pub attempts: i64,
}

/// An ask in a bundle.
#[derive(Debug, Clone)]
pub struct Member {
    /// The first part of the tokens of its own card.
    pub card: String,
    /// The first revision of the bundle that shows it; 0: none yet.
    pub joined: i64,
    /// Whether people have seen it, here or on a card of its own.
    pub seen: bool,
    /// The ask as it is now.
    pub ask: Ask,
}

/// A bundle with its asks, the oldest first. One whose row does not read back is left out.
#[derive(Debug, Clone)]
pub struct Bundle {
    /// The bundle.
    pub row: BundleRow,
    /// Its asks.
    pub members: Vec<Member>,
}

/// Which bundles are to be drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BundleNews {
    /// Those with an ask that nobody has seen.
    Unseen,
    /// Those that are behind in any way.
    Any,
}

/// How a bundle is found.
#[derive(Debug, Clone, Copy)]
pub enum BundleKey<'a> {
    /// By its nonce, unless the message that it was pressed in holds something else.
    Nonce {
        /// The adapter of the press.
        adapter: &'a str,
        /// The first part of the bundle's button tokens.
        nonce: &'a str,
        /// The pressed message, where the platform names it.
        message: Option<&'a str>,
    },
    /// By its message.
    Message {
        /// The adapter that posted it.
        adapter: &'a str,
        /// The message.
        message: &'a str,
    },
    /// By a card in it.
    Card {
        /// The first part of the card's button tokens.
        card: &'a str,
        /// The message of the bundle.
        message: &'a str,
    },
}

/// Where an open ask for the same call is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Twin {
    /// The digest of the call.
    pub digest: String,
    /// Its card.
    pub card: String,
    /// The bundle that its card is in.
    pub bundle: Option<String>,
}

// A macro, because sqlx takes static SQL and `concat!` only literals.
macro_rules! bundle_where {
    () => {
        "SELECT nonce, message, revision, attempts FROM bundle WHERE "
    };
}

/// The members of a bundle, for [`member`].
const MEMBERS: &str = concat!(
    "SELECT nonce, joined, seen, ",
    columns!(),
    " FROM card JOIN ask ON id = card.ask WHERE card.bundle = $1 ORDER BY created_at, id"
);

impl Store {
    /// The newest bundle of this crowd that has room, is not older than `since` and has an open
    /// ask.
    pub async fn open_bundle(
        &self,
        [adapter, target, crowd]: [&str; 3],
        since: i64,
    ) -> Result<Option<String>, StoreError> {
        let query = sqlx::query(
            "SELECT nonce FROM bundle AS b WHERE adapter = $1 AND target = $2 AND crowd = $3 \
             AND created_at > $4 AND gone IS NULL \
             AND (SELECT count(*) FROM card WHERE card.bundle = b.nonce) < $5 \
             AND EXISTS (SELECT 1 FROM card JOIN ask ON id = card.ask \
             WHERE card.bundle = b.nonce AND state = 'open') ORDER BY created_at DESC LIMIT 1",
        );
        let query = query.bind(adapter).bind(target).bind(crowd).bind(since);
        self.value(query.bind(BUNDLE as i64)).await
    }

    /// Where open asks for these calls are shown at this target.
    pub async fn twins(
        &self,
        adapter: &str,
        target: &str,
        digests: &[String],
    ) -> Result<Vec<Twin>, StoreError> {
        if digests.is_empty() {
            return Ok(Vec::new());
        }
        let sql = format!(
            "SELECT digest, card.nonce AS nonce, card.bundle AS bundle FROM ask JOIN card \
             ON card.ask = id WHERE digest IN ({}) AND state = 'open' AND card.adapter = $1 \
             AND card.target = $2 AND card.gone IS NULL AND (shown > 0 OR card.bundle IS NOT NULL) \
             ORDER BY created_at, id",
            places(3, digests.len())
        );
        let query = sqlx::query(AssertSqlSafe(sql)).bind(adapter).bind(target);
        let rows =
            self.all(digests.iter().fold(query, |query, it| query.bind(it.as_str()))).await?;
        let twin = |row: &AnyRow| {
            let digest = row.try_get("digest")?;
            let card = row.try_get("nonce")?;
            Ok(Twin { digest, card, bundle: row.try_get("bundle")? })
        };
        rows.iter().map(twin).collect()
    }

    /// How many of these asks are open.
    pub async fn count_open_of(&self, asks: &[String]) -> Result<usize, StoreError> {
        if asks.is_empty() {
            return Ok(0);
        }
        let sql = format!(
            "SELECT count(*) AS open FROM ask WHERE state = 'open' AND id IN ({})",
            places(1, asks.len())
        );
        let query = sqlx::query(AssertSqlSafe(sql));
        let row = self.one(asks.iter().fold(query, |query, ask| query.bind(ask.as_str()))).await?;
        Ok(usize::try_from(row.try_get::<i64, _>("open")?).unwrap_or_default())
    }

    /// The bundle at this target that is to be drawn next: what nobody has seen comes first.
    pub async fn due_bundle(
        &self,
        adapter: &str,
        target: &str,
        now: i64,
        news: BundleNews,
    ) -> Result<Option<BundleRow>, StoreError> {
        let query = sqlx::query(
            "SELECT nonce, message, revision, attempts FROM (SELECT b.*, CASE WHEN EXISTS \
             (SELECT 1 FROM card WHERE card.bundle = b.nonce AND shown = 0 AND shown < wanted) \
             THEN 1 ELSE 0 END AS unseen, CASE WHEN message IS NULL THEN 0 ELSE 1 END AS stands \
             FROM bundle AS b WHERE adapter = $1 AND target = $2 AND gone IS NULL \
             AND (due_at <= $3 OR (message IS NULL AND attempts = 0)) AND EXISTS \
             (SELECT 1 FROM card WHERE card.bundle = b.nonce AND shown < wanted)) AS due \
             WHERE unseen >= $4 ORDER BY unseen DESC, stands, due_at, nonce LIMIT 1",
        );
        let least = i64::from(news == BundleNews::Unseen);
        let row = self.maybe(query.bind(adapter).bind(target).bind(now).bind(least)).await?;
        row.as_ref().map(bundle_row).transpose()
    }

    /// Finds a bundle, with its asks.
    pub async fn find_bundle(&self, by: BundleKey<'_>) -> Result<Option<Bundle>, StoreError> {
        let query = match by {
            BundleKey::Nonce { adapter, nonce, message } => sqlx::query(concat!(
                bundle_where!(),
                "nonce = $1 AND adapter = $2 AND NOT EXISTS (SELECT 1 FROM card \
                 WHERE card.adapter = $2 AND card.message = $3) AND NOT EXISTS \
                 (SELECT 1 FROM bundle AS other WHERE other.adapter = $2 \
                 AND other.message = $3 AND other.nonce <> $1)",
            ))
            .bind(nonce)
            .bind(adapter)
            .bind(message),
            BundleKey::Message { adapter, message } => {
                let query = concat!(bundle_where!(), "adapter = $1 AND message = $2");
                sqlx::query(query).bind(adapter).bind(message)
            }
            BundleKey::Card { card, message } => sqlx::query(concat!(
                bundle_where!(),
                "message = $2 AND nonce = (SELECT bundle FROM card WHERE nonce = $1)"
            ))
            .bind(card)
            .bind(message),
        };
        let Some(row) = self.maybe(query).await? else { return Ok(None) };
        let row = bundle_row(&row)?;
        let found = self.all(sqlx::query(MEMBERS).bind(row.nonce.as_str())).await?;
        Ok(Some(Bundle { row, members: found.iter().filter_map(member).collect() }))
    }

    /// Puts these cards into the bundle `into`, or into a new one for this crowd. Returns its
    /// nonce; `None` if the caller does not lead any more, or none of the cards is free. A card
    /// with a message of its own hands it to a new bundle.
    pub async fn bundle(
        &self,
        [adapter, target, crowd]: [&str; 3],
        cards: &[String],
        into: Option<&str>,
        fence: &Fence,
        now: i64,
    ) -> Result<Option<String>, StoreError> {
        let [adapter, target, crowd] = [adapter, target, crowd].map(str::to_owned);
        let cards = cards.to_vec();
        let fence = fence.clone();
        let (new, nonce) = match into {
            Some(nonce) => (false, nonce.to_owned()),
            None => (true, ids::nonce()),
        };
        self.write(move |tx| {
            Box::pin(async move {
                if !lease::leads(tx, &fence).await? {
                    return Ok(None);
                }
                let mut message = None;
                let mut free = 0;
                for card in &cards {
                    let row = sqlx::query(
                        "SELECT message FROM card WHERE nonce = $1 AND bundle IS NULL \
                         AND gone IS NULL",
                    );
                    let Some(row) = tx.maybe(row.bind(card)).await? else {
                        continue;
                    };
                    message = message.or(row.try_get::<Option<String>, _>("message")?);
                    let moved = sqlx::query(
                        "UPDATE card SET bundle = $2, joined = 0, shown = 0, message = NULL, \
                         attempts = 0 WHERE nonce = $1",
                    );
                    tx.run(moved.bind(card).bind(&nonce)).await?;
                    free += 1;
                }
                if free == 0 {
                    return Ok(None);
                }
                if new {
                    let insert = sqlx::query(
                        "INSERT INTO bundle (nonce, adapter, target, crowd, message, revision, \
                         attempts, due_at, created_at) VALUES ($1, $2, $3, $4, $5, 0, 0, $6, $6)",
                    );
                    let insert = insert.bind(&nonce).bind(&adapter).bind(&target).bind(&crowd);
                    tx.run(insert.bind(message).bind(now)).await?;
                }
                Ok(Some(nonce))
            })
        })
        .await
    }

    /// Counts a new drawing of a bundle, which shows all of its asks that are open now; the bundle
    /// as it is to be drawn. `None` if the caller does not lead any more.
    ///
    /// # Errors
    /// When the store fails; then nothing may be sent.
    pub async fn next_revision(
        &self,
        nonce: &str,
        fence: &Fence,
    ) -> Result<Option<Bundle>, StoreError> {
        let nonce = nonce.to_owned();
        let fence = fence.clone();
        self.write(move |tx| {
            Box::pin(async move {
                let count = sqlx::query(
                    "UPDATE bundle SET revision = revision + 1 WHERE nonce = $1 AND EXISTS \
                     (SELECT 1 FROM lease WHERE name = $2 AND epoch = $3) \
                     RETURNING nonce, message, revision, attempts",
                );
                let count = count.bind(&nonce).bind(&fence.name).bind(fence.epoch);
                let Some(row) = tx.maybe(count).await? else { return Ok(None) };
                let row = bundle_row(&row)?;
                let join = sqlx::query(
                    "UPDATE card SET joined = $2 WHERE bundle = $1 AND joined = 0 \
                     AND ask IN (SELECT id FROM ask WHERE state = 'open')",
                );
                tx.run(join.bind(&nonce).bind(row.revision)).await?;
                let found = tx.all(sqlx::query(MEMBERS).bind(&nonce)).await?;
                Ok(Some(Bundle { row, members: found.iter().filter_map(member).collect() }))
            })
        })
        .await
    }

    /// Notes that a bundle shows its asks as they were read, and is to rest until then. False: this
    /// daemon leads no more, and the leader draws it again.
    pub async fn bundle_shown(
        &self,
        shown: &Bundle,
        message: Option<&str>,
        muted: bool,
        rests_until: i64,
        fence: &Fence,
    ) -> Result<bool, StoreError> {
        let shown = shown.clone();
        let message = message.map(str::to_owned);
        let fence = fence.clone();
        let shown = self.write(move |tx| {
            Box::pin(async move {
                let nonce = &shown.row.nonce;
                if !lease::leads(tx, &fence).await? {
                    let deposed = sqlx::query(
                        "UPDATE bundle SET message = coalesce(message, $2) WHERE nonce = $1",
                    );
                    tx.run(deposed.bind(nonce).bind(message)).await?;
                    let again = sqlx::query("UPDATE card SET shown = 0 WHERE bundle = $1");
                    tx.run(again.bind(nonce)).await?;
                    return Ok(false);
                }
                let posted = message.is_some();
                let noted = sqlx::query(
                    "UPDATE bundle SET message = coalesce($2, message), attempts = 0, muted = $3, \
                     due_at = $4 WHERE nonce = $1",
                );
                let noted = noted.bind(nonce).bind(message).bind(i64::from(muted));
                tx.run(noted.bind(rests_until)).await?;
                let now = clock::now_ms();
                let late = |it: &&Member| posted && it.joined > 0 && is_late(&it.ask, now);
                let late = shown.members.iter().filter(late).map(|it| it.ask.id.clone());
                let moved = start_time(tx, &late.collect::<Vec<_>>()).await?;
                for member in &shown.members {
                    let card = sqlx::query(
                        "UPDATE card SET shown = $2, attempts = 0, held = NULL, \
                         seen = CASE WHEN $3 > 0 THEN 1 ELSE seen END WHERE nonce = $1",
                    );
                    let version = member.ask.version + i64::from(moved.contains(&member.ask.id));
                    let seen = i64::from(posted && member.joined > 0);
                    tx.run(card.bind(&member.card).bind(version).bind(seen)).await?;
                }
                Ok(true)
            })
        });
        shown.await
    }

    /// Notes a failed try to draw a bundle, or that it is to rest; when to try again.
    pub async fn bundle_rests(
        &self,
        nonce: &str,
        failed: bool,
        until: i64,
    ) -> Result<(), StoreError> {
        let rest =
            sqlx::query("UPDATE bundle SET attempts = attempts + $2, due_at = $3 WHERE nonce = $1");
        let rest = rest.bind(nonce.to_owned()).bind(i64::from(failed)).bind(until);
        self.execute(rest).await.map(drop)
    }

    /// Gives a bundle up: its open asks get cards of their own.
    pub async fn unbundle(&self, nonce: &str, why: &str) -> Result<(), StoreError> {
        let apart = sqlx::query(
            "UPDATE card SET bundle = NULL, joined = 0, shown = 0, \
             due_at = (SELECT created_at FROM ask WHERE id = card.ask) WHERE bundle = $1 \
             AND ask IN (SELECT id FROM ask WHERE state = 'open')",
        );
        let gone = sqlx::query("UPDATE bundle SET gone = $2 WHERE nonce = $1");
        let gone = gone.bind(nonce.to_owned()).bind(why.to_owned());
        self.execute_all(vec![apart.bind(nonce.to_owned()), gone]).await
    }
}

fn bundle_row(row: &AnyRow) -> Result<BundleRow, StoreError> {
    let nonce = row.try_get("nonce")?;
    let message = row.try_get("message")?;
    Ok(BundleRow {
        nonce,
        message,
        revision: row.try_get("revision")?,
        attempts: row.try_get("attempts")?,
    })
}

fn member(row: &AnyRow) -> Option<Member> {
    let ask = whole(row)?;
    let card = row.try_get("nonce").ok()?;
    let joined = row.try_get("joined").ok()?;
    let seen = row.try_get::<i64, _>("seen").ok()? > 0;
    Some(Member { card, joined, seen, ask })
}

/// Deletes bundles without asks. They are deleted with the asks' cards.
pub(super) async fn forget(tx: &mut Tx, before: i64) -> Result<(), StoreError> {
    let empty = sqlx::query(
        "DELETE FROM bundle WHERE created_at < $1 AND NOT EXISTS \
         (SELECT 1 FROM card WHERE card.bundle = bundle.nonce)",
    );
    tx.run(empty.bind(before)).await.map(drop)
}
