//! Grants: made by an answer, kept in the store, written to the rules file where they are for ever.

use super::{
    Policy,
    approvers::{Approvers, Stranger, Who},
    ask::{Ask, Scope},
    evaluate::Evaluator,
};
use crate::{
    clock,
    store::{Grant, GrantScope, Store, StoreError},
};
use countersign_policy::Verdict;
use countersign_profiles::GrantLifetime;
use std::sync::Arc;

/// What became of a revocation.
#[derive(Debug)]
#[must_use]
pub enum Revoked {
    /// It no longer holds.
    Done(Box<Grant>),
    /// The store forgot it, but the rule still stands in the file, for this reason.
    FileKeepsIt(Box<Grant>, String),
    /// There is no such grant in force.
    Unknown,
    /// Only approvers revoke.
    NotAllowed(Stranger),
}

/// The grants in the store, and their rules in the file.
#[derive(Debug)]
pub(super) struct StoredGrants {
    pub(super) store: Store,
    pub(super) policy: Arc<Policy>,
    pub(super) approvers: Arc<Approvers>,
    pub(super) evaluator: Arc<Evaluator>,
}

impl StoredGrants {
    /// Revokes a grant; it stops covering calls at once.
    ///
    /// # Errors
    /// When the store fails.
    pub(super) async fn revoke(&self, id: &str, who: Who) -> Result<Revoked, StoreError> {
        if let Err(stranger) = self.approvers.admit(who) {
            return Ok(Revoked::NotAllowed(stranger));
        }
        let Some(grant) = self.store.revoke_grant(id, clock::now_ms()).await? else {
            return Ok(Revoked::Unknown);
        };
        if grant.scope == GrantScope::Always && !self.store.is_shared() {
            let worker = self.worker_of(&grant).await?;
            if let Some(Err(problem)) = self.policy.remove(worker.as_deref(), &grant.rule) {
                return Ok(Revoked::FileKeepsIt(Box::new(grant), problem));
            }
        }
        Ok(Revoked::Done(Box::new(grant)))
    }

    /// Writes to the rules file what a crash kept from being written.
    ///
    /// # Errors
    /// When the store fails.
    pub(super) async fn write_pending(&self) -> Result<(), StoreError> {
        if self.store.is_shared() {
            return Ok(());
        }
        for grant in self.store.unwritten_grants().await? {
            let worker = self.worker_of(&grant).await?;
            match self.policy.append(worker.as_deref(), std::slice::from_ref(&grant.rule)) {
                None => return Ok(()),
                Some(Ok(())) => self.store.grant_written(&grant.id).await?,
                Some(Err(problem)) => {
                    tracing::warn!(grant = %grant.id, problem, "a grant is not written")
                }
            }
        }
        Ok(())
    }

    /// The worker whose call a grant was made for.
    async fn worker_of(&self, grant: &Grant) -> Result<Option<String>, StoreError> {
        Ok(self.store.ask(&grant.ask).await?.and_then(|ask| ask.body.call.worker))
    }

    /// Writes the rules of an Always to the file, and rules on the call again. `Some` says in what
    /// way the grant does not do what its button said.
    // INVARIANT: a grant that is committed holds, and no trouble after it is told as if it did not.
    pub(super) async fn store_always(&self, ask: &Ask) -> Result<Option<String>, String> {
        let Some(answer) = ask.answer() else { return Ok(None) };
        if answer.scope.is_none_or(|scope| scope == Scope::Once) {
            return Ok(None);
        }
        if ask.body.lasts == GrantLifetime::Durable
            && matches!(answer.scope, Some(Scope::Always | Scope::Exact))
            && !self.store.is_shared()
        {
            let grants = match self.store.unwritten_grants().await {
                Ok(grants) => grants,
                Err(error) => return Ok(Some(unchecked(&error))),
            };
            let ours: Vec<_> = grants.into_iter().filter(|grant| grant.ask == ask.id).collect();
            let rules: Vec<_> = ours.iter().map(|grant| grant.rule.clone()).collect();
            let worker = ask.body.call.worker.as_deref();
            match self.policy.append(worker, &rules) {
                None => {}
                Some(Ok(())) => self.note_written(&ours).await,
                Some(Err(problem)) => {
                    tracing::warn!(ask_id = %ask.id, problem, "Always could not be stored");
                    for grant in &ours {
                        let _ = self.store.revoke_grant(&grant.id, clock::now_ms()).await;
                    }
                    return Err(problem);
                }
            }
        }
        let ruling = match self.evaluator.decide_anew(&ask.body.call).await {
            Ok(ruling) => ruling,
            Err(error) => return Ok(Some(unchecked(&error))),
        };
        Ok((ruling.verdict != Verdict::Allow).then(|| {
            format!(
                "But the stored rule does not win, the next such call asks again: {}",
                ruling.reason
            )
        }))
    }

    /// Where it fails the rules are written once more at the next start, which changes nothing.
    async fn note_written(&self, grants: &[Grant]) {
        for grant in grants {
            if let Err(error) = self.store.grant_written(&grant.id).await {
                tracing::warn!(grant = %grant.id, %error, "it is not noted that a grant was written");
            }
        }
    }
}

fn unchecked(error: &dyn std::fmt::Display) -> String {
    format!("But it could not be checked that its rule holds: {error}")
}
