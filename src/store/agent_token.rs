//! The token of an agent, as its row has it.

use super::{
    StoreError,
    agent_limits::{AgentLimits, AgentPause, limits, pause},
    engine::from_json,
};
use countersign_domain::By;
use countersign_tokens::secret::TokenHash;
use sqlx::{Row, any::AnyRow};

/// Whose asks an agent may read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    /// Its own.
    Own,
    /// Those of every agent.
    All,
}

/// What a token is for; everything where nothing is named.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentScope {
    /// The profile that has to decide on its agent's calls.
    pub profile: Option<String>,
    /// The only target or route that shows its asks.
    pub target: Option<String>,
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
    /// How much its agent may ask.
    pub limits: AgentLimits,
    /// What it is for.
    pub scope: AgentScope,
    /// Since when a limit has paused its agent, and why.
    pub pause: Option<AgentPause>,
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
    /// How much its agent may ask.
    pub limits: AgentLimits,
    /// What it is for.
    pub scope: AgentScope,
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

impl Reads {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::All => "all",
        }
    }
}

// FAIL-CLOSED: a row that does not read back is an error, and nobody is admitted.
pub(super) fn token(row: &AnyRow) -> Result<AgentToken, StoreError> {
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
        by: from_json("created_by", &row.try_get::<String, _>("created_by")?)?,
        created_at: row.try_get("created_at")?,
        expires_at: row.try_get("expires_at")?,
        used_at: row.try_get("used_at")?,
        revoked_at: row.try_get("revoked_at")?,
        limits: limits(row)?,
        scope: AgentScope { profile: row.try_get("profile")?, target: row.try_get("target")? },
        pause: pause(row)?,
    })
}
