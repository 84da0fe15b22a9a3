//! Grants: remembered approvals.

use super::{
    ReadQuery, Store, StoreError, Tx,
    changes::pause_held,
    engine::{from_json, to_json},
    events,
};
use countersign_domain::{By, owner::Owner};
use countersign_policy::{Rule, Verdict};
use serde::Serialize;
use serde_json::json;
use sqlx::{Row, any::AnyRow};

/// For how long an answer that stored something can be undone; milliseconds.
pub const UNDO_MS: i64 = 600_000;

/// A remembered approval.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Grant {
    /// Its id.
    pub id: String,
    /// The ask it was given on; empty for a rule that was saved without one.
    pub ask: String,
    /// What it allows.
    #[serde(flatten)]
    pub rule: Rule,
    /// How far it goes.
    pub scope: GrantScope,
    /// The agent it was given to.
    pub agent: String,
    /// The session it was given in.
    pub session: String,
    /// Whose session that is.
    #[serde(skip)]
    pub owner: Option<Owner>,
    /// By whom.
    pub by: By,
    /// Unix milliseconds.
    pub created_at: i64,
    /// Unix milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
    /// SHA-256 of the one call that it covers, where it was approved ahead.
    #[serde(skip)]
    pub digest: Option<String>,
}

/// How far a grant goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum GrantScope {
    /// The session it was given in.
    Session,
    /// That session, until it expires.
    Timed,
    /// Every session: it is in the rules file.
    Always,
    /// Exactly one call, once, until it expires.
    Budget,
    /// No approval: calls that it covers ask, because a person said so in a review.
    Review,
}

impl GrantScope {
    fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Timed => "timed",
            Self::Always => "always",
            Self::Budget => "budget",
            Self::Review => "review",
        }
    }
}

impl Store {
    /// All grants in force.
    ///
    /// # Errors
    /// When the store fails or a row does not read back.
    pub async fn grants(&self, now: i64) -> Result<Vec<Grant>, StoreError> {
        self.select_grants(
            sqlx::query(
                "SELECT * FROM grants WHERE revoked_at IS NULL AND spent_at IS NULL \
                 AND (expires_at IS NULL OR expires_at > $1) ORDER BY created_at, id",
            )
            .bind(now),
        )
        .await
    }

    /// Stores a grant that a person made without an ask; false while everything is paused.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn save_grant(&self, new: &Grant) -> Result<bool, StoreError> {
        let new = new.clone();
        let saved = self.write(move |tx| {
            Box::pin(async move {
                if pause_held(tx).await?.is_some() {
                    return Ok(false);
                }
                insert(tx, &new).await?;
                let data = json!({"grant": new.id, "rule": new.rule.to_string(), "by": new.by});
                events::append(tx, new.created_at, "saved", None, &data).await?;
                Ok(true)
            })
        });
        saved.await
    }

    /// Grants that are in the store but not yet in the rules file.
    ///
    /// # Errors
    /// As [`Store::grants`].
    pub async fn unwritten_grants(&self) -> Result<Vec<Grant>, StoreError> {
        self.select_grants(sqlx::query(
            "SELECT * FROM grants WHERE written = 0 AND revoked_at IS NULL ORDER BY created_at, id",
        ))
        .await
    }

    /// Notes that a grant is in the rules file.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn grant_written(&self, id: &str) -> Result<(), StoreError> {
        let statement = sqlx::query("UPDATE grants SET written = 1 WHERE id = $1 AND written <> 2")
            .bind(id.to_owned());
        self.execute(statement).await.map(drop)
    }

    /// Revoked grants whose rules may still be in the rules file.
    ///
    /// # Errors
    /// As [`Store::grants`].
    pub async fn unremoved_grants(&self) -> Result<Vec<Grant>, StoreError> {
        self.select_grants(sqlx::query(
            "SELECT * FROM grants WHERE written = 2 ORDER BY created_at, id",
        ))
        .await
    }

    /// Notes that the rule of a revoked grant is no longer in the rules file.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn grant_removed(&self, id: &str) -> Result<(), StoreError> {
        let statement = sqlx::query("UPDATE grants SET written = 1 WHERE id = $1 AND written = 2");
        self.execute(statement.bind(id.to_owned())).await.map(drop)
    }

    /// Revokes a grant, for somebody where a person did it; `None` when there is none in force with
    /// this id.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn revoke_grant(
        &self,
        id: &str,
        by: Option<By>,
        now: i64,
    ) -> Result<Option<Grant>, StoreError> {
        let Some(grant) = self.grants(now).await?.into_iter().find(|grant| grant.id == id) else {
            return Ok(None);
        };
        let gone = grant.clone();
        let revoked = self.write(move |tx| {
            Box::pin(async move {
                let done = sqlx::query(
                    "UPDATE grants SET revoked_at = $2, \
                     written = CASE WHEN scope = 'always' THEN 2 ELSE written END \
                     WHERE id = $1 AND revoked_at IS NULL",
                )
                .bind(&gone.id)
                .bind(now)
                .execute(&mut **tx)
                .await?;
                let data = json!({"grant": gone.id, "rule": gone.rule.to_string(), "by": by});
                let ask = Some(gone.ask.as_str()).filter(|ask| !ask.is_empty());
                events::append(tx, now, "revoked", ask, &data).await?;
                Ok(done.rows_affected() == 1)
            })
        });
        Ok(revoked.await?.then_some(grant))
    }

    async fn select_grants(&self, query: ReadQuery<'_>) -> Result<Vec<Grant>, StoreError> {
        self.all(query).await?.iter().map(grant).collect()
    }
}

pub(super) fn grant(row: &AnyRow) -> Result<Grant, StoreError> {
    let scope: String = row.try_get("scope")?;
    let by: String = row.try_get("granted_by")?;
    let scope = match scope.as_str() {
        "session" => GrantScope::Session,
        "timed" => GrantScope::Timed,
        "always" => GrantScope::Always,
        "budget" => GrantScope::Budget,
        "review" => GrantScope::Review,
        _ => return Err(sqlx::Error::Decode(format!("scope `{scope}`").into()).into()),
    };
    Ok(Grant {
        id: row.try_get("id")?,
        ask: row.try_get("ask")?,
        rule: Rule {
            tool: row.try_get("tool")?,
            pattern: row.try_get("pattern")?,
            verdict: match scope {
                GrantScope::Review => Verdict::Ask,
                _ => Verdict::Allow,
            },
        },
        scope,
        agent: row.try_get("agent")?,
        session: row.try_get("session")?,
        owner: row.try_get::<Option<String>, _>("owner")?.map(Owner::stored),
        by: from_json("granted_by", &by)?,
        created_at: row.try_get("created_at")?,
        expires_at: row.try_get("expires_at")?,
        digest: row.try_get("digest")?,
    })
}

pub(super) async fn insert(tx: &mut Tx, grant: &Grant) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO grants (id, ask, tool, pattern, scope, agent, session, granted_by, \
         created_at, expires_at, written, owner, undo_until, digest) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
    )
    .bind(&grant.id)
    .bind(&grant.ask)
    .bind(&grant.rule.tool)
    .bind(&grant.rule.pattern)
    .bind(grant.scope.name())
    .bind(&grant.agent)
    .bind(&grant.session)
    .bind(to_json("granted_by", &grant.by)?)
    .bind(grant.created_at)
    .bind(grant.expires_at)
    .bind(i64::from(grant.scope != GrantScope::Always))
    .bind(grant.owner.as_ref().map(|owner| owner.as_str().to_owned()))
    .bind(grant.created_at + UNDO_MS)
    .bind(&grant.digest)
    .execute(&mut **tx)
    .await?;
    Ok(())
}
