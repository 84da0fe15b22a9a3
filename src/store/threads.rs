//! Threads: one at each target for each session, where the target's cards are shown by session.
//!
//! INVARIANT: a try to make a thread is counted before it is sent. What is not known to have failed
//! counts as perhaps made, also after a crash and at another daemon, so none is made twice.

use super::{
    Fence, Store, StoreError,
    engine::{Statement, Tx},
    lease,
};
use countersign_tokens::ids;
use sqlx::{Row, any::AnyRow};

/// How often a thread may disappear before its session's cards stay at the target itself.
const LOST: i64 = 3;
/// How many are closed at once.
const PAGE: i64 = 5;

/// Whose thread it is, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadKey {
    /// Which adapter.
    pub adapter: String,
    /// Below which target.
    pub target: String,
    /// Whose session.
    pub agent: String,
    /// Which.
    pub session: String,
}

/// A thread as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadRow {
    /// An id of ours.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Where it is; `None` while that is not known.
    pub place: Option<String>,
    /// How often making it was begun and is not known to have ended.
    pub attempts: i64,
    /// Why its session's cards are at the target itself.
    pub refused: Option<String>,
    /// Whether it disappeared so often that none is made any more.
    pub given_up: bool,
    /// Whether it is closed.
    pub closed: bool,
}

impl Store {
    /// The thread of a session.
    pub async fn session_thread(&self, key: &ThreadKey) -> Result<Option<ThreadRow>, StoreError> {
        let query = of_session(
            "SELECT id, name, place, attempts, refused, lost, closed FROM thread \
             WHERE adapter = $1 AND target = $2 AND agent = $3 AND session = $4",
            key,
        );
        let found = self.maybe(query).await?;
        found.as_ref().map(thread).transpose()
    }

    /// Notes that the thread of a session is about to be made, or to be opened again; the row as it
    /// was before. `None`: the caller leads no more, and must not make it.
    ///
    /// # Errors
    /// When the store fails; then it must not be made.
    pub async fn opening_thread(
        &self,
        key: &ThreadKey,
        name: &str,
        fence: &Fence,
        now: i64,
    ) -> Result<Option<ThreadRow>, StoreError> {
        let key = key.clone();
        let name = name.to_owned();
        let fence = fence.clone();
        self.write(move |tx| {
            Box::pin(async move {
                if !lease::leads(tx, &fence).await? {
                    return Ok(None);
                }
                let new = sqlx::query(
                    "INSERT INTO thread (id, adapter, target, agent, session, name, attempts, \
                     lost, closed, used_at) VALUES ($1, $2, $3, $4, $5, $6, 0, 0, 0, $7) \
                     ON CONFLICT (adapter, target, agent, session) DO NOTHING",
                );
                let new = new.bind(ids::nonce()).bind(&key.adapter).bind(&key.target);
                let new = new.bind(&key.agent).bind(&key.session).bind(name).bind(now);
                tx.run(new).await?;
                let count = of_session(
                    "UPDATE thread SET refused = NULL, attempts = CASE WHEN place IS NULL \
                     THEN attempts + 1 ELSE 0 END WHERE adapter = $1 AND target = $2 \
                     AND agent = $3 AND session = $4 RETURNING id, name, place, \
                     attempts, refused, lost, closed",
                    &key,
                );
                let row = thread(&tx.one(count).await?)?;
                let attempts = row.attempts.saturating_sub(i64::from(row.place.is_none()));
                Ok(Some(ThreadRow { attempts, ..row }))
            })
        })
        .await
    }

    /// Notes where a thread is, and that it is open.
    ///
    /// # Errors
    /// When the store fails; then the next try counts as a repeated one.
    pub async fn thread_opened(&self, id: &str, place: &str, now: i64) -> Result<(), StoreError> {
        let opened = sqlx::query(
            "UPDATE thread SET place = $2, attempts = 0, refused = NULL, closed = 0, used_at = $3 \
             WHERE id = $1",
        );
        let opened = opened.bind(id.to_owned()).bind(place.to_owned()).bind(now);
        self.execute(opened).await.map(drop)
    }

    /// Notes that the platform certainly made no thread at the last try; and why its session's
    /// cards are at the target itself, if they are.
    ///
    /// # Errors
    /// When the store fails; then the next try counts as a repeated one.
    pub async fn thread_not_made(&self, id: &str, why: Option<&str>) -> Result<(), StoreError> {
        let failed = sqlx::query(
            "UPDATE thread SET attempts = CASE WHEN attempts > 0 THEN attempts - 1 ELSE 0 END, \
             refused = coalesce($2, refused) WHERE id = $1",
        );
        let failed = failed.bind(id.to_owned()).bind(why.map(str::to_owned));
        self.execute(failed).await.map(drop)
    }

    /// Notes that a card was posted for a session at this time.
    pub async fn thread_used(&self, id: &str, now: i64) -> Result<(), StoreError> {
        let used = sqlx::query("UPDATE thread SET used_at = $2 WHERE id = $1");
        self.execute(used.bind(id.to_owned()).bind(now)).await.map(drop)
    }

    /// Notes that a thread is gone, and its messages with it: the cards of its open asks are due
    /// again, in a new one.
    pub async fn thread_lost(&self, key: &ThreadKey, why: &str) -> Result<(), StoreError> {
        let lost = of_session(
            "UPDATE thread SET id = $5, place = NULL, attempts = 0, closed = 0, \
             refused = CASE WHEN lost + 1 < $6 THEN refused ELSE $7 END, lost = lost + 1 \
             WHERE adapter = $1 AND target = $2 AND agent = $3 AND session = $4",
            key,
        );
        let lost = lost.bind(ids::nonce()).bind(LOST).bind(why.to_owned());
        let due = [
            "UPDATE card SET message = NULL, shown = 0, attempts = 0 WHERE adapter = $1 \
             AND target = $2 AND gone IS NULL AND ask IN (SELECT id FROM ask \
             WHERE state = 'open' AND ask.agent = $3 AND ask.session = $4)",
            "UPDATE bundle SET message = NULL, attempts = 0 WHERE adapter = $1 \
             AND target = $2 AND gone IS NULL AND EXISTS (SELECT 1 FROM card JOIN ask \
             ON id = card.ask WHERE card.bundle = bundle.nonce AND state = 'open' \
             AND ask.agent = $3 AND ask.session = $4)",
        ];
        let [cards, bundles] = due.map(|due| of_session(due, key));
        self.execute_all(vec![lost, cards, bundles]).await
    }

    /// Some open threads of sessions that ended, or that had no card since `before`, and ask
    /// nothing now.
    pub async fn idle_threads(
        &self,
        adapter: &str,
        target: &str,
        before: i64,
    ) -> Result<Vec<ThreadRow>, StoreError> {
        let query = sqlx::query(
            "SELECT id, name, place, attempts, refused, lost, closed FROM thread \
             WHERE adapter = $1 AND target = $2 AND place IS NOT NULL AND closed = 0 \
             AND used_at < $3 AND NOT EXISTS (SELECT 1 FROM ask WHERE state = 'open' \
             AND ask.agent = thread.agent AND ask.session = thread.session) \
             ORDER BY used_at, id LIMIT $4",
        );
        let query = query.bind(adapter).bind(target).bind(before).bind(PAGE);
        self.all(query).await?.iter().map(thread).collect()
    }

    /// Notes that a thread is closed.
    ///
    /// # Errors
    /// When the store fails; then it is closed again.
    pub async fn thread_closed(&self, id: &str) -> Result<(), StoreError> {
        let closed = sqlx::query("UPDATE thread SET closed = 1 WHERE id = $1");
        self.execute(closed.bind(id.to_owned())).await.map(drop)
    }

    /// Below which target the thread at this place is.
    pub async fn target_of_thread(
        &self,
        adapter: &str,
        place: &str,
    ) -> Result<Option<String>, StoreError> {
        let query = sqlx::query("SELECT target FROM thread WHERE adapter = $1 AND place = $2");
        self.value(query.bind(adapter).bind(place)).await
    }

    /// Why sessions have no thread that should have one and asked something since then, each reason
    /// once: the adapter, and the reason.
    pub async fn missing_threads(&self, since: i64) -> Result<Vec<(String, String)>, StoreError> {
        let query = sqlx::query(
            "SELECT DISTINCT adapter, refused FROM thread WHERE refused IS NOT NULL \
             AND used_at >= $1 ORDER BY adapter, refused",
        );
        let rows = self.all(query.bind(since)).await?;
        rows.iter().map(|row| Ok((row.try_get("adapter")?, row.try_get("refused")?))).collect()
    }
}

/// Makes the threads of a session that ended idle.
pub(super) async fn session_ended(
    tx: &mut Tx,
    agent: &str,
    session: &str,
) -> Result<(), StoreError> {
    let ended = sqlx::query("UPDATE thread SET used_at = 0 WHERE agent = $1 AND session = $2");
    tx.run(ended.bind(agent).bind(session)).await.map(drop)
}

/// Deletes what is known of threads that nothing is in any more.
pub(super) async fn forget(tx: &mut Tx, before: i64) -> Result<(), StoreError> {
    let old = sqlx::query(
        "DELETE FROM thread WHERE used_at < $1 AND (closed = 1 OR place IS NULL) AND NOT EXISTS \
         (SELECT 1 FROM ask WHERE ask.agent = thread.agent AND ask.session = thread.session)",
    );
    tx.run(old.bind(before)).await.map(drop)
}

/// A statement about the session `$3`, `$4` at the target `$1`, `$2`.
fn of_session(sql: &'static str, key: &ThreadKey) -> Statement {
    let statement = sqlx::query(sql).bind(key.adapter.clone()).bind(key.target.clone());
    statement.bind(key.agent.clone()).bind(key.session.clone())
}

fn thread(row: &AnyRow) -> Result<ThreadRow, StoreError> {
    let (lost, closed): (i64, i64) = (row.try_get("lost")?, row.try_get("closed")?);
    Ok(ThreadRow {
        id: row.try_get("id")?,
        name: row.try_get("name")?,
        place: row.try_get("place")?,
        attempts: row.try_get("attempts")?,
        refused: row.try_get("refused")?,
        given_up: lost >= LOST,
        closed: closed > 0,
    })
}

#[cfg(test)]
mod tests;
