//! Sessions: their mode, and the grants that end with them.

use super::{Grant, GrantScope, Store, StoreError, events, grants, threads};
use serde_json::json;
use sqlx::Row;

/// The mode and grants of a session, with which its calls are evaluated besides the rules.
#[derive(Debug)]
pub struct SessionContext {
    /// The session's own mode, if it has one.
    pub mode: Option<String>,
    /// The grants in force with a rule that were made in it, and all that are for always; oldest
    /// first.
    pub grants: Vec<Grant>,
    /// What people said in reviews: calls that these cover ask.
    pub reviewed: Vec<Grant>,
}

impl Store {
    /// The session's mode and its grants in force.
    ///
    /// # Errors
    /// As [`Store::grants`].
    pub async fn session_context(
        &self,
        agent: &str,
        session: &str,
        now: i64,
    ) -> Result<SessionContext, StoreError> {
        // One query for both: round trips to the store dominate a call's latency. The left join
        // keeps one row for the mode where there is no grant, so an empty `id` means "no grant".
        let query = sqlx::query(
            "SELECT mode, given.* FROM (SELECT (SELECT mode FROM session \
             WHERE agent = $1 AND session = $2) AS mode) AS own LEFT JOIN grants AS given \
             ON revoked_at IS NULL AND scope <> 'budget' \
             AND (expires_at IS NULL OR expires_at > $3) \
             AND (scope IN ('always', 'review') OR (agent = $1 AND session = $2)) \
             ORDER BY created_at, id",
        );
        let rows = self.all(query.bind(agent).bind(session).bind(now)).await?;
        let mode = rows.first().map(|row| row.try_get("mode")).transpose()?.flatten();
        let mut given = Vec::new();
        for row in &rows {
            if row.try_get::<Option<&str>, _>("id")?.is_some() {
                given.push(grants::grant(row)?);
            }
        }
        // SECURITY: what makes calls ask never counts as a grant.
        let is_review = |grant: &Grant| grant.scope == GrantScope::Review;
        let (reviewed, grants) = given.into_iter().partition(is_review);
        Ok(SessionContext { mode, grants, reviewed })
    }

    /// Sets a session's own mode.
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
                .execute(&mut **tx)
                .await?;
                let data = json!({"agent": agent, "session": session, "mode": mode});
                events::append(tx, now, "mode", None, &data).await
            })
        })
        .await
    }

    /// Ends a session: its grants are revoked and its mode is removed.
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
                    // A grant for always is made in a session too, but outlives it.
                    // SECURITY: no agent ends what a review said.
                    "UPDATE grants SET revoked_at = $3 WHERE agent = $1 AND session = $2 \
                     AND scope NOT IN ('always', 'review') AND revoked_at IS NULL",
                )
                .bind(&agent)
                .bind(&session)
                .bind(now)
                .execute(&mut **tx)
                .await?;
                threads::session_ended(tx, &agent, &session).await?;
                sqlx::query("DELETE FROM session WHERE agent = $1 AND session = $2")
                    .bind(&agent)
                    .bind(&session)
                    .execute(&mut **tx)
                    .await?;
                Ok(())
            })
        })
        .await
    }
}
