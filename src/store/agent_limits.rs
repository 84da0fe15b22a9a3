//! Limits of agents by name. They are counted from the asks, in the transaction that stores one
//! more: no two daemons let one more through each, and a restart forgets nothing.

use super::{StoreError, Tx, events};
use countersign_domain::{By, call::Call};
use serde_json::json;
use sqlx::{AssertSqlSafe, Row, any::AnyRow};

const MINUTE_MS: i64 = 60_000;

/// How much an agent may ask; without a limit only those of the config hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AgentLimits {
    /// Asks open at once.
    pub open: Option<i64>,
    /// New asks in a minute.
    pub per_minute: Option<i64>,
    /// Asks of one session, since its agent was resumed.
    pub per_task: Option<i64>,
}

/// A limit that one more ask would break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentLimit {
    /// So many asks open at once.
    Open(i64),
    /// So many new asks in a minute.
    PerMinute(i64),
    /// So many asks of one session.
    PerTask(i64),
    /// None, because a limit has paused the agent already.
    Paused,
}

/// A pause of one agent, because it asked more than it may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentPause {
    /// Unix milliseconds.
    pub since: i64,
    /// Which limit it broke, in words.
    pub why: String,
    /// The ask whose approval resumes it.
    pub ask: String,
}

impl AgentLimits {
    /// Whether there is any.
    #[must_use]
    pub fn any(&self) -> bool {
        *self != Self::default()
    }
}

impl std::fmt::Display for AgentLimit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Open(most) => write!(f, "more than {most} asks open at once"),
            Self::PerMinute(most) => write!(f, "more than {most} asks in a minute"),
            Self::PerTask(most) => write!(f, "more than {most} asks in one task"),
            Self::Paused => f.write_str("it is paused"),
        }
    }
}

/// Resumes the agent of a token. What it asked before does not count for its limits.
pub(super) async fn resume(
    tx: &mut Tx,
    token: &str,
    by: &By,
    now: i64,
) -> Result<bool, StoreError> {
    let resume = sqlx::query(
        "UPDATE agent_token SET paused_at = NULL, paused_why = NULL, pause_ask = NULL, \
         resumed_at = $2 WHERE id = $1 AND paused_at IS NOT NULL RETURNING name",
    );
    let row = resume.bind(token).bind(now).fetch_optional(&mut **tx).await?;
    let Some(row) = row else { return Ok(false) };
    let data = json!({"token": row.try_get::<String, _>("name")?, "by": by});
    events::append(tx, now, "agent_resumed", None, &data).await?;
    Ok(true)
}

/// The limit that this ask of a token's agent would break.
// FAIL-CLOSED: a token that is gone lets nothing through.
pub(super) async fn reached(
    tx: &mut Tx,
    token: &str,
    call: &Call,
    at: i64,
) -> Result<Option<AgentLimit>, StoreError> {
    // The row is held, so that the asks of one agent are counted one after the other.
    let row = format!("SELECT * FROM agent_token WHERE id = $1{}", tx.dialect.for_update());
    let row = sqlx::query(AssertSqlSafe(row)).bind(token).fetch_optional(&mut **tx).await?;
    let Some(row) = row else { return Ok(Some(AgentLimit::Paused)) };
    if pause(&row)?.is_some() {
        return Ok(Some(AgentLimit::Paused));
    }
    let resumed: Option<i64> = row.try_get("resumed_at")?;
    let since = match resumed {
        Some(at) => at.saturating_add(1),
        None => row.try_get("created_at")?,
    };
    let AgentLimits { open, per_minute, per_task } = limits(&row)?;
    let agent = call.agent.as_str();
    if let Some(most) = open {
        let count = "SELECT count(*) AS asks FROM ask WHERE agent = $1 AND created_at >= $2 \
                     AND state = 'open' AND reviewed IS NULL";
        if counted(sqlx::query(count).bind(agent).bind(since).fetch_one(&mut **tx).await?)? >= most
        {
            return Ok(Some(AgentLimit::Open(most)));
        }
    }
    if let Some(most) = per_minute {
        let since = since.max(at.saturating_sub(MINUTE_MS));
        let count = "SELECT count(*) AS asks FROM ask WHERE agent = $1 AND created_at >= $2 \
                     AND reviewed IS NULL";
        if counted(sqlx::query(count).bind(agent).bind(since).fetch_one(&mut **tx).await?)? >= most
        {
            return Ok(Some(AgentLimit::PerMinute(most)));
        }
    }
    if let Some(most) = per_task {
        let count = "SELECT count(*) AS asks FROM ask WHERE agent = $1 AND created_at >= $2 \
                     AND session = $3 AND reviewed IS NULL";
        let count = sqlx::query(count).bind(agent).bind(since).bind(&call.session);
        if counted(count.fetch_one(&mut **tx).await?)? >= most {
            return Ok(Some(AgentLimit::PerTask(most)));
        }
    }
    Ok(None)
}

pub(super) fn counted(row: AnyRow) -> Result<i64, StoreError> {
    Ok(row.try_get("asks")?)
}

pub(super) fn limits(row: &AnyRow) -> Result<AgentLimits, StoreError> {
    Ok(AgentLimits {
        open: row.try_get("open_asks")?,
        per_minute: row.try_get("per_minute")?,
        per_task: row.try_get("per_session")?,
    })
}

/// The pause of a token's agent.
// FAIL-CLOSED: a pause that does not say all is a pause nonetheless.
pub(super) fn pause(row: &AnyRow) -> Result<Option<AgentPause>, StoreError> {
    let Some(since) = row.try_get("paused_at")? else { return Ok(None) };
    let why: Option<String> = row.try_get("paused_why")?;
    let ask: Option<String> = row.try_get("pause_ask")?;
    Ok(Some(AgentPause { since, why: why.unwrap_or_default(), ask: ask.unwrap_or_default() }))
}
