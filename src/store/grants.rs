//! Grants: remembered approvals, how often they were used, and calls that were approved ahead, of
//! which each is spent once. Reviews of calls that ran without an ask, which can only revoke a grant
//! or make calls ask.

use super::{
    Inserted, NewCard, Store, StoreError, asks, cards,
    changes::pause_held,
    engine::{Tx, from_json, to_json},
    log,
};
use countersign_domain::{
    Answer, Ask, By, Decision, Execution, GrantScope, Owner, Rule, State, Verdict,
    call::Call,
    review::{CallReview, REVIEWER, Tightening},
};
use countersign_tokens::ids;
use serde::Serialize;
use serde_json::{Value, json};
use sqlx::{Row, any::AnyRow};
use std::collections::HashMap;

/// For how long an answer that stored something can be undone; milliseconds.
pub const UNDO_MS: i64 = 600_000;

/// In the column `written`: the rule is to be written to a file, and belongs in none.
const UNWRITTEN: i64 = 0;
const NOWHERE: i64 = 1;

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
    /// The folder in which alone it holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
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
    /// Whether its rule stands in a worker's rules file too, or is to be written there.
    #[serde(skip)]
    pub in_file: bool,
}

/// The use of a grant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantUse {
    /// How many calls it let run.
    pub used: u64,
    /// When the last one was; Unix milliseconds.
    pub last_at: i64,
    /// The last one in short.
    pub last_call: String,
}

/// How many reviews may be open at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenReviews {
    /// Of the calls of one agent.
    pub of_agent: i64,
    /// Of all calls.
    pub of_all: i64,
}

impl Store {
    /// All grants in force.
    pub async fn grants(&self, now: i64) -> Result<Vec<Grant>, StoreError> {
        let in_force = sqlx::query(
            "SELECT * FROM grants WHERE revoked_at IS NULL AND spent_at IS NULL \
             AND (expires_at IS NULL OR expires_at > $1) ORDER BY created_at, id",
        );
        self.all(in_force.bind(now)).await?.iter().map(grant).collect()
    }

    /// Stores a grant that a person made without an ask; false while everything is paused.
    pub async fn save_grant(&self, new: &Grant) -> Result<bool, StoreError> {
        let new = new.clone();
        let saved = self.write(move |tx| {
            Box::pin(async move {
                if pause_held(tx).await?.is_some() {
                    return Ok(false);
                }
                insert(tx, &new).await?;
                let data = json!({"grant": new.id, "rule": new.rule.to_string(), "by": new.by});
                log::append(tx, new.created_at, "saved", None, &data).await?;
                Ok(true)
            })
        });
        saved.await
    }

    /// Grants that are in the store but not yet in the rules file.
    pub async fn unwritten_grants(&self) -> Result<Vec<Grant>, StoreError> {
        let unwritten =
            "SELECT * FROM grants WHERE written = 0 AND revoked_at IS NULL ORDER BY created_at, id";
        self.all(sqlx::query(unwritten)).await?.iter().map(grant).collect()
    }

    /// Notes that a grant is in the rules file.
    pub async fn grant_written(&self, id: &str) -> Result<(), StoreError> {
        let statement = sqlx::query("UPDATE grants SET written = 2 WHERE id = $1 AND written = 0")
            .bind(id.to_owned());
        self.execute(statement).await.map(drop)
    }

    /// Revoked grants whose rules may still be in the rules file.
    pub async fn unremoved_grants(&self) -> Result<Vec<Grant>, StoreError> {
        let unremoved = "SELECT * FROM grants WHERE written = 3 ORDER BY created_at, id";
        self.all(sqlx::query(unremoved)).await?.iter().map(grant).collect()
    }

    /// Notes that the rule of a revoked grant is no longer in the rules file.
    pub async fn grant_removed(&self, id: &str) -> Result<(), StoreError> {
        let statement = sqlx::query("UPDATE grants SET written = 1 WHERE id = $1 AND written = 3");
        self.execute(statement.bind(id.to_owned())).await.map(drop)
    }

    /// Revokes a grant, for somebody where a person did it; `None` when there is none in force with
    /// this id.
    pub async fn revoke_grant(
        &self,
        id: &str,
        by: Option<By>,
        now: i64,
    ) -> Result<Option<Grant>, StoreError> {
        if !self.grants(now).await?.iter().any(|grant| grant.id == id) {
            return Ok(None);
        }
        let id = id.to_owned();
        self.write(move |tx| {
            Box::pin(async move { revoke(tx, &id, now, json!({ "by": by })).await })
        })
        .await
    }

    /// Adds to the uses of grants, by their ids.
    pub async fn add_grant_uses(&self, uses: Vec<(String, GrantUse)>) -> Result<(), StoreError> {
        let add = |(id, GrantUse { used, last_at, last_call })| {
            let add = sqlx::query(
                "UPDATE grants SET used = used + $2, last_used_at = $3, last_call = $4 \
                 WHERE id = $1",
            );
            let add = add.bind::<String>(id).bind(i64::try_from(used).unwrap_or(i64::MAX));
            add.bind(last_at).bind(last_call)
        };
        self.execute_all(uses.into_iter().map(add).collect()).await
    }

    /// The uses of the grants that were used and are not revoked, by their ids.
    pub async fn grant_uses(&self) -> Result<HashMap<String, GrantUse>, StoreError> {
        let used = "SELECT id, used, last_used_at, last_call FROM grants \
             WHERE used > 0 AND revoked_at IS NULL";
        let rows = self.all(sqlx::query(used)).await?;
        let one = |row: &AnyRow| {
            let used = u64::try_from(row.try_get::<i64, _>("used")?).unwrap_or_default();
            let last_at = row.try_get("last_used_at")?;
            let last_call = row.try_get("last_call")?;
            Ok((row.try_get("id")?, GrantUse { used, last_at, last_call }))
        };
        rows.iter().map(one).collect()
    }

    /// The grants in force for exactly this call, by its digest, of this owner; oldest first.
    // SECURITY: the owner is not in the digest, and a name is no proof of who asks.
    pub async fn budget_for(
        &self,
        digest: &str,
        owner: Option<&Owner>,
        now: i64,
    ) -> Result<Vec<Grant>, StoreError> {
        let found = sqlx::query(
            "SELECT * FROM grants WHERE digest = $1 AND spent_at IS NULL AND revoked_at IS NULL \
             AND scope = 'budget' AND expires_at > $2 ORDER BY created_at, id",
        );
        let found = self.all(found.bind(digest).bind(now)).await?;
        let found = found.iter().map(grant).collect::<Result<Vec<_>, _>>()?;
        Ok(found.into_iter().filter(|grant| grant.owner.as_ref() == owner).collect())
    }

    /// Spends a grant of a budget, unless it is spent, revoked or over, or everything is paused;
    /// whether it was spent now. An ask for one call notes that it started.
    ///
    /// # Errors
    /// When the store fails; then nothing was spent, or it is not known.
    // INVARIANT: of many that spend a grant at once, at most one does.
    // FAIL-CLOSED: while everything is paused nothing is approved.
    pub async fn spend(
        &self,
        grant: &Grant,
        call: &str,
        started: &Execution,
    ) -> Result<bool, StoreError> {
        let grant = grant.clone();
        let call = call.to_owned();
        let started = started.clone();
        let now = started.started_at;
        self.change(move |tx| {
            Box::pin(async move {
                if pause_held(tx).await?.is_some() {
                    return Ok(false);
                }
                let spend = sqlx::query(
                    "UPDATE grants SET spent_at = $2, used = used + 1, last_used_at = $2, \
                     last_call = $3 WHERE id = $1 AND spent_at IS NULL AND revoked_at IS NULL \
                     AND expires_at > $2",
                );
                let spend = spend.bind(&grant.id).bind(now).bind(&call);
                if tx.run(spend).await? == 0 {
                    return Ok(false);
                }
                let data = json!({"grant": grant.id, "agent": grant.agent,
                    "session": grant.session, "digest": grant.digest});
                log::append(tx, now, "budget_used", Some(&grant.ask), &data).await?;
                note_start(tx, &grant.ask, started).await?;
                Ok(true)
            })
        })
        .await
    }

    /// Stores the ask of a review and its cards; `None` where as many are open as may be.
    pub async fn insert_review(
        &self,
        new: &Ask,
        cards: &[NewCard],
        most: OpenReviews,
    ) -> Result<Option<Ask>, StoreError> {
        let Some(review) = new.body.review.clone() else { return Ok(None) };
        let new = new.clone();
        let cards = cards.to_vec();
        let daemon = self.name.clone();
        self.change(move |tx| {
            Box::pin(async move {
                if !has_room(tx, &review.agent, most).await? {
                    return Ok(None);
                }
                let ask = match asks::insert(tx, new, &cards, &daemon).await? {
                    Inserted::New(ask) => ask,
                    Inserted::Known(_) | Inserted::OverLimit(_) => return Ok(None),
                };
                let mark = sqlx::query("UPDATE ask SET reviewed = $2 WHERE id = $1");
                tx.run(mark.bind(&ask.id).bind(&review.agent)).await?;
                let data = about(&ask, &review);
                log::append(tx, ask.created_at, "review", Some(&ask.id), &data).await?;
                Ok(Some(ask))
            })
        })
        .await
    }
}

impl Grant {
    /// A grant of no call, for good.
    #[must_use]
    pub fn new(rule: Rule, scope: GrantScope, by: By, created_at: i64) -> Self {
        Self {
            id: ids::ask_id(),
            ask: String::new(),
            rule,
            scope,
            agent: String::new(),
            session: String::new(),
            owner: None,
            folder: None,
            by,
            created_at,
            expires_at: None,
            digest: None,
            in_file: false,
        }
    }

    /// The same, given on this ask to the session of this call.
    #[must_use]
    pub fn given_on(self, ask: &Ask, call: &Call) -> Self {
        let agent = call.agent.clone();
        let session = call.session.clone();
        let owner = call.owner.clone();
        Self { ask: ask.id.clone(), agent, session, owner, ..self }
    }

    /// What it covers, as people read it.
    #[must_use]
    pub fn covers(&self) -> String {
        match self.folder.as_deref().filter(|folder| !folder.is_empty()) {
            Some(folder) => format!("{} in {folder}", self.rule),
            None => self.rule.to_string(),
        }
    }
}

/// Notes at the ask of one call, in the transaction that spends its grant, that the call starts.
async fn note_start(tx: &mut Tx, ask: &str, started: Execution) -> Result<(), StoreError> {
    let seen = asks::fetch(tx, ask).await?.filter(|ask| ask.body.call.budget.is_none());
    let Some((version, answer)) = seen.as_ref().and_then(|ask| Some((ask.version, ask.answer()?)))
    else {
        return Ok(());
    };
    let answer = Answer { execution: Some(started), ..answer.clone() };
    let update = "UPDATE ask SET answer = $3, version = version + 1 WHERE id = $1 AND version = $2";
    let update = sqlx::query(update).bind(ask).bind(version).bind(to_json("answer", &answer)?);
    if tx.run(update).await? > 0 {
        cards::want(tx, ask).await?;
    }
    Ok(())
}

pub(super) fn grant(row: &AnyRow) -> Result<Grant, StoreError> {
    let scope: String = row.try_get("scope")?;
    let unknown = || sqlx::Error::Decode(format!("scope `{scope}`").into());
    let scope = GrantScope::of_word(&scope).ok_or_else(unknown)?;
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
        folder: row.try_get("folder")?,
        by: from_json(row, "granted_by")?,
        created_at: row.try_get("created_at")?,
        expires_at: row.try_get("expires_at")?,
        digest: row.try_get("digest")?,
        in_file: row.try_get::<i64, _>("written")? != NOWHERE,
    })
}

pub(super) async fn insert(tx: &mut Tx, grant: &Grant) -> Result<(), StoreError> {
    let insert = sqlx::query(
        "INSERT INTO grants (id, ask, tool, pattern, scope, agent, session, granted_by, \
         created_at, expires_at, written, owner, undo_until, digest, folder) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)",
    )
    .bind(&grant.id)
    .bind(&grant.ask)
    .bind(&grant.rule.tool)
    .bind(&grant.rule.pattern)
    .bind(grant.scope.word())
    .bind(&grant.agent)
    .bind(&grant.session)
    .bind(to_json("granted_by", &grant.by)?)
    .bind(grant.created_at)
    .bind(grant.expires_at)
    .bind(if grant.in_file { UNWRITTEN } else { NOWHERE })
    .bind(grant.owner.as_ref().map(|owner| owner.as_str().to_owned()))
    .bind(grant.created_at + UNDO_MS)
    .bind(&grant.digest)
    .bind(&grant.folder);
    tx.run(insert).await.map(drop)
}

/// Revokes a grant and returns it, unless it is revoked; `why` is for the log.
async fn revoke(tx: &mut Tx, id: &str, at: i64, why: Value) -> Result<Option<Grant>, StoreError> {
    let revoke = sqlx::query(
        "UPDATE grants SET revoked_at = $2, \
         written = CASE WHEN written = 1 THEN 1 ELSE 3 END \
         WHERE id = $1 AND revoked_at IS NULL RETURNING *",
    );
    let revoke = revoke.bind(id.to_owned()).bind(at);
    let Some(row) = tx.maybe(revoke).await? else { return Ok(None) };
    let gone = grant(&row)?;
    let mut data = json!({"grant": gone.id, "rule": gone.rule.to_string()});
    if let (Some(data), Value::Object(why)) = (data.as_object_mut(), why) {
        data.extend(why);
    }
    let ask = Some(gone.ask.as_str()).filter(|ask| !ask.is_empty());
    log::append(tx, at, "revoked", ask, &data).await?;
    Ok(Some(gone))
}

async fn has_room(tx: &mut Tx, agent: &str, most: OpenReviews) -> Result<bool, StoreError> {
    let all = "SELECT count(*) AS asks FROM ask WHERE state = 'open' AND reviewed IS NOT NULL";
    if tx.count(sqlx::query(all)).await? >= most.of_all {
        return Ok(false);
    }
    let of_agent = "SELECT count(*) AS asks FROM ask WHERE state = 'open' AND reviewed = $1";
    Ok(tx.count(sqlx::query(of_agent).bind(agent.to_owned())).await? < most.of_agent)
}

/// What the log says of a review.
fn about(ask: &Ask, review: &CallReview) -> Value {
    json!({"agent": review.agent, "session": review.session, "tool": ask.body.call.tool,
        "digest": review.digest, "allowed_at": review.at, "through": review.through})
}

/// Does what the answer of a review says, in the transaction of the answer.
// INVARIANT: an answer of a review changes nothing, or makes calls ask; it allows nothing.
pub(super) async fn review_ended(
    tx: &mut Tx,
    ask: &Ask,
    review: &CallReview,
    answer: &Answer,
) -> Result<(), StoreError> {
    let is_person = matches!(answer.by, By::Person { .. });
    let outcome = match (&ask.state, answer.decision) {
        (State::Answered(_), Decision::Deny) if is_person => "should_have_asked",
        (State::Answered(_), _) if is_person => "fine",
        (State::Cancelled(_), _) => "cancelled",
        _ => "not_reviewed",
    };
    let mut data = about(ask, review);
    let mut note = |key: &str, value: Value| {
        if let Some(data) = data.as_object_mut() {
            data.insert(key.to_owned(), value);
        }
    };
    note("outcome", json!(outcome));
    note("by", json!(answer.by));
    if outcome == "should_have_asked" {
        match &review.tightening {
            Tightening::Revoke { grant, .. } => {
                let why = json!({"by": answer.by, "review": ask.id});
                let revoked = revoke(tx, grant, answer.at, why).await?;
                note("revoked", json!(revoked.map(|grant| grant.id)));
            }
            Tightening::Ask { rule } => {
                store_review(tx, ask, rule, answer).await?;
                note("asks", json!(rule.to_string()));
            }
        }
    }
    log::append(tx, answer.at, "reviewed", Some(&ask.id), &data).await
}

/// Stores a rule that makes calls ask, unless the same is in force.
async fn store_review(
    tx: &mut Tx,
    ask: &Ask,
    rule: &Rule,
    answer: &Answer,
) -> Result<(), StoreError> {
    let same = sqlx::query(
        "SELECT 1 AS one FROM grants WHERE scope = 'review' AND revoked_at IS NULL \
         AND tool = $1 AND pattern = $2",
    );
    let same = same.bind(rule.tool.clone()).bind(rule.pattern.clone());
    if tx.maybe(same).await?.is_some() {
        return Ok(());
    }
    let new = Grant::new(rule.clone(), GrantScope::Review, answer.by.clone(), answer.at);
    // The card names it before it exists.
    let id = ask.id.clone();
    let agent = REVIEWER.to_owned();
    insert(tx, &Grant { id: id.clone(), ask: id, agent, ..new }).await
}

#[cfg(test)]
mod tests;
