//! Calls that were approved ahead: each is spent once.

use super::{Grant, Store, StoreError, changes::pause_held, events, grants};
use countersign_domain::owner::Owner;
use serde_json::json;

impl Store {
    /// The grants in force for exactly this call, by its digest, of this owner; oldest first.
    ///
    /// # Errors
    /// When the store fails or a row does not read back.
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
        let rows = self.all(found.bind(digest).bind(now)).await?;
        let grants = rows.iter().map(grants::grant).collect::<Result<Vec<_>, _>>()?;
        Ok(grants.into_iter().filter(|grant| grant.owner.as_ref() == owner).collect())
    }

    /// Spends a grant of a budget, unless it is spent, revoked or over, or everything is paused;
    /// whether it was spent now.
    ///
    /// # Errors
    /// When the store fails; then nothing was spent, or it is not known.
    // INVARIANT: of many that spend a grant at once, at most one does.
    // FAIL-CLOSED: while everything is paused nothing is approved.
    pub async fn spend(&self, grant: &Grant, call: &str, now: i64) -> Result<bool, StoreError> {
        let (grant, call) = (grant.clone(), call.to_owned());
        let spent = self.write(move |tx| {
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
                if spend.execute(&mut **tx).await?.rows_affected() == 0 {
                    return Ok(false);
                }
                let data = json!({"grant": grant.id, "agent": grant.agent,
                    "session": grant.session, "digest": grant.digest});
                events::append(tx, now, "budget_used", Some(&grant.ask), &data).await?;
                Ok(true)
            })
        });
        let spent = spent.await?;
        self.tell();
        Ok(spent)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]
    use super::*;
    use crate::{
        Closed, GrantScope,
        engines::on_both,
        tests::{answered, new_ask},
    };
    use countersign_domain::{
        By, Decision,
        pause::{Pause, PauseMode},
    };
    use countersign_policy::Rule;

    async fn granted(store: &Store, id: &str) -> Grant {
        let crate::Inserted::New(ask) =
            store.insert_ask(&new_ask(id, None, None), &[]).await.unwrap()
        else {
            panic!("known")
        };
        let grant = Grant {
            id: format!("g-{id}"),
            ask: id.to_owned(),
            rule: Rule::allow("shell_exec", "make"),
            scope: GrantScope::Budget,
            agent: "a".to_owned(),
            session: "s".to_owned(),
            owner: Some(Owner::by("tcp:agent")),
            by: By::Timeout,
            created_at: 10,
            expires_at: Some(1_000),
            digest: Some("d1".to_owned()),
        };
        let yes = answered(Decision::Approve, 10);
        let closed = store.close_ask(&ask, &yes, std::slice::from_ref(&grant)).await.unwrap();
        assert!(matches!(closed, Closed::Won(_)));
        grant
    }

    #[tokio::test]
    async fn of_many_at_once_one_spends_a_grant_and_none_does_in_a_pause_or_after_its_end() {
        on_both(async |store| {
            let grant = granted(&store, "one").await;
            let owner = Owner::by("tcp:agent");
            let found = store.budget_for("d1", Some(&owner), 20).await.unwrap();
            assert_eq!(found, std::slice::from_ref(&grant));
            for other in [None, Some(&Owner::by("unix:agent"))] {
                assert_eq!(store.budget_for("d1", other, 20).await.unwrap(), []);
            }
            assert_eq!(store.budget_for("d1", Some(&owner), 1_000).await.unwrap(), [], "over");
            assert_eq!(store.budget_for("d2", Some(&owner), 20).await.unwrap(), [], "another call");
            let rules = store.session_context("a", "s", 20).await.unwrap().grants;
            assert_eq!(rules, [], "it is no rule");
            assert!(!store.spend(&grant, "make", 1_000).await.unwrap(), "over");
            let pause = Pause { mode: PauseMode::Hold, by: By::Timeout, since: 20 };
            store.set_pause(&pause).await.unwrap();
            assert!(!store.spend(&grant, "make", 30).await.unwrap(), "paused");
            store.end_pause(&By::Timeout, 40).await.unwrap();
            let tries = (0..8).map(|_| {
                let (store, grant) = (store.clone(), grant.clone());
                tokio::spawn(async move { store.spend(&grant, "make", 50).await.unwrap() })
            });
            let tried = futures::future::join_all(tries).await;
            assert_eq!(tried.into_iter().filter(|it| *it.as_ref().unwrap()).count(), 1);
            assert_eq!(store.grants(60).await.unwrap(), [], "spent is not in force");

            let revoked = granted(&store, "two").await;
            store.revoke_grant(&revoked.id, None, 20).await.unwrap().unwrap();
            assert!(!store.spend(&revoked, "make", 30).await.unwrap(), "revoked");
        })
        .await;
    }
}
