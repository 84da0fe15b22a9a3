//! Tokens of agents by name. Every daemon on the store reads them for each request, so a token
//! that is revoked at one is refused at all.

use super::{
    ReadQuery, Store, StoreError,
    agent_limits::AgentLimits,
    agent_token::{AgentScope, AgentToken, NewAgentToken, token},
    engine::to_json,
    events,
};
use countersign_domain::By;
use countersign_tokens::secret::TokenHash;
use serde_json::json;
use sqlx::Row;

impl Store {
    /// All tokens of agents, by name; those that were revoked, too.
    ///
    /// # Errors
    /// When the store fails or a row does not read back.
    pub async fn agent_tokens(&self) -> Result<Vec<AgentToken>, StoreError> {
        self.select_tokens(sqlx::query("SELECT * FROM agent_token ORDER BY name, created_at, id"))
            .await
    }

    /// The token with this id.
    ///
    /// # Errors
    /// As [`Store::agent_tokens`].
    pub async fn agent_token(&self, id: &str) -> Result<Option<AgentToken>, StoreError> {
        let of_id = sqlx::query("SELECT * FROM agent_token WHERE id = $1").bind(id);
        Ok(self.select_tokens(of_id).await?.pop())
    }

    /// The token of the agent with this name, unless it was revoked.
    ///
    /// # Errors
    /// As [`Store::agent_tokens`].
    pub async fn agent_token_named(&self, name: &str) -> Result<Option<AgentToken>, StoreError> {
        let named = "SELECT * FROM agent_token WHERE name = $1 AND revoked_at IS NULL";
        Ok(self.select_tokens(sqlx::query(named).bind(name)).await?.pop())
    }

    /// The names of all agents with a token that was not revoked.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn names_with_token(&self) -> Result<Vec<String>, StoreError> {
        let names = "SELECT name FROM agent_token WHERE revoked_at IS NULL ORDER BY name";
        let rows = self.all(sqlx::query(names)).await?;
        rows.iter().map(|row| Ok(row.try_get("name")?)).collect()
    }

    /// Adds a token; returns `None` where an agent of this name has one.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn add_agent_token(
        &self,
        new: NewAgentToken,
        now: i64,
    ) -> Result<Option<AgentToken>, StoreError> {
        let id = new.id.clone();
        let added = self.write(move |tx| {
            Box::pin(async move {
                let insert = sqlx::query(
                    "INSERT INTO agent_token (id, name, hash, reads, created_by, created_at, \
                     expires_at, open_asks, per_minute, per_session, profile, target) VALUES ($1, \
                     $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT DO NOTHING",
                );
                let insert = insert.bind(&new.id).bind(&new.name).bind(new.hash.to_string());
                let insert = insert.bind(new.reads.name()).bind(to_json("created_by", &new.by)?);
                let insert = insert.bind(now).bind(new.expires_at);
                let AgentLimits { open, per_minute, per_task } = new.limits;
                let insert = insert.bind(open).bind(per_minute).bind(per_task);
                let AgentScope { profile, target } = &new.scope;
                let insert = insert.bind(profile).bind(target);
                if insert.execute(&mut **tx).await?.rows_affected() == 0 {
                    return Ok(false);
                }
                let data = json!({"token": new.name, "by": new.by,
                    "profile": new.scope.profile, "target": new.scope.target});
                events::append(tx, now, "token_added", None, &data).await?;
                Ok(true)
            })
        });
        if !added.await? {
            return Ok(None);
        }
        self.tell();
        self.agent_token(&id).await
    }

    /// Gives an agent another token; the one before is accepted until `former_until`. Returns
    /// `None` where no agent of this name has a token.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn rotate_agent_token(
        &self,
        name: &str,
        hash: &TokenHash,
        former_until: i64,
        by: &By,
        now: i64,
    ) -> Result<Option<AgentToken>, StoreError> {
        let (agent, hash, by) = (name.to_owned(), hash.to_string(), by.clone());
        let rotated = self.write(move |tx| {
            Box::pin(async move {
                let rotate = sqlx::query(
                    "UPDATE agent_token SET former_hash = hash, former_until = $3, hash = $2 \
                     WHERE name = $1 AND revoked_at IS NULL",
                );
                let rotate = rotate.bind(&agent).bind(hash).bind(former_until);
                if rotate.execute(&mut **tx).await?.rows_affected() == 1 {
                    let data = json!({"token": agent, "by": by});
                    events::append(tx, now, "token_rotated", None, &data).await?;
                }
                Ok(())
            })
        });
        rotated.await?;
        self.tell();
        self.agent_token_named(name).await
    }

    /// Revokes an agent's token, with what its sessions were granted. Returns `None` where no agent
    /// of this name has one.
    ///
    /// # Errors
    /// When the store fails; then it is not revoked.
    pub async fn revoke_agent_token(
        &self,
        name: &str,
        by: &By,
        now: i64,
    ) -> Result<Option<AgentToken>, StoreError> {
        let Some(token) = self.agent_token_named(name).await? else { return Ok(None) };
        let (id, name, by) = (token.id.clone(), name.to_owned(), by.clone());
        let revoked = self.write(move |tx| {
            Box::pin(async move {
                let revoke = sqlx::query(
                    "UPDATE agent_token SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL",
                );
                if revoke.bind(&id).bind(now).execute(&mut **tx).await?.rows_affected() == 0 {
                    return Ok(false);
                }
                // Another agent that gets this name later inherits nothing.
                let grants = sqlx::query(
                    "UPDATE grants SET revoked_at = $2 WHERE agent = $1 \
                     AND scope NOT IN ('always', 'review') AND revoked_at IS NULL",
                );
                grants.bind(&name).bind(now).execute(&mut **tx).await?;
                let modes = sqlx::query("DELETE FROM session WHERE agent = $1");
                modes.bind(&name).execute(&mut **tx).await?;
                let data = json!({"token": name, "by": by});
                events::append(tx, now, "token_revoked", None, &data).await?;
                Ok(true)
            })
        });
        if !revoked.await? {
            return Ok(None);
        }
        self.tell();
        self.agent_token(&token.id).await
    }

    /// Notes that a token was shown.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn agent_token_used(&self, id: &str, now: i64) -> Result<(), StoreError> {
        let used = sqlx::query("UPDATE agent_token SET used_at = $2 WHERE id = $1");
        self.execute(used.bind(id.to_owned()).bind(now)).await.map(drop)
    }

    /// The names of agents with open asks whose token is not accepted any more.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn agents_without_token(&self, now: i64) -> Result<Vec<String>, StoreError> {
        let names = sqlx::query(
            "SELECT DISTINCT name FROM agent_token WHERE (revoked_at IS NOT NULL \
             OR expires_at <= $1) AND name IN (SELECT agent FROM ask WHERE state = 'open')",
        );
        let rows = self.all(names.bind(now)).await?;
        rows.iter().map(|row| Ok(row.try_get("name")?)).collect()
    }

    async fn select_tokens(&self, query: ReadQuery<'_>) -> Result<Vec<AgentToken>, StoreError> {
        self.all(query).await?.iter().map(token).collect()
    }
}
