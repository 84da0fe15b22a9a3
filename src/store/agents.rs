//! Agents by name: their tokens, limits and pauses; and the sessions of agents.
//!
//! Every daemon on the store reads the tokens for each request, so a token that is revoked at one is
//! refused at all. Limits are counted from the asks, in the transaction that stores one more: no two
//! daemons let one more through each, and a restart forgets nothing.

use super::{
    Grant, Inserted, NewCard, Store, StoreError, asks,
    engine::{Tx, from_json, to_json},
    grants, log, threads,
};
use countersign_domain::{
    Ask, By, GrantScope,
    call::Call,
    wire::{TokenLimits, TokenScope},
};
use countersign_tokens::secret::TokenHash;
use serde_json::json;
use sqlx::{AssertSqlSafe, Row, any::AnyRow};
use std::collections::BTreeMap;

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
    /// How much its agent may ask.
    pub limits: TokenLimits,
    /// What it is for.
    pub scope: TokenScope,
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
    pub limits: TokenLimits,
    /// What it is for.
    pub scope: TokenScope,
}

const MINUTE_MS: i64 = 60_000;

/// A limit that one more ask would break.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AgentLimit {
    /// So many asks open at once.
    #[error("more than {0} asks open at once")]
    Open(u32),
    /// So many new asks in a minute.
    #[error("more than {0} asks in a minute")]
    PerMinute(u32),
    /// So many asks of one session.
    #[error("more than {0} asks in one task")]
    PerTask(u32),
    /// None, because a limit has paused the agent already.
    #[error("it is paused")]
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

/// How many of the latest closed asks are looked at for their sessions.
const CLOSED: i64 = 500;

/// How many sessions with a mode of their own are looked at.
const MODES: i64 = 500;

/// How many open asks of a session are named.
const OPEN: i64 = 100;

/// A session that the store knows of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownSession {
    /// Its agent.
    pub agent: String,
    /// Its name.
    pub session: String,
    /// Its own mode, if it has one.
    pub mode: Option<String>,
    /// The number of its open asks.
    pub open: u64,
    /// The ids of these, oldest first; not all where they are many.
    pub asks: Vec<String>,
    /// One of its latest asks, where one is known.
    pub latest: Option<String>,
    /// When it last did something; Unix milliseconds.
    pub last_seen: i64,
}

/// Sessions by agent and name.
type SessionsByName = BTreeMap<(String, String), KnownSession>;

impl Store {
    /// All tokens of agents, by name; those that were revoked, too.
    pub async fn agent_tokens(&self) -> Result<Vec<AgentToken>, StoreError> {
        let all = sqlx::query("SELECT * FROM agent_token ORDER BY name, created_at, id");
        self.all(all).await?.iter().map(token).collect()
    }

    /// The token with this id.
    pub async fn agent_token(&self, id: &str) -> Result<Option<AgentToken>, StoreError> {
        let of_id = sqlx::query("SELECT * FROM agent_token WHERE id = $1").bind(id);
        self.maybe(of_id).await?.as_ref().map(token).transpose()
    }

    /// The token of the agent with this name, unless it was revoked.
    pub async fn agent_token_named(&self, name: &str) -> Result<Option<AgentToken>, StoreError> {
        let named = "SELECT * FROM agent_token WHERE name = $1 AND revoked_at IS NULL";
        self.maybe(sqlx::query(named).bind(name)).await?.as_ref().map(token).transpose()
    }

    /// The names of all agents with a token that was not revoked.
    pub async fn names_with_token(&self) -> Result<Vec<String>, StoreError> {
        let names = "SELECT name FROM agent_token WHERE revoked_at IS NULL ORDER BY name";
        self.texts(sqlx::query(names)).await
    }

    /// Adds a token; returns `None` where an agent of this name has one.
    pub async fn add_agent_token(
        &self,
        new: NewAgentToken,
        now: i64,
    ) -> Result<Option<AgentToken>, StoreError> {
        let id = new.id.clone();
        let added = self.change(move |tx| {
            Box::pin(async move {
                let insert = sqlx::query(
                    "INSERT INTO agent_token (id, name, hash, reads, created_by, created_at, \
                     expires_at, open_asks, per_minute, per_session, profile, target) VALUES ($1, \
                     $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT DO NOTHING",
                );
                let insert = insert.bind(&new.id).bind(&new.name).bind(new.hash.to_string());
                let insert = insert.bind(new.reads.name()).bind(to_json("created_by", &new.by)?);
                let insert = insert.bind(now).bind(new.expires_at);
                let TokenLimits { max_open, per_minute, per_task } = new.limits;
                let limits = [max_open, per_minute, per_task].map(|limit| limit.map(i64::from));
                let insert = limits.into_iter().fold(insert, |insert, limit| insert.bind(limit));
                let insert = insert.bind(&new.scope.profile).bind(&new.scope.target);
                if tx.run(insert).await? == 0 {
                    return Ok(false);
                }
                let data = json!({"token": new.name, "by": new.by,
                    "profile": new.scope.profile, "target": new.scope.target});
                log::append(tx, now, "token_added", None, &data).await?;
                Ok(true)
            })
        });
        if added.await? { self.agent_token(&id).await } else { Ok(None) }
    }

    /// Gives an agent another token; the one before is accepted until `former_until`. Returns
    /// `None` where no agent of this name has a token.
    // FAIL-CLOSED: without a time the one before is over, whatever another daemon's clock says.
    pub async fn rotate_agent_token(
        &self,
        name: &str,
        hash: &TokenHash,
        former_until: Option<i64>,
        by: &By,
        now: i64,
    ) -> Result<Option<AgentToken>, StoreError> {
        let agent = name.to_owned();
        let hash = hash.to_string();
        let by = by.clone();
        let rotated = self.change(move |tx| {
            Box::pin(async move {
                let rotate = sqlx::query(
                    "UPDATE agent_token SET former_hash = hash, former_until = $3, hash = $2 \
                     WHERE name = $1 AND revoked_at IS NULL",
                );
                let rotate = rotate.bind(&agent).bind(hash).bind(former_until);
                if tx.run(rotate).await? == 1 {
                    let data = json!({"token": agent, "by": by});
                    log::append(tx, now, "token_rotated", None, &data).await?;
                }
                Ok(())
            })
        });
        rotated.await?;
        self.agent_token_named(name).await
    }

    /// Revokes an agent's token, with what its sessions were granted. Returns `None` where no agent
    /// of this name has one.
    pub async fn revoke_agent_token(
        &self,
        name: &str,
        by: &By,
        now: i64,
    ) -> Result<Option<AgentToken>, StoreError> {
        let Some(token) = self.agent_token_named(name).await? else { return Ok(None) };
        let id = token.id.clone();
        let name = name.to_owned();
        let by = by.clone();
        let revoked = self.change(move |tx| {
            Box::pin(async move {
                let revoke = sqlx::query(
                    "UPDATE agent_token SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL",
                );
                if tx.run(revoke.bind(&id).bind(now)).await? == 0 {
                    return Ok(false);
                }
                // Another agent that gets this name later inherits nothing.
                let grants = sqlx::query(
                    "UPDATE grants SET revoked_at = $2 WHERE agent = $1 \
                     AND scope NOT IN ('always', 'review') AND revoked_at IS NULL",
                );
                tx.run(grants.bind(&name).bind(now)).await?;
                let modes = sqlx::query("DELETE FROM session WHERE agent = $1");
                tx.run(modes.bind(&name)).await?;
                let data = json!({"token": name, "by": by});
                log::append(tx, now, "token_revoked", None, &data).await?;
                Ok(true)
            })
        });
        if revoked.await? { self.agent_token(&token.id).await } else { Ok(None) }
    }

    /// Notes that a token was shown.
    pub async fn agent_token_used(&self, id: &str, now: i64) -> Result<(), StoreError> {
        let used = sqlx::query("UPDATE agent_token SET used_at = $2 WHERE id = $1");
        self.execute(used.bind(id.to_owned()).bind(now)).await.map(drop)
    }

    /// The names of agents with open asks whose token is not accepted any more.
    pub async fn agents_without_token(&self, now: i64) -> Result<Vec<String>, StoreError> {
        let names = sqlx::query(
            "SELECT DISTINCT name FROM agent_token WHERE (revoked_at IS NOT NULL \
             OR expires_at <= $1) AND name IN (SELECT agent FROM ask WHERE state = 'open')",
        );
        self.texts(names.bind(now)).await
    }

    /// Pauses the agent of a token, with the ask that resumes it; `None` where it is paused
    /// already, or its token was revoked.
    // INVARIANT: a pause has exactly one ask, however many daemons notice it at once.
    pub async fn pause_agent(
        &self,
        token: &AgentToken,
        why: &str,
        resumption: &Ask,
        cards: &[NewCard],
    ) -> Result<Option<Ask>, StoreError> {
        let id = token.id.clone();
        let name = token.name.clone();
        let why = why.to_owned();
        let new = resumption.clone();
        let cards = cards.to_vec();
        let daemon = self.name.clone();
        self.change(move |tx| {
            Box::pin(async move {
                let pause = sqlx::query(
                    "UPDATE agent_token SET paused_at = $2, paused_why = $3, pause_ask = $4 \
                     WHERE id = $1 AND paused_at IS NULL AND revoked_at IS NULL",
                );
                let pause = pause.bind(&id).bind(new.created_at).bind(&why).bind(&new.id);
                if tx.run(pause).await? == 0 {
                    return Ok(None);
                }
                let data = json!({"token": name, "why": why, "resumes": new.id});
                log::append(tx, new.created_at, "agent_paused", None, &data).await?;
                match asks::insert(tx, new, &cards, &daemon).await? {
                    Inserted::New(ask) => Ok(Some(ask)),
                    Inserted::Known(_) | Inserted::OverLimit(_) => Ok(None),
                }
            })
        })
        .await
    }

    /// How many agents a limit has paused.
    pub async fn paused_agents(&self) -> Result<u64, StoreError> {
        let paused = "SELECT count(*) AS asks FROM agent_token WHERE paused_at IS NOT NULL \
                      AND revoked_at IS NULL";
        let paused: i64 = self.one(sqlx::query(paused)).await?.try_get("asks")?;
        Ok(u64::try_from(paused).unwrap_or_default())
    }

    /// Resumes the agent with this name, whatever became of the ask for it; whether it was paused.
    pub async fn resume_agent(&self, name: &str, by: &By, now: i64) -> Result<bool, StoreError> {
        let Some(token) = self.agent_token_named(name).await? else { return Ok(false) };
        let by = by.clone();
        self.change(move |tx| Box::pin(async move { resume(tx, &token.id, &by, now).await })).await
    }

    /// The session's mode and its grants in force.
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
    pub async fn set_session_mode(
        &self,
        agent: &str,
        session: &str,
        mode: &str,
        now: i64,
    ) -> Result<(), StoreError> {
        let agent = agent.to_owned();
        let session = session.to_owned();
        let mode = mode.to_owned();
        self.write(move |tx| {
            Box::pin(async move {
                let set = sqlx::query(
                    "INSERT INTO session (agent, session, mode, changed_at) \
                     VALUES ($1, $2, $3, $4) \
                     ON CONFLICT (agent, session) DO UPDATE SET mode = $3, changed_at = $4",
                );
                tx.run(set.bind(&agent).bind(&session).bind(&mode).bind(now)).await?;
                let data = json!({"agent": agent, "session": session, "mode": mode});
                log::append(tx, now, "mode", None, &data).await
            })
        })
        .await
    }

    /// Ends a session: its grants are revoked and its mode is removed.
    pub async fn end_session(
        &self,
        agent: &str,
        session: &str,
        now: i64,
    ) -> Result<(), StoreError> {
        let agent = agent.to_owned();
        let session = session.to_owned();
        self.write(move |tx| {
            Box::pin(async move {
                // A grant for always is made in a session too, but outlives it.
                // SECURITY: no agent ends what a review said.
                let grants = sqlx::query(
                    "UPDATE grants SET revoked_at = $3 WHERE agent = $1 AND session = $2 \
                     AND scope NOT IN ('always', 'review') AND revoked_at IS NULL",
                );
                tx.run(grants.bind(&agent).bind(&session).bind(now)).await?;
                threads::session_ended(tx, &agent, &session).await?;
                let mode = sqlx::query("DELETE FROM session WHERE agent = $1 AND session = $2");
                tx.run(mode.bind(&agent).bind(&session)).await.map(drop)
            })
        })
        .await
    }

    /// The largest number of sessions that are listed.
    pub const SESSIONS: usize = 100;

    /// The sessions with open asks, with a mode of their own, and those of the latest closed asks,
    /// latest seen first; and whether there are more.
    pub async fn known_sessions(&self) -> Result<(Vec<KnownSession>, bool), StoreError> {
        let mut known = SessionsByName::new();
        let open = "SELECT agent, session, count(*) AS asks, max(created_at) AS at FROM ask \
             WHERE state = 'open' AND reviewed IS NULL GROUP BY agent, session";
        for row in self.all(sqlx::query(open)).await? {
            let asks: i64 = row.try_get("asks")?;
            seen(&mut known, &row)?.open = u64::try_from(asks).unwrap_or_default();
        }
        let closed = "SELECT agent, session, id, closed_at AS at FROM ask \
             WHERE closed_at IS NOT NULL AND reviewed IS NULL \
             ORDER BY closed_at DESC, id DESC LIMIT $1";
        for row in self.all(sqlx::query(closed).bind(CLOSED)).await? {
            let id = row.try_get("id")?;
            seen(&mut known, &row)?.latest.get_or_insert(id);
        }
        let modes = "SELECT agent, session, mode, changed_at AS at FROM session \
             ORDER BY changed_at DESC, agent, session LIMIT $1";
        for row in self.all(sqlx::query(modes).bind(MODES)).await? {
            seen(&mut known, &row)?.mode = Some(row.try_get("mode")?);
        }
        let mut known: Vec<KnownSession> = known.into_values().collect();
        known.sort_by_key(|session| std::cmp::Reverse(session.last_seen));
        let more = known.len() > Self::SESSIONS;
        known.truncate(Self::SESSIONS);
        for session in known.iter_mut().filter(|session| session.open > 0) {
            self.name_open(session).await?;
        }
        Ok((known, more))
    }

    async fn name_open(&self, of: &mut KnownSession) -> Result<(), StoreError> {
        let open = "SELECT id FROM ask WHERE state = 'open' AND agent = $1 AND session = $2 \
             ORDER BY created_at, id LIMIT $3";
        let open = sqlx::query(open).bind(of.agent.clone()).bind(of.session.clone()).bind(OPEN);
        of.asks = self.texts(open).await?;
        of.latest = of.asks.last().cloned().or(of.latest.take());
        Ok(())
    }
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
        by: from_json(row, "created_by")?,
        created_at: row.try_get("created_at")?,
        expires_at: row.try_get("expires_at")?,
        used_at: row.try_get("used_at")?,
        revoked_at: row.try_get("revoked_at")?,
        limits: limits(row)?,
        scope: TokenScope { profile: row.try_get("profile")?, target: row.try_get("target")? },
        pause: pause(row)?,
    })
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
    let row = tx.maybe(resume.bind(token).bind(now)).await?;
    let Some(row) = row else { return Ok(false) };
    let data = json!({"token": row.try_get::<String, _>("name")?, "by": by});
    log::append(tx, now, "agent_resumed", None, &data).await?;
    Ok(true)
}

/// The limit that this ask of a token's agent would break.
// FAIL-CLOSED: a token that is gone lets nothing through.
pub(super) async fn limit_reached(
    tx: &mut Tx,
    token: &str,
    call: &Call,
    at: i64,
) -> Result<Option<AgentLimit>, StoreError> {
    // The row is held, so that the asks of one agent are counted one after the other.
    let row = format!("SELECT * FROM agent_token WHERE id = $1{}", tx.dialect.for_update());
    let row = tx.maybe(sqlx::query(AssertSqlSafe(row)).bind(token)).await?;
    let Some(row) = row else { return Ok(Some(AgentLimit::Paused)) };
    if pause(&row)?.is_some() {
        return Ok(Some(AgentLimit::Paused));
    }
    let resumed: Option<i64> = row.try_get("resumed_at")?;
    let since = match resumed {
        Some(at) => at.saturating_add(1),
        None => row.try_get("created_at")?,
    };
    let TokenLimits { max_open, per_minute, per_task } = limits(&row)?;
    let agent = &call.agent;
    let count = |sql: &'static str, since: i64| sqlx::query(sql).bind(agent.clone()).bind(since);
    if let Some(most) = max_open {
        let open = "SELECT count(*) AS asks FROM ask WHERE agent = $1 AND created_at >= $2 \
                    AND state = 'open' AND reviewed IS NULL";
        if tx.count(count(open, since)).await? >= i64::from(most) {
            return Ok(Some(AgentLimit::Open(most)));
        }
    }
    if let Some(most) = per_minute {
        let since = since.max(at.saturating_sub(MINUTE_MS));
        let new = "SELECT count(*) AS asks FROM ask WHERE agent = $1 AND created_at >= $2 \
                   AND reviewed IS NULL";
        if tx.count(count(new, since)).await? >= i64::from(most) {
            return Ok(Some(AgentLimit::PerMinute(most)));
        }
    }
    if let Some(most) = per_task {
        let of_task = "SELECT count(*) AS asks FROM ask WHERE agent = $1 AND created_at >= $2 \
                       AND session = $3 AND reviewed IS NULL";
        if tx.count(count(of_task, since).bind(call.session.clone())).await? >= i64::from(most) {
            return Ok(Some(AgentLimit::PerTask(most)));
        }
    }
    Ok(None)
}

// FAIL-CLOSED: a limit that cannot have been stored is an error, and no absence of one.
fn limits(row: &AnyRow) -> Result<TokenLimits, StoreError> {
    let limit = |column: &str| -> Result<Option<u32>, sqlx::Error> {
        let limit = row.try_get::<Option<i64>, _>(column)?.map(u32::try_from);
        limit.transpose().map_err(|error| sqlx::Error::Decode(error.into()))
    };
    let per_minute = limit("per_minute")?;
    let per_task = limit("per_session")?;
    Ok(TokenLimits { max_open: limit("open_asks")?, per_minute, per_task })
}

/// The pause of a token's agent.
// FAIL-CLOSED: a pause that does not say all is a pause nonetheless.
fn pause(row: &AnyRow) -> Result<Option<AgentPause>, StoreError> {
    let Some(since) = row.try_get("paused_at")? else { return Ok(None) };
    let why: Option<String> = row.try_get("paused_why")?;
    let ask: Option<String> = row.try_get("pause_ask")?;
    Ok(Some(AgentPause { since, why: why.unwrap_or_default(), ask: ask.unwrap_or_default() }))
}

/// The session of a row, which it was seen in.
fn seen<'k>(
    known: &'k mut SessionsByName,
    row: &AnyRow,
) -> Result<&'k mut KnownSession, StoreError> {
    let (agent, session): (String, String) = (row.try_get("agent")?, row.try_get("session")?);
    let entry = known.entry((agent.clone(), session.clone()));
    let entry = entry.or_insert_with(|| KnownSession { agent, session, ..Default::default() });
    entry.last_seen = entry.last_seen.max(row.try_get("at")?);
    Ok(entry)
}

#[cfg(test)]
mod tests;
