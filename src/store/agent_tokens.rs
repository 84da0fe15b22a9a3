//! Tokens of agents by name. Every daemon on the store reads them for each request, so a token
//! that is revoked at one is refused at all.

use super::{
    ReadQuery, Store, StoreError, events,
    rows::{read, write},
};
use crate::{ask::By, secret::TokenHash};
use serde_json::json;
use sqlx::{Row, any::AnyRow};

/// Whose asks an agent may read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    /// Its own.
    Own,
    /// Those of every agent.
    All,
}

/// The token of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentToken {
    /// Its random id, which outlives a rotation.
    pub id: String,
    /// The agent's name.
    pub name: String,
    /// The token's hash.
    pub hash: TokenHash,
    /// The hash before the rotation, and until when it is accepted too; Unix milliseconds.
    pub former: Option<(TokenHash, i64)>,
    /// Whose asks it may read.
    pub reads: Reads,
    /// Who made it.
    pub by: By,
    /// Unix milliseconds.
    pub created_at: i64,
    /// When it ends by itself; Unix milliseconds.
    pub expires_at: Option<i64>,
    /// When it was last shown, to the minute; Unix milliseconds.
    pub used_at: Option<i64>,
    /// When it was revoked; Unix milliseconds.
    pub revoked_at: Option<i64>,
}

/// A token that is about to be made.
#[derive(Debug, Clone)]
pub struct NewAgentToken {
    /// Its random id.
    pub id: String,
    /// The agent's name.
    pub name: String,
    /// The token's hash.
    pub hash: TokenHash,
    /// Whose asks it may read.
    pub reads: Reads,
    /// Who makes it.
    pub by: By,
    /// When it ends by itself; Unix milliseconds.
    pub expires_at: Option<i64>,
}

impl AgentToken {
    /// Why it is not accepted at this time, in words for its agent.
    ///
    /// # Errors
    /// The sentence.
    // FAIL-CLOSED: at its very end it is over.
    pub fn is_accepted(&self, now: i64) -> Result<(), &'static str> {
        match (self.revoked_at, self.expires_at) {
            (Some(_), _) => Err("its token was revoked"),
            (None, Some(at)) if at <= now => Err("its token expired"),
            (None, _) => Ok(()),
        }
    }

    /// The hash of this token that `shows` accepts: its own, or until its time the former one.
    pub fn shown(&self, now: i64, shows: impl Fn(&TokenHash) -> bool) -> Option<&TokenHash> {
        // Both are always compared, so that the time does not show which one matched.
        let former = self.former.as_ref().filter(|(hash, until)| shows(hash) & (*until > now));
        let own = shows(&self.hash).then_some(&self.hash);
        own.or(former.map(|(hash, _)| hash))
    }
}

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
                     expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING",
                );
                let insert = insert.bind(&new.id).bind(&new.name).bind(new.hash.to_string());
                let insert = insert.bind(new.reads.name()).bind(write("created_by", &new.by)?);
                let insert = insert.bind(now).bind(new.expires_at);
                if insert.execute(&mut *tx).await?.rows_affected() == 0 {
                    return Ok(false);
                }
                let data = json!({"token": new.name, "by": new.by});
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
                if rotate.execute(&mut *tx).await?.rows_affected() == 1 {
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
                if revoke.bind(&id).bind(now).execute(&mut *tx).await?.rows_affected() == 0 {
                    return Ok(false);
                }
                // Another agent that gets this name later inherits nothing.
                let grants = sqlx::query(
                    "UPDATE grants SET revoked_at = $2 WHERE agent = $1 AND scope <> 'always' \
                     AND revoked_at IS NULL",
                );
                grants.bind(&name).bind(now).execute(&mut *tx).await?;
                let modes = sqlx::query("DELETE FROM session WHERE agent = $1");
                modes.bind(&name).execute(&mut *tx).await?;
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

    /// The ids of the open asks of agents with this name.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn open_of_agent(&self, name: &str) -> Result<Vec<String>, StoreError> {
        let open = "SELECT id FROM ask WHERE state = 'open' AND agent = $1 ORDER BY created_at, id";
        let rows = self.all(sqlx::query(open).bind(name)).await?;
        rows.iter().map(|row| Ok(row.try_get("id")?)).collect()
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

impl Reads {
    fn name(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::All => "all",
        }
    }
}

// FAIL-CLOSED: a row that does not read back is an error, and nobody is admitted.
fn token(row: &AnyRow) -> Result<AgentToken, StoreError> {
    let damaged = |what: &str| sqlx::Error::Decode(format!("a token's {what}").into());
    let hash = |text: &str| TokenHash::stored(text).ok_or_else(|| damaged("hash"));
    let reads = match row.try_get::<String, _>("reads")?.as_str() {
        "own" => Reads::Own,
        "all" => Reads::All,
        _ => return Err(damaged("reads").into()),
    };
    let former: Option<String> = row.try_get("former_hash")?;
    let until: Option<i64> = row.try_get("former_until")?;
    let former = former.zip(until).map(|(text, until)| Ok((hash(&text)?, until)));
    Ok(AgentToken {
        id: row.try_get("id")?,
        name: row.try_get("name")?,
        hash: hash(&row.try_get::<String, _>("hash")?)?,
        former: former.transpose().map_err(|error: sqlx::Error| StoreError::from(error))?,
        reads,
        by: read("created_by", &row.try_get::<String, _>("created_by")?)?,
        created_at: row.try_get("created_at")?,
        expires_at: row.try_get("expires_at")?,
        used_at: row.try_get("used_at")?,
        revoked_at: row.try_get("revoked_at")?,
    })
}
