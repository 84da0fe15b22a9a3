//! Asks: put in, read, and closed exactly once.

use super::{
    NewCard, Store, StoreError, Tx,
    agent_limits::{self, AgentLimit},
    cards,
    engine::SqlDialect,
    events, pause,
    rows::{ask, select, whole, write},
};
use countersign_domain::{
    Ask, Body, StoppedClock, attached::AttachedDaemons, call::Call, question::Progress,
};
use serde_json::json;
use sqlx::{Row, any::AnyRow};

/// An ask to be stored.
#[derive(Debug, Clone)]
pub struct NewAsk {
    /// Its public id.
    pub id: String,
    /// The call and the decision on it.
    pub body: Body,
    /// SHA-256 of the call.
    pub digest: String,
    /// Whether its caller waits on a connection.
    pub attended: bool,
    /// The daemon that took it.
    pub daemon: String,
    /// The same, if its caller waits there.
    pub attached: AttachedDaemons,
    /// Unix milliseconds.
    pub created_at: i64,
    /// Unix milliseconds.
    pub deadline_at: Option<i64>,
    /// The agent's own token whose limits it counts for.
    pub limited: Option<String>,
}

impl NewAsk {
    /// The ask once it is stored.
    fn opened(&self, stopped: Option<StoppedClock>) -> Ask {
        Ask {
            attended: self.attended,
            attached: self.attached.clone(),
            deadline_at: self.deadline_at.filter(|_| stopped.is_none()),
            stopped,
            ..Ask::opened(&self.id, &self.digest, self.body.clone(), self.created_at)
        }
    }
}

/// An open ask whose deadline has passed.
#[derive(Debug)]
pub struct Overdue {
    /// Its public id.
    pub id: String,
    /// Unix milliseconds.
    pub deadline_at: i64,
    /// The ask, or why it does not read back.
    pub ask: Result<Ask, StoreError>,
}

/// What is open in one session.
#[derive(Debug)]
pub struct OpenInSession {
    /// Whose.
    pub agent: String,
    /// Which.
    pub session: String,
    /// How many asks.
    pub asks: u64,
    /// How many bytes of them.
    pub bytes: u64,
}

/// How many asks are read at once where each may be of the largest kind.
const FEW: i64 = 16;

/// What became of an insert.
#[derive(Debug)]
pub enum Inserted {
    /// It is new.
    New(Ask),
    /// The same key was submitted before: this is that ask.
    Known(Ask),
    /// Nothing was stored: its agent may not ask more.
    OverLimit(AgentLimit),
}

impl Store {
    /// Stores an ask and its cards in one transaction, unless its key is known.
    ///
    /// # Errors
    /// When the store fails; then nothing is stored.
    pub async fn insert_ask(
        &self,
        new: &NewAsk,
        cards: &[NewCard],
    ) -> Result<Inserted, StoreError> {
        let (new, cards, dialect) = (new.clone(), cards.to_vec(), self.engine.dialect);
        let inserted =
            self.write(move |tx| Box::pin(async move { insert(tx, dialect, &new, &cards).await }));
        let inserted = inserted.await?;
        self.tell();
        Ok(inserted)
    }

    /// Reads an ask.
    ///
    /// # Errors
    /// When the store fails or the row does not read back.
    pub async fn ask(&self, id: &str) -> Result<Option<Ask>, StoreError> {
        let query = sqlx::query(select!("WHERE id = $1")).bind(id);
        let row = self.maybe(query).await?;
        row.as_ref().map(ask).transpose()
    }

    /// Reads an ask; `None` also where its row does not read back.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn whole_ask(&self, id: &str) -> Result<Option<Ask>, StoreError> {
        let query = sqlx::query(select!("WHERE id = $1")).bind(id);
        Ok(self.maybe(query).await?.as_ref().and_then(whole))
    }

    /// A page of the open asks whose deadline has passed, the longest overdue first, behind the
    /// last one of the page before. It is the last one when it is empty.
    ///
    /// # Errors
    /// When the store fails. A row that does not read back is an error of its own.
    pub async fn overdue(
        &self,
        now: i64,
        after: Option<&Overdue>,
    ) -> Result<Vec<Overdue>, StoreError> {
        let query = sqlx::query(select!(
            "WHERE state = 'open' AND deadline_at <= $1 AND deadline_at >= $2 \
             AND (deadline_at > $2 OR id > $3) ORDER BY deadline_at, id LIMIT $4"
        ));
        let (at, id) = after.map_or((i64::MIN, ""), |last| (last.deadline_at, &last.id));
        let rows = self.all(query.bind(now).bind(at).bind(id).bind(FEW)).await?;
        let overdue = |row: &AnyRow| {
            let (id, deadline_at) = (row.try_get("id")?, row.try_get("deadline_at")?);
            Ok(Overdue { id, deadline_at, ask: ask(row) })
        };
        rows.iter().map(overdue).collect()
    }

    /// What is open, by session.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn open_by_session(&self) -> Result<Vec<OpenInSession>, StoreError> {
        let open = sqlx::query(
            "SELECT agent, session, count(*) AS asks, CAST(sum(bytes) AS BIGINT) AS bytes FROM ask \
             WHERE state = 'open' AND reviewed IS NULL GROUP BY agent, session",
        );
        let count = |row: &AnyRow, column: &str| -> Result<u64, StoreError> {
            Ok(u64::try_from(row.try_get::<i64, _>(column)?).unwrap_or_default())
        };
        let of = |row: &AnyRow| {
            let (agent, session) = (row.try_get("agent")?, row.try_get("session")?);
            let (asks, bytes) = (count(row, "asks")?, count(row, "bytes")?);
            Ok(OpenInSession { agent, session, asks, bytes })
        };
        self.all(open).await?.iter().map(of).collect()
    }

    /// Whether a call was submitted under this key before.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn knows_key(
        &self,
        agent: &str,
        session: &str,
        key: &str,
    ) -> Result<bool, StoreError> {
        let known = "SELECT 1 AS one FROM ask WHERE agent = $1 AND session = $2 AND key = $3";
        Ok(self.maybe(sqlx::query(known).bind(agent).bind(session).bind(key)).await?.is_some())
    }

    /// The next deadline of an open ask.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn next_deadline(&self) -> Result<Option<i64>, StoreError> {
        let row = self
            .one(sqlx::query("SELECT min(deadline_at) AS at FROM ask WHERE state = 'open'"))
            .await?;
        Ok(row.try_get("at")?)
    }
}

pub(super) async fn insert(
    tx: &mut Tx,
    dialect: SqlDialect,
    new: &NewAsk,
    cards: &[NewCard],
) -> Result<Inserted, StoreError> {
    if let Some(token) = &new.limited
        && known(tx, &new.body.call).await?.is_none()
        && let Some(limit) =
            agent_limits::reached(tx, dialect, token, &new.body.call, new.created_at).await?
    {
        return Ok(Inserted::OverLimit(limit));
    }
    let left_ms = new.deadline_at.map(|at| at.saturating_sub(new.created_at).max(1));
    let stopped = pause::held(tx, dialect).await?.map(|_| StoppedClock { left_ms });
    let opened = new.opened(stopped);
    let first_step = new.body.steps.first().map(|step| step.after_ms);
    let call = &new.body.call;
    let body = write("body", &new.body)?;
    let bytes = i64::try_from(body.len()).unwrap_or(i64::MAX);
    let done = sqlx::query(
        "INSERT INTO ask (id, agent, session, key, state, version, body, digest, progress, \
         attended, attached, created_at, deadline_at, bytes, critical, left_ms, routed, \
         step_at, step_left_ms) \
         VALUES ($1, $2, $3, $4, 'open', 1, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, \
         $16, $17) \
         ON CONFLICT DO NOTHING",
    )
    .bind(&new.id)
    .bind(&call.agent)
    .bind(&call.session)
    .bind(&call.key)
    .bind(body)
    .bind(&new.digest)
    .bind(write("progress", &Progress::default())?)
    .bind(i64::from(new.attended))
    .bind(new.attached.as_str())
    .bind(new.created_at)
    .bind(opened.deadline_at)
    .bind(bytes)
    .bind(i64::from(new.body.critical))
    .bind(stopped.map(|clock| clock.left_ms.unwrap_or(-1)))
    .bind(i64::from(new.body.plan.as_ref().is_some_and(|plan| !plan.everywhere)))
    .bind(first_step.filter(|_| stopped.is_none()).map(|after| new.created_at + after))
    .bind(first_step.filter(|_| stopped.is_some()))
    .execute(&mut **tx)
    .await?;
    if done.rows_affected() == 0 {
        let known = known(tx, call).await?.ok_or(sqlx::Error::RowNotFound)?;
        return Ok(Inserted::Known(known));
    }
    cards::insert(tx, &new.id, cards).await?;
    let data = json!({"agent": call.agent, "session": call.session, "tool": call.tool,
        "digest": new.digest, "why": new.body.why, "daemon": new.daemon});
    events::append(tx, new.created_at, "asked", Some(&new.id), &data).await?;
    Ok(Inserted::New(opened))
}

/// The ask that was submitted under this call's key.
async fn known(tx: &mut Tx, call: &Call) -> Result<Option<Ask>, StoreError> {
    let Some(key) = &call.key else { return Ok(None) };
    let same = sqlx::query(select!("WHERE agent = $1 AND session = $2 AND key = $3"));
    let same = same.bind(&call.agent).bind(&call.session).bind(key);
    same.fetch_optional(&mut **tx).await?.as_ref().map(ask).transpose()
}

pub(super) async fn fetch(tx: &mut Tx, id: &str) -> Result<Option<Ask>, StoreError> {
    let row = sqlx::query(select!("WHERE id = $1")).bind(id).fetch_optional(&mut **tx).await?;
    row.as_ref().map(ask).transpose()
}
