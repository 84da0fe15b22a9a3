//! Reviews: asks about calls that ran without one, and what their answers change.

use super::{
    Grant, GrantScope, Inserted, NewAsk, NewCard, Store, StoreError, Tx, agent_limits::counted,
    asks, events, grants,
};
use countersign_domain::{
    Answer, Ask, By, Decision, State,
    review::{CallReview, REVIEWER, Tightening},
};
use countersign_policy::Rule;
use serde_json::{Value, json};

/// How many reviews may be open at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenReviews {
    /// Of the calls of one agent.
    pub of_agent: i64,
    /// Of all calls.
    pub of_all: i64,
}

impl Store {
    /// Stores the ask of a review and its cards; `None` where as many are open as may be.
    ///
    /// # Errors
    /// When the store fails; then nothing is stored.
    pub async fn insert_review(
        &self,
        new: &NewAsk,
        cards: &[NewCard],
        most: OpenReviews,
    ) -> Result<Option<Ask>, StoreError> {
        let Some(review) = new.body.review.clone() else { return Ok(None) };
        let (new, cards) = (new.clone(), cards.to_vec());
        let inserted = self.write(move |tx| {
            Box::pin(async move {
                if !has_room(tx, &review.agent, most).await? {
                    return Ok(None);
                }
                let ask = match asks::insert(tx, &new, &cards).await? {
                    Inserted::New(ask) => ask,
                    Inserted::Known(_) | Inserted::OverLimit(_) => return Ok(None),
                };
                let mark = sqlx::query("UPDATE ask SET reviewed = $2 WHERE id = $1");
                mark.bind(&ask.id).bind(&review.agent).execute(&mut **tx).await?;
                let data = about(&ask, &review);
                events::append(tx, new.created_at, "review", Some(&ask.id), &data).await?;
                Ok(Some(ask))
            })
        });
        let inserted = inserted.await?;
        self.tell();
        Ok(inserted)
    }
}

async fn has_room(tx: &mut Tx, agent: &str, most: OpenReviews) -> Result<bool, StoreError> {
    let all = "SELECT count(*) AS asks FROM ask WHERE state = 'open' AND reviewed IS NOT NULL";
    if counted(sqlx::query(all).fetch_one(&mut **tx).await?)? >= most.of_all {
        return Ok(false);
    }
    let of_agent = "SELECT count(*) AS asks FROM ask WHERE state = 'open' AND reviewed = $1";
    let open = sqlx::query(of_agent).bind(agent.to_owned()).fetch_one(&mut **tx).await?;
    Ok(counted(open)? < most.of_agent)
}

/// What the log says of a review.
fn about(ask: &Ask, review: &CallReview) -> Value {
    json!({"agent": review.agent, "session": review.session, "tool": ask.body.call.tool,
        "digest": review.digest, "allowed_at": review.at, "through": review.through})
}

/// Does what the answer of a review says, in the transaction of the answer.
// INVARIANT: an answer of a review changes nothing, or makes calls ask; it allows nothing.
pub(super) async fn ended(
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
                note("revoked", json!(revoke(tx, ask, grant, answer).await?.then_some(grant)));
            }
            Tightening::Ask { rule } => {
                store(tx, ask, rule, answer).await?;
                note("asks", json!(rule.to_string()));
            }
        }
    }
    events::append(tx, answer.at, "reviewed", Some(&ask.id), &data).await
}

/// Revokes the grant that let a call run; whether it was in force.
async fn revoke(tx: &mut Tx, ask: &Ask, id: &str, answer: &Answer) -> Result<bool, StoreError> {
    let revoke = sqlx::query(
        "UPDATE grants SET revoked_at = $2, \
         written = CASE WHEN scope = 'always' THEN 2 ELSE written END \
         WHERE id = $1 AND revoked_at IS NULL RETURNING *",
    );
    let revoke = revoke.bind(id.to_owned()).bind(answer.at);
    let Some(row) = revoke.fetch_optional(&mut **tx).await? else { return Ok(false) };
    let gone = grants::grant(&row)?;
    let data = json!({"grant": gone.id, "rule": gone.rule.to_string(), "by": answer.by,
        "review": ask.id});
    let of = Some(gone.ask.as_str()).filter(|ask| !ask.is_empty());
    events::append(tx, answer.at, "revoked", of, &data).await?;
    Ok(true)
}

/// Stores a rule that makes calls ask, unless the same is in force.
async fn store(tx: &mut Tx, ask: &Ask, rule: &Rule, answer: &Answer) -> Result<(), StoreError> {
    let same = sqlx::query(
        "SELECT 1 AS one FROM grants WHERE scope = 'review' AND revoked_at IS NULL \
         AND tool = $1 AND pattern = $2",
    );
    let same = same.bind(rule.tool.clone()).bind(rule.pattern.clone());
    if same.fetch_optional(&mut **tx).await?.is_some() {
        return Ok(());
    }
    let rule = Grant {
        // The card names it before it exists.
        id: ask.id.clone(),
        ask: ask.id.clone(),
        rule: rule.clone(),
        scope: GrantScope::Review,
        agent: REVIEWER.to_owned(),
        session: String::new(),
        owner: None,
        by: answer.by.clone(),
        created_at: answer.at,
        expires_at: None,
        digest: None,
    };
    grants::insert(tx, &rule).await
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]
    use super::*;
    use crate::{
        Closed,
        engines::on_both,
        tests::{answer, new_ask},
    };
    use countersign_domain::Body;

    const MOST: OpenReviews = OpenReviews { of_agent: 2, of_all: 3 };

    fn review(id: &str, agent: &str, tightening: Tightening) -> NewAsk {
        let new = new_ask(id, None, Some(100));
        let review = CallReview {
            agent: agent.to_owned(),
            session: "s".to_owned(),
            owner: None,
            worker: None,
            digest: "d".to_owned(),
            at: 1,
            through: "a rule".to_owned(),
            tightening,
        };
        NewAsk { body: Body { review: Some(Box::new(review)), ..new.body }, ..new }
    }

    fn asks(pattern: &str) -> Tightening {
        let rule = Rule { verdict: countersign_policy::Verdict::Ask, ..Rule::allow("t", pattern) };
        Tightening::Ask { rule }
    }

    fn ana() -> By {
        By::Person { platform: "api".into(), id: "1".into(), name: "Ana".into() }
    }

    async fn close(store: &Store, ask: &Ask, decision: Decision, at: i64) {
        let end = State::Answered(answer(decision, ana(), at));
        let Closed::Won(_) = store.close_ask(ask, &end, &[]).await.unwrap() else {
            panic!("{} was closed before", ask.id)
        };
    }

    #[tokio::test]
    async fn so_many_reviews_are_open_at_once_and_no_more() {
        on_both(async |store| {
            let open = async |id: &str, agent: &str| {
                store.insert_review(&review(id, agent, asks("*")), &[], MOST).await.unwrap()
            };
            let first = open("one", "a").await.unwrap();
            assert!(open("two", "a").await.is_some());
            assert_eq!(open("three", "a").await, None);
            assert!(open("four", "b").await.is_some());
            assert_eq!(open("five", "c").await, None);
            close(&store, &first, Decision::Approve, 5).await;
            assert!(open("six", "c").await.is_some());
            assert_eq!(store.ask("three").await.unwrap(), None);
            assert!(store.open_by_session().await.unwrap().is_empty(), "they count for nobody");
            let context = store.session_context("a", "s", 9).await.unwrap();
            assert!(context.reviewed.is_empty() && context.grants.is_empty());
        })
        .await;
    }

    #[tokio::test]
    async fn a_denial_stores_its_rule_once_for_every_session_and_as_no_grant() {
        on_both(async |store| {
            for (n, id) in ["one", "two"].into_iter().enumerate() {
                let new = review(id, "a", asks("x"));
                let ask = store.insert_review(&new, &[], MOST).await.unwrap().unwrap();
                close(&store, &ask, Decision::Deny, i64::try_from(n).unwrap() + 2).await;
            }
            let context = store.session_context("other", "elsewhere", 9).await.unwrap();
            assert!(context.grants.is_empty());
            let [rule] = context.reviewed.as_slice() else { panic!("{context:?}") };
            assert_eq!((rule.id.as_str(), rule.scope), ("one", GrantScope::Review));
            let Tightening::Ask { rule: wanted } = asks("x") else { return };
            assert_eq!(rule.rule, wanted);
            store.end_session(REVIEWER, "", 10).await.unwrap();
            assert_eq!(store.grants(11).await.unwrap().len(), 1, "no session ends it");
            assert!(store.unwritten_grants().await.unwrap().is_empty(), "no file has it");
            assert!(store.revoke_grant("one", Some(ana()), 12).await.unwrap().is_some());
            assert!(store.unremoved_grants().await.unwrap().is_empty());
            let context = store.session_context("a", "s", 13).await.unwrap();
            assert!(context.reviewed.is_empty());
        })
        .await;
    }
}
