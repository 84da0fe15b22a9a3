//! Agents that a limit has paused, and the ask that resumes each.

use super::{
    AgentToken, Inserted, NewAsk, NewCard, Store, StoreError,
    agent_limits::{counted, resume},
    asks, events,
};
use countersign_domain::{Ask, By};
use serde_json::json;

impl Store {
    /// Pauses the agent of a token, with the ask that resumes it; `None` where it is paused
    /// already, or its token was revoked.
    ///
    /// # Errors
    /// When the store fails; then nothing is changed.
    // INVARIANT: a pause has exactly one ask, however many daemons notice it at once.
    pub async fn pause_agent(
        &self,
        token: &AgentToken,
        why: &str,
        resumption: &NewAsk,
        cards: &[NewCard],
    ) -> Result<Option<Ask>, StoreError> {
        let (id, name, why) = (token.id.clone(), token.name.clone(), why.to_owned());
        let (new, cards) = (resumption.clone(), cards.to_vec());
        let paused = self.write(move |tx| {
            Box::pin(async move {
                let pause = sqlx::query(
                    "UPDATE agent_token SET paused_at = $2, paused_why = $3, pause_ask = $4 \
                     WHERE id = $1 AND paused_at IS NULL AND revoked_at IS NULL",
                );
                let pause = pause.bind(&id).bind(new.created_at).bind(&why).bind(&new.id);
                if pause.execute(&mut **tx).await?.rows_affected() == 0 {
                    return Ok(None);
                }
                let data = json!({"token": name, "why": why, "resumes": new.id});
                events::append(tx, new.created_at, "agent_paused", None, &data).await?;
                match asks::insert(tx, &new, &cards).await? {
                    Inserted::New(ask) => Ok(Some(ask)),
                    Inserted::Known(_) | Inserted::OverLimit(_) => Ok(None),
                }
            })
        });
        let paused = paused.await?;
        self.tell();
        Ok(paused)
    }

    /// How many agents a limit has paused.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn paused_agents(&self) -> Result<u64, StoreError> {
        let paused = "SELECT count(*) AS asks FROM agent_token WHERE paused_at IS NOT NULL \
                      AND revoked_at IS NULL";
        Ok(u64::try_from(counted(self.one(sqlx::query(paused)).await?)?).unwrap_or_default())
    }

    /// Resumes the agent with this name, whatever became of the ask for it; whether it was paused.
    ///
    /// # Errors
    /// When the store fails; then nothing is changed.
    pub async fn resume_agent(&self, name: &str, by: &By, now: i64) -> Result<bool, StoreError> {
        let Some(token) = self.agent_token_named(name).await? else { return Ok(false) };
        let by = by.clone();
        let resumed =
            self.write(move |tx| Box::pin(async move { resume(tx, &token.id, &by, now).await }));
        let resumed = resumed.await?;
        self.tell();
        Ok(resumed)
    }
}

#[cfg(test)]
mod tests;
