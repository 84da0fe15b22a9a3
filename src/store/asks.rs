//! Asks: put in, read, and closed exactly once.

use super::{Grant, NewCard, Store, StoreError, Tx, cards, events, grants, read, write};
use crate::gate::{
    ask::{Answer, Ask, Body, State},
    question::Progress,
};
use serde_json::json;
use sqlx::{Row, any::AnyRow};

/// An ask to be stored.
#[derive(Debug, Clone)]
pub struct NewAsk {
    /// Its public id.
    pub id: String,
    /// The call and the ruling.
    pub body: Body,
    /// SHA-256 of the call.
    pub digest: String,
    /// Whether its caller waits on a connection.
    pub attended: bool,
    /// Unix milliseconds.
    pub created_at: i64,
    /// Unix milliseconds.
    pub deadline_at: Option<i64>,
}

/// What became of an insert.
#[derive(Debug)]
pub enum Inserted {
    /// It is new.
    New(Ask),
    /// The same key was handed in before: this is that ask.
    Known(Ask),
}

/// What became of a compare-and-set.
#[derive(Debug)]
#[must_use]
pub enum Closed {
    /// This one won.
    Won(Ask),
    /// The row had changed before; this is how it stands.
    Lost(Ask),
    /// There is no such ask.
    Unknown,
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, body, digest, state, progress, version, attended, created_at, deadline_at, \
             answer FROM ask ",
            $rest
        )
    };
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
        let (new, cards) = (new.clone(), cards.to_vec());
        self.write(move |tx| Box::pin(async move { insert(tx, &new, &cards).await })).await
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

    /// Asks whose id begins so; at most two, enough to tell one from several.
    ///
    /// # Errors
    /// As [`Store::ask`].
    pub async fn asks_like(&self, prefix: &str) -> Result<Vec<Ask>, StoreError> {
        let rows = self
            .all(sqlx::query(select!("WHERE substr(id, 1, length($1)) = $1 LIMIT 2")).bind(prefix))
            .await?;
        rows.iter().map(ask).collect()
    }

    /// Asks in this state, oldest first while open, newest first otherwise.
    ///
    /// # Errors
    /// As [`Store::ask`].
    pub async fn asks_in(&self, state: &str, most: u32) -> Result<Vec<Ask>, StoreError> {
        let rows = if state == "open" {
            sqlx::query(select!("WHERE state = $1 ORDER BY created_at, id LIMIT $2"))
        } else {
            sqlx::query(select!("WHERE state = $1 ORDER BY closed_at DESC, id LIMIT $2"))
        };
        let rows = self.all(rows.bind(state).bind(i64::from(most))).await?;
        rows.iter().map(ask).collect()
    }

    /// The open asks of one session.
    ///
    /// # Errors
    /// As [`Store::ask`].
    pub async fn open_in_session(
        &self,
        agent: &str,
        session: &str,
    ) -> Result<Vec<Ask>, StoreError> {
        let rows = self
            .all(
                sqlx::query(select!(
                    "WHERE state = 'open' AND agent = $1 AND session = $2 ORDER BY created_at, id"
                ))
                .bind(agent)
                .bind(session),
            )
            .await?;
        rows.iter().map(ask).collect()
    }

    /// Open asks whose deadline has passed.
    ///
    /// # Errors
    /// As [`Store::ask`].
    pub async fn overdue(&self, now: i64) -> Result<Vec<Ask>, StoreError> {
        let rows = self
            .all(sqlx::query(select!("WHERE state = 'open' AND deadline_at <= $1")).bind(now))
            .await?;
        rows.iter().map(ask).collect()
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

    /// Closes the ask if it still stands as `seen`: row, event, grants and cards in one transaction.
    ///
    /// # Errors
    /// When the store fails; then nothing is changed.
    // INVARIANT: an ask has at most one answer. A person's answer loses to a deadline that has passed,
    // even while the reaper is late.
    pub async fn close_ask(
        &self,
        seen: &Ask,
        end: &State,
        grants: &[Grant],
    ) -> Result<Closed, StoreError> {
        let Some(answer) = end.answer().cloned() else { return Ok(Closed::Lost(seen.clone())) };
        let (id, version) = (seen.id.clone(), seen.version);
        let (end, grants) = (end.clone(), grants.to_vec());
        self.write(move |tx| {
            Box::pin(async move {
                let done = sqlx::query(closing(&end))
                    .bind(&id)
                    .bind(version)
                    .bind(end.name())
                    .bind(write("answer", &answer)?)
                    .bind(answer.at)
                    .execute(&mut *tx)
                    .await?;
                if done.rows_affected() == 1 {
                    for grant in &grants {
                        grants::insert(tx, grant).await?;
                    }
                    cards::want(tx, &id).await?;
                    let data = serde_json::to_value(&answer)
                        .map_err(|source| StoreError::Unreadable { column: "answer", source })?;
                    events::append(tx, answer.at, end.name(), Some(&id), &data).await?;
                }
                settle(tx, &id, done.rows_affected()).await
            })
        })
        .await
    }

    /// Notes progress on the ask's questions if it still stands as `seen`.
    ///
    /// # Errors
    /// When the store fails; then nothing is changed.
    pub async fn note_progress(
        &self,
        seen: &Ask,
        progress: &Progress,
        now: i64,
    ) -> Result<Closed, StoreError> {
        let (id, version) = (seen.id.clone(), seen.version);
        let progress = write("progress", progress)?;
        self.write(move |tx| {
            Box::pin(async move {
                let done = sqlx::query(
                    "UPDATE ask SET progress = $3, version = version + 1 \
                     WHERE id = $1 AND version = $2 AND state = 'open' \
                     AND (deadline_at IS NULL OR deadline_at > $4)",
                )
                .bind(&id)
                .bind(version)
                .bind(progress)
                .bind(now)
                .execute(&mut *tx)
                .await?;
                if done.rows_affected() == 1 {
                    cards::want(tx, &id).await?;
                }
                settle(tx, &id, done.rows_affected()).await
            })
        })
        .await
    }

    /// Forgets asks that were closed before `before`, with their cards.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn forget_closed(&self, before: i64) -> Result<u64, StoreError> {
        self.write(move |tx| {
            Box::pin(async move {
                sqlx::query(
                    "DELETE FROM card WHERE ask IN (SELECT id FROM ask WHERE closed_at < $1)",
                )
                .bind(before)
                .execute(&mut *tx)
                .await?;
                let done = sqlx::query("DELETE FROM ask WHERE closed_at < $1")
                    .bind(before)
                    .execute(&mut *tx)
                    .await?;
                Ok(done.rows_affected())
            })
        })
        .await
    }
}

async fn insert(tx: &mut Tx, new: &NewAsk, cards: &[NewCard]) -> Result<Inserted, StoreError> {
    let call = &new.body.call;
    let done = sqlx::query(
        "INSERT INTO ask (id, agent, session, key, state, version, body, digest, progress, \
         attended, created_at, deadline_at) \
         VALUES ($1, $2, $3, $4, 'open', 1, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING",
    )
    .bind(&new.id)
    .bind(&call.agent)
    .bind(&call.session)
    .bind(&call.key)
    .bind(write("body", &new.body)?)
    .bind(&new.digest)
    .bind(write("progress", &Progress::default())?)
    .bind(i64::from(new.attended))
    .bind(new.created_at)
    .bind(new.deadline_at)
    .execute(&mut *tx)
    .await?;
    if done.rows_affected() == 0 {
        let row = sqlx::query(select!("WHERE agent = $1 AND session = $2 AND key = $3"))
            .bind(&call.agent)
            .bind(&call.session)
            .bind(&call.key)
            .fetch_one(&mut *tx)
            .await?;
        return Ok(Inserted::Known(ask(&row)?));
    }
    for card in cards {
        cards::insert(tx, &new.id, card).await?;
    }
    let data = json!({"agent": call.agent, "session": call.session, "tool": call.tool,
        "digest": new.digest, "why": new.body.why});
    events::append(tx, new.created_at, "asked", Some(&new.id), &data).await?;
    let stored = fetch(tx, &new.id).await?;
    stored.map(Inserted::New).ok_or_else(|| sqlx::Error::RowNotFound.into())
}

/// The compare-and-set that ends an ask so.
fn closing(end: &State) -> &'static str {
    match end {
        // A caller that took its ask back may ask again under the same key.
        State::Cancelled(_) => {
            "UPDATE ask SET state = $3, answer = $4, closed_at = $5, version = version + 1, \
             key = NULL WHERE id = $1 AND version = $2 AND state = 'open'"
        }
        State::Expired(_) => {
            "UPDATE ask SET state = $3, answer = $4, closed_at = $5, version = version + 1 \
             WHERE id = $1 AND version = $2 AND state = 'open' AND deadline_at <= $5"
        }
        State::Open | State::Answered(_) => {
            "UPDATE ask SET state = $3, answer = $4, closed_at = $5, version = version + 1 \
             WHERE id = $1 AND version = $2 AND state = 'open' \
             AND (deadline_at IS NULL OR deadline_at > $5)"
        }
    }
}

async fn settle(tx: &mut Tx, id: &str, changed: u64) -> Result<Closed, StoreError> {
    let Some(now) = fetch(tx, id).await? else { return Ok(Closed::Unknown) };
    Ok(if changed == 1 { Closed::Won(now) } else { Closed::Lost(now) })
}

async fn fetch(tx: &mut Tx, id: &str) -> Result<Option<Ask>, StoreError> {
    let row = sqlx::query(select!("WHERE id = $1")).bind(id).fetch_optional(&mut *tx).await?;
    row.as_ref().map(ask).transpose()
}

fn ask(row: &AnyRow) -> Result<Ask, StoreError> {
    let answer: Option<String> = row.try_get("answer")?;
    let answer: Option<Answer> = answer.map(|json| read("answer", &json)).transpose()?;
    let state: String = row.try_get("state")?;
    let state = match (state.as_str(), answer) {
        ("open", None) => State::Open,
        ("answered", Some(answer)) => State::Answered(answer),
        ("expired", Some(answer)) => State::Expired(answer),
        ("cancelled", Some(answer)) => State::Cancelled(answer),
        _ => return Err(sqlx::Error::Decode(format!("state `{state}`").into()).into()),
    };
    let body: String = row.try_get("body")?;
    let progress: String = row.try_get("progress")?;
    Ok(Ask {
        id: row.try_get("id")?,
        body: read::<Body>("body", &body)?,
        digest: row.try_get("digest")?,
        state,
        progress: read("progress", &progress)?,
        version: row.try_get("version")?,
        attended: row.try_get::<i64, _>("attended")? != 0,
        created_at: row.try_get("created_at")?,
        deadline_at: row.try_get("deadline_at")?,
    })
}
