//! Closes an ask, records progress on it, or extends its deadline: one compare-and-set each.

use super::{
    Grant, Store, StoreError, Tx, agent_limits, asks::fetch, cards, events, grants, pause, reviews,
    rows::write,
};
use countersign_domain::{Answer, Ask, Decision, State, question::Progress};
use serde_json::json;

/// The result of a compare-and-set.
#[derive(Debug)]
#[must_use]
pub enum Closed {
    /// This change was committed.
    Won(Ask),
    /// The row had changed before; this is its current state.
    Lost(Ask),
    /// No ask has this id.
    Unknown,
}

impl Store {
    /// Closes the ask if its row is still at the version of `seen`: row, event, grants and cards in
    /// one transaction.
    ///
    /// # Errors
    /// When the store fails; then nothing is changed.
    // INVARIANT: an ask has at most one answer. A person's answer loses to a deadline that has
    // passed, even while the reaper is late.
    pub async fn close_ask(
        &self,
        seen: &Ask,
        end: &State,
        grants: &[Grant],
    ) -> Result<Closed, StoreError> {
        let Some(answer) = end.answer().cloned() else { return Ok(Closed::Lost(seen.clone())) };
        let ended = Ask { state: end.clone(), version: seen.version + 1, ..seen.clone() };
        let (grants, dialect) = (grants.to_vec(), self.engine.dialect);
        let closed = self.write(move |tx| {
            Box::pin(async move {
                // FAIL-CLOSED: while something is paused only a denial closes an ask.
                if answer.decision != Decision::Deny && pause::held(tx, dialect).await?.is_some() {
                    return lost(tx, &ended.id).await;
                }
                let mut closing = sqlx::query(closing(&ended.state))
                    .bind(&ended.id)
                    .bind(ended.version - 1)
                    .bind(ended.state.name())
                    .bind(write("answer", &answer)?)
                    .bind(answer.at);
                // Only a cancel compares the attached daemons too; see `closing`.
                if let State::Cancelled(_) = ended.state {
                    closing = closing.bind(ended.attached.as_str());
                }
                if closing.execute(&mut **tx).await?.rows_affected() == 0 {
                    return lost(tx, &ended.id).await;
                }
                for grant in &grants {
                    grants::insert(tx, grant).await?;
                }
                if let (Some(token), Decision::Approve) = (&ended.body.resumes, answer.decision) {
                    agent_limits::resume(tx, token, &answer.by, answer.at).await?;
                }
                self::ended(tx, &ended.id, ended.state.name(), &answer).await?;
                if let Some(review) = &ended.body.review {
                    reviews::ended(tx, &ended, review, &answer).await?;
                }
                Ok(Closed::Won(ended))
            })
        });
        let closed = closed.await?;
        self.tell();
        Ok(closed)
    }

    /// Expires an ask whose row cannot be read, once its deadline has passed; returns whether it
    /// was open.
    ///
    /// # Errors
    /// When the store fails; then nothing is changed.
    pub async fn expire_damaged(&self, id: &str, answer: &Answer) -> Result<bool, StoreError> {
        let (id, answer) = (id.to_owned(), answer.clone());
        let expired = self.write(move |tx| {
            Box::pin(async move {
                // No version in the condition: the row is unreadable, so nobody has seen one.
                let expiring = sqlx::query(
                    "UPDATE ask SET state = 'expired', answer = $2, closed_at = $3, \
                     version = version + 1 \
                     WHERE id = $1 AND state = 'open' AND deadline_at <= $3",
                );
                let expiring = expiring.bind(&id).bind(write("answer", &answer)?).bind(answer.at);
                if expiring.execute(&mut **tx).await?.rows_affected() == 0 {
                    return Ok(false);
                }
                ended(tx, &id, "expired", &answer).await?;
                Ok(true)
            })
        });
        let expired = expired.await?;
        self.tell();
        Ok(expired)
    }

    /// Records progress on the ask's questions if its row is still at the version of `seen`.
    ///
    /// # Errors
    /// When the store fails; then nothing is changed.
    pub async fn note_progress(
        &self,
        seen: &Ask,
        progress: &Progress,
        now: i64,
    ) -> Result<Closed, StoreError> {
        let further = Ask { progress: progress.clone(), version: seen.version + 1, ..seen.clone() };
        let noted = self.write(move |tx| {
            Box::pin(async move {
                let done = sqlx::query(
                    "UPDATE ask SET progress = $3, version = version + 1 \
                     WHERE id = $1 AND version = $2 AND state = 'open' \
                     AND (deadline_at IS NULL OR deadline_at > $4)",
                )
                .bind(&further.id)
                .bind(further.version - 1)
                .bind(write("progress", &further.progress)?)
                .bind(now)
                .execute(&mut **tx)
                .await?;
                if done.rows_affected() == 0 {
                    return lost(tx, &further.id).await;
                }
                cards::want(tx, &further.id).await?;
                Ok(Closed::Won(further))
            })
        });
        let noted = noted.await?;
        self.tell();
        Ok(noted)
    }

    /// Moves the deadline of an open ask if its row is still at the version of `seen`, and makes
    /// its cards due. Times are Unix milliseconds.
    ///
    /// # Errors
    /// When the store fails; then nothing is changed.
    pub async fn move_deadline(
        &self,
        seen: &Ask,
        deadline_at: i64,
        now: i64,
    ) -> Result<Closed, StoreError> {
        let Some(was) = seen.deadline_at else { return Ok(Closed::Lost(seen.clone())) };
        let (deadline_at, version) = (Some(deadline_at), seen.version + 1);
        let moved = Ask { deadline_at, version, ..seen.clone() };
        let moved = self.write(move |tx| {
            Box::pin(async move {
                let done = sqlx::query(
                    "UPDATE ask SET deadline_at = $3, version = version + 1 \
                     WHERE id = $1 AND version = $2 AND state = 'open' AND deadline_at = $4",
                )
                .bind(&moved.id)
                .bind(moved.version - 1)
                .bind(deadline_at)
                .bind(was)
                .execute(&mut **tx)
                .await?;
                if done.rows_affected() == 0 {
                    return lost(tx, &moved.id).await;
                }
                cards::want(tx, &moved.id).await?;
                let data = json!({"deadline_at": deadline_at, "was": was});
                events::append(tx, now, "postponed", Some(&moved.id), &data).await?;
                Ok(Closed::Won(moved))
            })
        });
        let moved = moved.await?;
        self.tell();
        Ok(moved)
    }
}

/// The compare-and-set for this end state.
fn closing(end: &State) -> &'static str {
    match end {
        // A caller that cancelled its ask may submit it again under the same key, so the key is
        // freed. `attached` must be as read: if another caller has attached in the meantime, the ask
        // stays open.
        State::Cancelled(_) => {
            "UPDATE ask SET state = $3, answer = $4, closed_at = $5, version = version + 1, \
             key = NULL WHERE id = $1 AND version = $2 AND state = 'open' AND attached = $6"
        }
        // `$5` is the time of the answer: an ask does not expire before its deadline, and no other
        // answer counts after it.
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

/// Records the end of an ask: its cards become due and the event is appended.
async fn ended(tx: &mut Tx, id: &str, kind: &str, answer: &Answer) -> Result<(), StoreError> {
    cards::want(tx, id).await?;
    let data = serde_json::to_value(answer)
        .map_err(|source| StoreError::Unreadable { column: "answer", source })?;
    events::append(tx, answer.at, kind, Some(id), &data).await
}

/// The current row, after a compare-and-set that changed nothing.
async fn lost(tx: &mut Tx, id: &str) -> Result<Closed, StoreError> {
    Ok(fetch(tx, id).await?.map_or(Closed::Unknown, Closed::Lost))
}
