//! Bundles: one message at a target for the cards of several asks; how they are found.

use super::{
    Store, StoreError,
    asks::{self, columns},
};
use countersign_domain::Ask;
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

impl Store {
    /// The newest bundle of this crowd that has room, is not older than `since` and has an open
    /// ask.
    ///
    /// # Errors
    /// When the store fails.
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
        let row = self.maybe(query.bind(BUNDLE as i64)).await?;
        row.map(|row| Ok(row.try_get("nonce")?)).transpose()
    }

    /// Where open asks for these calls are shown at this target.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn twins(
        &self,
        adapter: &str,
        target: &str,
        digests: &[String],
    ) -> Result<Vec<Twin>, StoreError> {
        if digests.is_empty() {
            return Ok(Vec::new());
        }
        let places: Vec<_> = (0..digests.len()).map(|n| format!("${}", n + 3)).collect();
        let sql = format!(
            "SELECT digest, card.nonce AS nonce, card.bundle AS bundle FROM ask JOIN card \
             ON card.ask = id WHERE digest IN ({}) AND state = 'open' AND card.adapter = $1 \
             AND card.target = $2 AND card.gone IS NULL AND (shown > 0 OR card.bundle IS NOT NULL) \
             ORDER BY created_at, id",
            places.join(", ")
        );
        let query = sqlx::query(AssertSqlSafe(sql)).bind(adapter).bind(target);
        let rows =
            self.all(digests.iter().fold(query, |query, it| query.bind(it.as_str()))).await?;
        let twin = |row: &AnyRow| {
            let (digest, card) = (row.try_get("digest")?, row.try_get("nonce")?);
            Ok(Twin { digest, card, bundle: row.try_get("bundle")? })
        };
        rows.iter().map(twin).collect()
    }

    /// How many of these asks are open.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn count_open_of(&self, asks: &[String]) -> Result<usize, StoreError> {
        let places: Vec<_> = (1..=asks.len()).map(|n| format!("${n}")).collect();
        if places.is_empty() {
            return Ok(0);
        }
        let sql = format!(
            "SELECT count(*) AS open FROM ask WHERE state = 'open' AND id IN ({})",
            places.join(", ")
        );
        let query = sqlx::query(AssertSqlSafe(sql));
        let row = self.one(asks.iter().fold(query, |query, ask| query.bind(ask.as_str()))).await?;
        Ok(usize::try_from(row.try_get::<i64, _>("open")?).unwrap_or_default())
    }

    /// The bundle at this target that is to be drawn next: what nobody has seen comes first.
    ///
    /// # Errors
    /// When the store fails.
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
    ///
    /// # Errors
    /// When the store fails.
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
}

/// The members of a bundle, for [`member`].
pub(super) const MEMBERS: &str = concat!(
    "SELECT nonce, joined, seen, ",
    columns!(),
    " FROM card JOIN ask ON id = card.ask WHERE card.bundle = $1 ORDER BY created_at, id"
);

pub(super) fn bundle_row(row: &AnyRow) -> Result<BundleRow, StoreError> {
    let (nonce, message) = (row.try_get("nonce")?, row.try_get("message")?);
    Ok(BundleRow {
        nonce,
        message,
        revision: row.try_get("revision")?,
        attempts: row.try_get("attempts")?,
    })
}

pub(super) fn member(row: &AnyRow) -> Option<Member> {
    let ask = asks::whole(row)?;
    let (card, joined) = (row.try_get("nonce").ok()?, row.try_get("joined").ok()?);
    let seen = row.try_get::<i64, _>("seen").ok()? > 0;
    Some(Member { card, joined, seen, ask })
}
