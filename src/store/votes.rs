//! Votes on an ask: one compare-and-set each, with its event.

use super::{Closed, Store, StoreError, asks::fetch, cards, events, pause, rows::write};
use countersign_domain::{Ask, Decision, votes::Vote};
use serde_json::json;

impl Store {
    /// Records the votes on an ask, of which the last is new, if its row is still at the version of
    /// `seen`.
    ///
    /// # Errors
    /// When the store fails; then nothing is changed.
    // FAIL-CLOSED: while something is paused nobody approves, and after the deadline nobody votes.
    pub async fn note_votes(
        &self,
        seen: &Ask,
        votes: &[Vote],
        now: i64,
    ) -> Result<Closed, StoreError> {
        let Some(new) = votes.last().cloned() else { return Ok(Closed::Lost(seen.clone())) };
        let voted = Ask { votes: votes.to_vec(), version: seen.version + 1, ..seen.clone() };
        let dialect = self.engine.dialect;
        let noted = self.write(move |tx| {
            Box::pin(async move {
                let lost = |ask: Option<Ask>| ask.map_or(Closed::Unknown, Closed::Lost);
                let approves = new.answer.decision != Decision::Deny;
                if approves && pause::held(tx, dialect).await?.is_some() {
                    return Ok(lost(fetch(tx, &voted.id).await?));
                }
                let done = sqlx::query(
                    "UPDATE ask SET votes = $3, version = version + 1 \
                     WHERE id = $1 AND version = $2 AND state = 'open' \
                     AND (deadline_at IS NULL OR deadline_at > $4)",
                )
                .bind(&voted.id)
                .bind(voted.version - 1)
                .bind(write("votes", &voted.votes)?)
                .bind(now)
                .execute(&mut **tx)
                .await?;
                if done.rows_affected() == 0 {
                    return Ok(lost(fetch(tx, &voted.id).await?));
                }
                cards::want(tx, &voted.id).await?;
                let data = json!({"decision": new.answer.decision, "scope": new.answer.scope,
                    "reason": new.answer.reason, "by": new.answer.by, "person": new.person});
                events::append(tx, now, "voted", Some(&voted.id), &data).await?;
                Ok(Closed::Won(voted))
            })
        });
        let noted = noted.await?;
        self.tell();
        Ok(noted)
    }
}
