//! Sessions: what lasts as long as one does.

use super::{Store, StoreError, events};
use serde_json::json;
use sqlx::Row;

impl Store {
    /// The mode that a session has of its own.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn session_mode(
        &self,
        agent: &str,
        session: &str,
    ) -> Result<Option<String>, StoreError> {
        let query = sqlx::query("SELECT mode FROM session WHERE agent = $1 AND session = $2")
            .bind(agent)
            .bind(session);
        let row = self.maybe(query).await?;
        row.map(|row| Ok(row.try_get("mode")?)).transpose()
    }

    /// Gives a session a mode of its own.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn set_session_mode(
        &self,
        agent: &str,
        session: &str,
        mode: &str,
        now: i64,
    ) -> Result<(), StoreError> {
        let (agent, session, mode) = (agent.to_owned(), session.to_owned(), mode.to_owned());
        self.write(move |tx| {
            Box::pin(async move {
                sqlx::query(
                    "INSERT INTO session (agent, session, mode, changed_at) \
                     VALUES ($1, $2, $3, $4) \
                     ON CONFLICT (agent, session) DO UPDATE SET mode = $3, changed_at = $4",
                )
                .bind(&agent)
                .bind(&session)
                .bind(&mode)
                .bind(now)
                .execute(&mut *tx)
                .await?;
                let data = json!({"agent": agent, "session": session, "mode": mode});
                events::append(tx, now, "mode", None, &data).await
            })
        })
        .await
    }

    /// Ends a session: its grants and its mode are over.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn end_session(
        &self,
        agent: &str,
        session: &str,
        now: i64,
    ) -> Result<(), StoreError> {
        let (agent, session) = (agent.to_owned(), session.to_owned());
        self.write(move |tx| {
            Box::pin(async move {
                sqlx::query(
                    "UPDATE grants SET revoked_at = $3 WHERE agent = $1 AND session = $2 \
                     AND scope <> 'always' AND revoked_at IS NULL",
                )
                .bind(&agent)
                .bind(&session)
                .bind(now)
                .execute(&mut *tx)
                .await?;
                sqlx::query("DELETE FROM session WHERE agent = $1 AND session = $2")
                    .bind(&agent)
                    .bind(&session)
                    .execute(&mut *tx)
                    .await?;
                Ok(())
            })
        })
        .await
    }
}
