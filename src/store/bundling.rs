//! Changes of bundles: cards are put in, drawn, and taken out.
//!
//! INVARIANT: a revision is stored before it is sent, together with the cards that it is the first
//! to show. A press on it covers exactly those, whatever was lost on the way or came since.

use super::{
    Fence, Store, StoreError, Tx,
    bundles::{Bundle, MEMBERS, Member, bundle_row, member},
    late, lease,
};
use countersign_tokens::clock;
use sqlx::Row;

impl Store {
    /// Puts these cards into the bundle `into`, or into a new one for this crowd. Returns its
    /// nonce; `None` if the caller does not lead any more, or none of the cards is free. A card
    /// with a message of its own hands it to a new bundle.
    ///
    /// # Errors
    /// When the store fails; then nothing is changed.
    pub async fn bundle(
        &self,
        [adapter, target, crowd]: [&str; 3],
        cards: &[String],
        into: Option<&str>,
        fence: &Fence,
        now: i64,
    ) -> Result<Option<String>, StoreError> {
        let [adapter, target, crowd] = [adapter, target, crowd].map(str::to_owned);
        let (cards, fence) = (cards.to_vec(), fence.clone());
        let (new, nonce) = match into {
            Some(nonce) => (false, nonce.to_owned()),
            None => (true, countersign_tokens::ids::nonce()),
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
                    let Some(row) = row.bind(card).fetch_optional(&mut **tx).await? else {
                        continue;
                    };
                    message = message.or(row.try_get::<Option<String>, _>("message")?);
                    let moved = sqlx::query(
                        "UPDATE card SET bundle = $2, joined = 0, shown = 0, message = NULL, \
                         attempts = 0 WHERE nonce = $1",
                    );
                    moved.bind(card).bind(&nonce).execute(&mut **tx).await?;
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
                    insert.bind(message).bind(now).execute(&mut **tx).await?;
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
        let (nonce, fence) = (nonce.to_owned(), fence.clone());
        self.write(move |tx| {
            Box::pin(async move {
                let count = sqlx::query(
                    "UPDATE bundle SET revision = revision + 1 WHERE nonce = $1 AND EXISTS \
                     (SELECT 1 FROM lease WHERE name = $2 AND epoch = $3) \
                     RETURNING nonce, message, revision, attempts",
                );
                let count = count.bind(&nonce).bind(&fence.name).bind(fence.epoch);
                let Some(row) = count.fetch_optional(&mut **tx).await? else { return Ok(None) };
                let row = bundle_row(&row)?;
                let join = sqlx::query(
                    "UPDATE card SET joined = $2 WHERE bundle = $1 AND joined = 0 \
                     AND ask IN (SELECT id FROM ask WHERE state = 'open')",
                );
                join.bind(&nonce).bind(row.revision).execute(&mut **tx).await?;
                let found = sqlx::query(MEMBERS).bind(&nonce).fetch_all(&mut **tx).await?;
                Ok(Some(Bundle { row, members: found.iter().filter_map(member).collect() }))
            })
        })
        .await
    }

    /// Notes that a bundle shows its asks as they were read, and is to rest until then. False: this
    /// daemon leads no more, and the leader draws it again.
    ///
    /// # Errors
    /// When the store fails; then nothing is noted.
    pub async fn bundle_shown(
        &self,
        shown: &Bundle,
        message: Option<&str>,
        muted: bool,
        rests_until: i64,
        fence: &Fence,
    ) -> Result<bool, StoreError> {
        let (shown, message) = (shown.clone(), message.map(str::to_owned));
        let fence = fence.clone();
        let shown = self.write(move |tx| {
            Box::pin(async move {
                let nonce = &shown.row.nonce;
                if !lease::leads(tx, &fence).await? {
                    let deposed = sqlx::query(
                        "UPDATE bundle SET message = coalesce(message, $2) WHERE nonce = $1",
                    );
                    deposed.bind(nonce).bind(message).execute(&mut **tx).await?;
                    let again = sqlx::query("UPDATE card SET shown = 0 WHERE bundle = $1");
                    again.bind(nonce).execute(&mut **tx).await?;
                    return Ok(false);
                }
                let posted = message.is_some();
                let noted = sqlx::query(
                    "UPDATE bundle SET message = coalesce($2, message), attempts = 0, muted = $3, \
                     due_at = $4 WHERE nonce = $1",
                );
                let noted = noted.bind(nonce).bind(message).bind(i64::from(muted));
                noted.bind(rests_until).execute(&mut **tx).await?;
                let now = clock::now_ms();
                let late = |it: &&Member| posted && it.joined > 0 && late::is_late(&it.ask, now);
                let late = shown.members.iter().filter(late).map(|it| it.ask.id.clone());
                let moved = late::start(tx, &late.collect::<Vec<_>>()).await?;
                for member in &shown.members {
                    let card = sqlx::query(
                        "UPDATE card SET shown = $2, attempts = 0, held = NULL, \
                         seen = CASE WHEN $3 > 0 THEN 1 ELSE seen END WHERE nonce = $1",
                    );
                    let version = member.ask.version + i64::from(moved.contains(&member.ask.id));
                    let seen = i64::from(posted && member.joined > 0);
                    card.bind(&member.card).bind(version).bind(seen).execute(&mut **tx).await?;
                }
                Ok(true)
            })
        });
        shown.await
    }

    /// Notes a failed try to draw a bundle, or that it is to rest; when to try again.
    ///
    /// # Errors
    /// When the store fails.
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
    ///
    /// # Errors
    /// When the store fails; then nothing is changed.
    pub async fn unbundle(&self, nonce: &str, why: &str) -> Result<(), StoreError> {
        let (nonce, why) = (nonce.to_owned(), why.to_owned());
        self.write(move |tx| {
            Box::pin(async move {
                let apart = sqlx::query(
                    "UPDATE card SET bundle = NULL, joined = 0, shown = 0, \
                     due_at = (SELECT created_at FROM ask WHERE id = card.ask) WHERE bundle = $1 \
                     AND ask IN (SELECT id FROM ask WHERE state = 'open')",
                );
                apart.bind(&nonce).execute(&mut **tx).await?;
                let gone = sqlx::query("UPDATE bundle SET gone = $2 WHERE nonce = $1");
                gone.bind(&nonce).bind(why).execute(&mut **tx).await?;
                Ok(())
            })
        })
        .await
    }
}

/// Deletes bundles without asks. They are deleted with the asks' cards.
pub(super) async fn forget(tx: &mut Tx, before: i64) -> Result<(), StoreError> {
    let empty = sqlx::query(
        "DELETE FROM bundle WHERE created_at < $1 AND NOT EXISTS \
         (SELECT 1 FROM card WHERE card.bundle = bundle.nonce)",
    );
    empty.bind(before).execute(&mut **tx).await?;
    Ok(())
}
