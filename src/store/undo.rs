//! Undoing an answer, and the end of the time in which it can be undone: one compare-and-set each.

use super::{Closed, Store, StoreError, Tx, asks::fetch, cards, events, rows::write};
use countersign_domain::{Answer, Ask, Scope, State, Undone};
use serde_json::json;
use sqlx::Row;

impl Store {
    /// Revokes what the answer of this ask stored, if the row is still as seen: row, grants,
    /// event and cards in one transaction.
    ///
    /// # Errors
    /// When the store fails; then nothing is changed.
    // INVARIANT: exactly the grants of this answer are revoked, and those that may be in the
    // rules file are noted as still to be taken out of it.
    pub async fn undo(&self, seen: &Ask, undone: &Undone) -> Result<Closed, StoreError> {
        let Some(answer) = seen.answer() else { return Ok(Closed::Lost(seen.clone())) };
        let mut answer = answer.clone();
        answer.stored.undo_until = None;
        answer.stored.undone = Some(undone.clone());
        let rules = seen.body.stored(&answer);
        let data = json!({"by": undone.by, "rules": rules});
        let (undone, after) = (undone.clone(), with_answer(seen, answer));
        let changed = self.write(move |tx| {
            Box::pin(async move {
                if !replace(tx, &after).await? {
                    return Ok(fetch(tx, &after.id).await?.map_or(Closed::Unknown, Closed::Lost));
                }
                sqlx::query(
                    "UPDATE grants SET revoked_at = $2, undo_until = NULL, \
                     written = CASE WHEN scope = 'always' THEN 2 ELSE written END \
                     WHERE ask = $1 AND revoked_at IS NULL",
                )
                .bind(&after.id)
                .bind(undone.at)
                .execute(&mut **tx)
                .await?;
                end_window(tx, &after.id).await?;
                events::append(tx, undone.at, "undone", Some(&after.id), &data).await?;
                Ok(Closed::Won(after))
            })
        });
        let changed = changed.await?;
        self.tell();
        Ok(changed)
    }

    /// Notes that the answer of this ask cannot be undone any more, and that it was once where its
    /// rules could not be stored.
    ///
    /// # Errors
    /// When the store fails; then nothing is changed.
    pub async fn end_undo(&self, seen: &Ask, was_stored: bool) -> Result<Closed, StoreError> {
        let Some(answer) = seen.answer() else { return Ok(Closed::Lost(seen.clone())) };
        let mut answer = answer.clone();
        answer.stored.undo_until = None;
        if !was_stored {
            answer.scope = Some(Scope::Once);
            answer.stored.parts = None;
        }
        let after = with_answer(seen, answer);
        let changed = self.write(move |tx| {
            Box::pin(async move {
                if !replace(tx, &after).await? {
                    return Ok(fetch(tx, &after.id).await?.map_or(Closed::Unknown, Closed::Lost));
                }
                end_window(tx, &after.id).await?;
                Ok(Closed::Won(after))
            })
        });
        let changed = changed.await?;
        self.tell();
        Ok(changed)
    }

    /// Forgets that an answer can be undone whose ask is gone, or says so already.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn forget_undo(&self, ask: &str) -> Result<(), StoreError> {
        let forgotten = sqlx::query("UPDATE grants SET undo_until = NULL WHERE ask = $1");
        self.execute(forgotten.bind(ask.to_owned())).await.map(drop)
    }

    /// Asks whose answers could be undone until now, some at a time.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn undo_over(&self, now: i64) -> Result<Vec<String>, StoreError> {
        let over = sqlx::query("SELECT DISTINCT ask FROM grants WHERE undo_until <= $1 LIMIT 100");
        let rows = self.all(over.bind(now)).await?;
        rows.iter().map(|row| Ok(row.try_get("ask")?)).collect()
    }

    /// When the next answer cannot be undone any more; Unix milliseconds.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn next_undo_over(&self) -> Result<Option<i64>, StoreError> {
        let next =
            sqlx::query("SELECT min(undo_until) AS at FROM grants WHERE undo_until IS NOT NULL");
        Ok(self.one(next).await?.try_get("at")?)
    }
}

pub(super) fn with_answer(seen: &Ask, answer: Answer) -> Ask {
    Ask { state: State::Answered(answer), version: seen.version + 1, ..seen.clone() }
}

/// Writes the answer of an ask that was answered a version before; whether it was.
pub(super) async fn replace(tx: &mut Tx, after: &Ask) -> Result<bool, StoreError> {
    let done = sqlx::query(
        "UPDATE ask SET answer = $3, version = version + 1 \
         WHERE id = $1 AND version = $2 AND state = 'answered'",
    )
    .bind(&after.id)
    .bind(after.version - 1)
    .bind(write("answer", &after.answer())?)
    .execute(&mut **tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

async fn end_window(tx: &mut Tx, ask: &str) -> Result<(), StoreError> {
    let over = sqlx::query("UPDATE grants SET undo_until = NULL WHERE ask = $1");
    over.bind(ask).execute(&mut **tx).await?;
    cards::want(tx, ask).await
}
