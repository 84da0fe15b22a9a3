//! Asks: their rows, how they are stored and read, and deleted in the end.

use super::{
    AgentLimit, NewCard, Store, StoreError, agents, bundles, cards,
    changes::pause_held,
    engine::{Tx, from_json, from_json_or_null, to_json},
    lease::{DAEMON, ms},
    log, threads,
};
use countersign_domain::{
    Answer, Ask, Body, State, StoppedClock, attached::AttachedDaemons, call::Call, deadline::widen,
};
use serde_json::json;
use sqlx::{AssertSqlSafe, Row, any::AnyRow};
use std::time::Duration;

/// How many asks are read at once where each may be of the largest kind.
const FEW: i64 = 16;
/// The largest number of asks deleted in one transaction: other writers wait while it runs.
const FORGOTTEN: i64 = 200;

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

/// A step that is due.
#[derive(Debug)]
pub struct DueStep {
    /// Of which ask.
    pub ask: Ask,
    /// Since when; Unix milliseconds.
    pub at: i64,
}

/// The columns that [`ask`] reads. No other table has columns of these names.
// A macro and no constant: `concat!` takes literals only, and sqlx wants static SQL.
macro_rules! columns {
    () => {
        "id, body, digest, state, progress, votes, steps_done, version, attended, attached, \
         created_at, deadline_at, left_ms, answer"
    };
}
pub(super) use columns;

/// A query of the rows that [`ask`] reads.
macro_rules! select {
    ($rest:literal) => {
        concat!("SELECT ", $crate::asks::columns!(), " FROM ask ", $rest)
    };
}
pub(super) use select;

pub(super) const NEXT_STEP: &str =
    "SELECT min(step_at) AS at FROM ask WHERE state = 'open' AND step_at IS NOT NULL";

impl Store {
    /// Stores an ask as it is opened and its cards in one transaction, unless its key is known. It
    /// counts for the limits of this token of an agent.
    pub async fn insert_ask(
        &self,
        new: &Ask,
        cards: &[NewCard],
        limited: Option<&str>,
    ) -> Result<Inserted, StoreError> {
        let new = new.clone();
        let cards = cards.to_vec();
        let daemon = self.name.clone();
        let limited = limited.map(str::to_owned);
        self.change(move |tx| {
            Box::pin(async move {
                if let Some(token) = &limited
                    && known(tx, &new.body.call).await?.is_none()
                    && let Some(limit) =
                        agents::limit_reached(tx, token, &new.body.call, new.created_at).await?
                {
                    return Ok(Inserted::OverLimit(limit));
                }
                insert(tx, new, &cards, &daemon).await
            })
        })
        .await
    }

    /// Reads an ask.
    pub async fn ask(&self, id: &str) -> Result<Option<Ask>, StoreError> {
        let query = sqlx::query(select!("WHERE id = $1")).bind(id);
        let row = self.maybe(query).await?;
        row.as_ref().map(ask).transpose()
    }

    /// Reads an ask; `None` also where its row does not read back.
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
            let id = row.try_get("id")?;
            let deadline_at = row.try_get("deadline_at")?;
            Ok(Overdue { id, deadline_at, ask: ask(row) })
        };
        rows.iter().map(overdue).collect()
    }

    /// What is open, by session.
    pub async fn open_by_session(&self) -> Result<Vec<OpenInSession>, StoreError> {
        let open = sqlx::query(
            "SELECT agent, session, count(*) AS asks, CAST(sum(bytes) AS BIGINT) AS bytes FROM ask \
             WHERE state = 'open' AND reviewed IS NULL GROUP BY agent, session",
        );
        let count = |row: &AnyRow, column: &str| -> Result<u64, StoreError> {
            Ok(u64::try_from(row.try_get::<i64, _>(column)?).unwrap_or_default())
        };
        let of = |row: &AnyRow| {
            let agent = row.try_get("agent")?;
            let session = row.try_get("session")?;
            let asks = count(row, "asks")?;
            let bytes = count(row, "bytes")?;
            Ok(OpenInSession { agent, session, asks, bytes })
        };
        self.all(open).await?.iter().map(of).collect()
    }

    /// Whether a call was submitted under this key before.
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
    pub async fn next_deadline(&self) -> Result<Option<i64>, StoreError> {
        self.time("SELECT min(deadline_at) AS at FROM ask WHERE state = 'open'").await
    }

    /// When the oldest open ask was opened, Unix milliseconds; `None` where nothing is open.
    pub async fn oldest_open(&self) -> Result<Option<i64>, StoreError> {
        self.time("SELECT min(created_at) AS at FROM ask WHERE state = 'open'").await
    }

    /// Some of the open asks of which a step is due, the longest due first.
    pub async fn due_steps(&self, now: i64) -> Result<Vec<DueStep>, StoreError> {
        let query = sqlx::query(concat!(
            "SELECT step_at, ",
            columns!(),
            " FROM ask WHERE state = 'open' AND step_at <= $1 \
             AND (deadline_at IS NULL OR deadline_at > $1) ORDER BY step_at, id LIMIT $2"
        ));
        let rows = self.all(query.bind(now).bind(FEW)).await?;
        let due = |row: &AnyRow| -> Result<Option<DueStep>, StoreError> {
            let at = row.try_get("step_at")?;
            Ok(whole(row).map(|ask| DueStep { ask, at }))
        };
        rows.iter().filter_map(|row| due(row).transpose()).collect()
    }

    /// When the next step of an open ask is due.
    pub async fn next_step_at(&self) -> Result<Option<i64>, StoreError> {
        self.time(NEXT_STEP).await
    }

    /// Sets the daemons at which callers of an open ask wait, if they are as `seen` in its row;
    /// whether they were.
    pub async fn set_attached(
        &self,
        seen: &Ask,
        attached: &AttachedDaemons,
    ) -> Result<bool, StoreError> {
        let kept = sqlx::query(
            "UPDATE ask SET attached = $3 WHERE id = $1 AND attached = $2 AND state = 'open'",
        );
        let kept = kept.bind(seen.id.clone()).bind(seen.attached.to_string());
        Ok(self.execute(kept.bind(attached.to_string())).await? == 1)
    }

    /// A page of the open asks whose callers wait at daemons of which `me` is none and none was
    /// heard of for so long, by id, behind this one. It is the last one when it is empty.
    pub async fn orphans(
        &self,
        me: &str,
        silence: Duration,
        after: &str,
    ) -> Result<Vec<(String, AttachedDaemons)>, StoreError> {
        let sql = format!(
            "SELECT id, attached FROM ask WHERE state = 'open' AND attended = 1 AND attached <> '' \
             AND replace(attached, '/' || $1 || '/', '') = attached AND id > $3 \
             AND NOT EXISTS (SELECT 1 FROM lease WHERE name = '{DAEMON}' || holder \
             AND until_at > {} - $2 AND replace(attached, '/' || holder || '/', '') <> attached) \
             ORDER BY id LIMIT 500",
            self.engine.dialect.now()
        );
        let orphans = sqlx::query(AssertSqlSafe(sql)).bind(me).bind(ms(silence)).bind(after);
        let rows = self.all(orphans).await?;
        let orphan = |row: &AnyRow| {
            Ok((row.try_get("id")?, AttachedDaemons::read(row.try_get("attached")?)))
        };
        rows.iter().map(orphan).collect()
    }

    /// Deletes some asks that were closed before `before`, with their cards, oldest first; returns
    /// how many. There may be more as long as the result is not 0.
    pub async fn forget_closed(&self, before: i64) -> Result<u64, StoreError> {
        // Read outside the transaction, so that the writer is held only for the deletes. A closed
        // ask never opens again, so the list stays true.
        let old =
            sqlx::query("SELECT id FROM ask WHERE closed_at < $1 ORDER BY closed_at LIMIT $2");
        let ids = self.texts(old.bind(before).bind(FORGOTTEN)).await?;
        if ids.is_empty() {
            return Ok(0);
        }
        self.write(move |tx| {
            Box::pin(async move {
                let mut forgotten = 0;
                for id in ids {
                    // Before the ask, which they refer to by a foreign key.
                    for of_it in [
                        "DELETE FROM card WHERE ask = $1",
                        "DELETE FROM owed_text WHERE ask = $1",
                        "DELETE FROM parked WHERE ask = $1",
                    ] {
                        tx.run(sqlx::query(of_it).bind(&id)).await?;
                    }
                    let ask = sqlx::query("DELETE FROM ask WHERE id = $1").bind(&id);
                    forgotten += tx.run(ask).await?;
                }
                bundles::forget(tx, before).await?;
                threads::forget(tx, before).await?;
                Ok(forgotten)
            })
        })
        .await
    }
}

/// Stores an ask that this daemon took, and its cards.
pub(super) async fn insert(
    tx: &mut Tx,
    mut new: Ask,
    cards: &[NewCard],
    daemon: &str,
) -> Result<Inserted, StoreError> {
    let left_ms = new.deadline_at.map(|at| at.saturating_sub(new.created_at).max(1));
    let stopped = pause_held(tx).await?.map(|_| StoppedClock { left_ms });
    new.deadline_at = new.deadline_at.filter(|_| stopped.is_none());
    new.stopped = stopped;
    let first_step = new.body.steps.first().map(|step| step.after_ms);
    let call = &new.body.call;
    let body = to_json("body", &new.body)?;
    let bytes = i64::try_from(body.len()).unwrap_or(i64::MAX);
    let insert = sqlx::query(
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
    .bind(to_json("progress", &new.progress)?)
    .bind(i64::from(new.attended))
    .bind(new.attached.as_str())
    .bind(new.created_at)
    .bind(new.deadline_at)
    .bind(bytes)
    .bind(i64::from(new.body.critical))
    .bind(stopped.map(|clock| clock.left_ms.unwrap_or(-1)))
    .bind(i64::from(new.body.plan.as_ref().is_some_and(|plan| !plan.everywhere)))
    .bind(first_step.filter(|_| stopped.is_none()).map(|after| new.created_at + after))
    .bind(first_step.filter(|_| stopped.is_some()));
    if tx.run(insert).await? == 0 {
        let known = known(tx, call).await?.ok_or(sqlx::Error::RowNotFound)?;
        return Ok(Inserted::Known(known));
    }
    cards::insert(tx, &new.id, cards).await?;
    let data = json!({"agent": call.agent, "session": call.session, "tool": call.tool,
        "digest": new.digest, "why": new.body.why, "daemon": daemon});
    log::append(tx, new.created_at, "asked", Some(&new.id), &data).await?;
    Ok(Inserted::New(new))
}

/// The ask that was submitted under this call's key.
async fn known(tx: &mut Tx, call: &Call) -> Result<Option<Ask>, StoreError> {
    let Some(key) = &call.key else { return Ok(None) };
    let same = sqlx::query(select!("WHERE agent = $1 AND session = $2 AND key = $3"));
    let same = same.bind(&call.agent).bind(&call.session).bind(key);
    tx.maybe(same).await?.as_ref().map(ask).transpose()
}

pub(super) async fn fetch(tx: &mut Tx, id: &str) -> Result<Option<Ask>, StoreError> {
    let row = tx.maybe(sqlx::query(select!("WHERE id = $1")).bind(id)).await?;
    row.as_ref().map(ask).transpose()
}

/// Reads the ask of a row.
// FAIL-CLOSED: a call that was changed on the disk is never shown: people would approve something
// other than what runs.
pub(super) fn ask(row: &AnyRow) -> Result<Ask, StoreError> {
    let damaged = |why: String| {
        let ask = row.try_get("id").unwrap_or_default();
        StoreError::DamagedAsk { ask, why }
    };
    match as_written(row) {
        Ok(ask) if ask.body.call.digest() == ask.digest => Ok(ask),
        Ok(_) => Err(damaged("its call is not the one that was submitted".to_owned())),
        Err(error) => Err(damaged(error.to_string())),
    }
}

/// Reads the ask of a row, or skips a damaged one with a warning, so that it does not block others.
pub(super) fn whole(row: &AnyRow) -> Option<Ask> {
    ask(row).inspect_err(|error| tracing::warn!(%error, "an ask is passed over")).ok()
}

fn as_written(row: &AnyRow) -> Result<Ask, StoreError> {
    let answer: Option<Answer> = from_json_or_null(row, "answer")?;
    let state: String = row.try_get("state")?;
    let state = match (state.as_str(), answer) {
        ("open", None) => State::Open,
        ("answered", Some(answer)) => State::Answered(answer),
        ("expired", Some(answer)) => State::Expired(answer),
        ("cancelled", Some(answer)) => State::Cancelled(answer),
        _ => return Err(sqlx::Error::Decode(format!("state `{state}`").into()).into()),
    };
    let mut body: Body = from_json(row, "body")?;
    // The owner is stored beside the call, because the digest of the call does not cover it.
    body.call.owner.clone_from(&body.owner);
    let steps_done: i64 = row.try_get("steps_done")?;
    let steps_done = usize::try_from(steps_done).unwrap_or(usize::MAX);
    let done = steps_done.min(body.steps.len());
    widen(&mut body.requirements, body.steps.get(..done).unwrap_or_default());
    Ok(Ask {
        id: row.try_get("id")?,
        body,
        digest: row.try_get("digest")?,
        state,
        progress: from_json(row, "progress")?,
        steps_done,
        votes: from_json_or_null(row, "votes")?.unwrap_or_default(),
        version: row.try_get("version")?,
        attended: row.try_get::<i64, _>("attended")? != 0,
        attached: AttachedDaemons::read(row.try_get("attached")?),
        created_at: row.try_get("created_at")?,
        deadline_at: row.try_get("deadline_at")?,
        stopped: stopped(row.try_get("left_ms")?),
    })
}

/// What is left of a stopped deadline, as its column has it.
fn stopped(left_ms: Option<i64>) -> Option<StoppedClock> {
    left_ms.map(|left| StoppedClock { left_ms: (left >= 0).then_some(left) })
}
