//! Grants: made by an answer, kept in the store, written to the rules file where they are for ever.

use super::{
    approvers::{Stranger, Who, person},
    ask::{Ask, Scope},
    evaluate::Evaluator,
    in_force::InForce,
};
use countersign_policy::Verdict;
use countersign_profiles::GrantLifetime;
use countersign_store::{Grant, GrantScope, Store, StoreError};
use countersign_tokens::clock;
use std::sync::Arc;

/// What became of a revocation.
#[derive(Debug)]
#[must_use]
pub enum Revoked {
    /// It no longer holds.
    Done(Box<Grant>),
    /// The store forgot it, but the rule is still in the file, for this reason.
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
    pub(super) in_force: Arc<InForce>,
    pub(super) evaluator: Arc<Evaluator>,
    /// Held while the rules file is brought up to what the store says: a rule that is revoked
    /// meanwhile is not written after it was taken out.
    pub(super) file: tokio::sync::Mutex<()>,
}

impl StoredGrants {
    /// Revokes a grant; it stops covering calls at once.
    ///
    /// # Errors
    /// When the store fails.
    pub(super) async fn revoke(&self, id: &str, who: Who) -> Result<Revoked, StoreError> {
        let approver = match self.in_force.admit(who) {
            Ok(approver) => approver,
            Err(stranger) => return Ok(Revoked::NotAllowed(stranger)),
        };
        let by = Some(person(&approver));
        let Some(grant) = self.store.revoke_grant(id, by, clock::now_ms()).await? else {
            return Ok(Revoked::Unknown);
        };
        if let Err(problem) = self.remove_pending().await {
            return Ok(Revoked::FileKeepsIt(Box::new(grant), problem));
        }
        Ok(Revoked::Done(Box::new(grant)))
    }

    /// Takes the rules of revoked grants out of the rules file, unless another grant in force has
    /// the same rule. What cannot be taken out is tried again at the next revocation and the next
    /// start; why is returned.
    // INVARIANT: a rule that was revoked is out of the file in the end, though the process dies
    // between the commit and the file.
    pub(super) async fn remove_pending(&self) -> Result<(), String> {
        if self.store.is_shared() {
            return Ok(());
        }
        let _one_at_a_time = self.file.lock().await;
        self.try_remove_pending().await.map_err(|error| error.to_string())?
    }

    async fn try_remove_pending(&self) -> Result<Result<(), String>, StoreError> {
        let mut kept = Ok(());
        let gone = self.store.unremoved_grants().await?;
        if gone.is_empty() {
            return Ok(kept);
        }
        let in_force = self.store.grants(clock::now_ms()).await?;
        for grant in gone {
            let worker = self.worker_of(&grant).await?;
            let mut needed = false;
            for other in in_force.iter().filter(|other| other.scope == GrantScope::Always) {
                needed |= other.rule == grant.rule && self.worker_of(other).await? == worker;
            }
            let removed = match needed {
                true => None,
                false => self.in_force.now().policy.remove(worker.as_deref(), &grant.rule),
            };
            match removed {
                None | Some(Ok(())) => self.store.grant_removed(&grant.id).await?,
                Some(Err(problem)) => {
                    let grant = &grant.id;
                    tracing::warn!(%grant, problem, "a revoked rule is still in the file");
                    kept = Err(problem);
                }
            }
        }
        Ok(kept)
    }

    /// For each grant why it does not hold: the rules file is what rules, and people edit it.
    pub(super) fn missing(&self, grants: &[Grant]) -> Vec<Option<String>> {
        let shared = self.store.is_shared();
        let in_file = |grant: &&Grant| grant.scope == GrantScope::Always && !shared;
        let lacks = |grant: &Grant| {
            Some(grant)
                .filter(in_file)
                .and_then(|grant| self.in_force.now().policy.lacks(&grant.rule))
        };
        grants.iter().map(lacks).collect()
    }

    /// Writes to the rules file what a crash kept from being written.
    ///
    /// # Errors
    /// When the store fails.
    pub(super) async fn write_pending(&self) -> Result<(), StoreError> {
        if self.store.is_shared() {
            return Ok(());
        }
        // One that stays says why in the log; the next start tries again.
        let _ = self.remove_pending().await;
        let _one_at_a_time = self.file.lock().await;
        for grant in self.store.unwritten_grants().await? {
            let worker = self.worker_of(&grant).await?;
            match self
                .in_force
                .now()
                .policy
                .append(worker.as_deref(), std::slice::from_ref(&grant.rule))
            {
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
            let _one_at_a_time = self.file.lock().await;
            let grants = match self.store.unwritten_grants().await {
                Ok(grants) => grants,
                Err(error) => return Ok(Some(unchecked(&error))),
            };
            let ours: Vec<_> = grants.into_iter().filter(|grant| grant.ask == ask.id).collect();
            let rules: Vec<_> = ours.iter().map(|grant| grant.rule.clone()).collect();
            let worker = ask.body.call.worker.as_deref();
            match self.in_force.now().policy.append(worker, &rules) {
                None => {}
                Some(Ok(())) => self.note_written(&ours).await,
                Some(Err(problem)) => {
                    tracing::warn!(ask_id = %ask.id, problem, "Always could not be stored");
                    for grant in &ours {
                        let _ = self.store.revoke_grant(&grant.id, None, clock::now_ms()).await;
                        let _ = self.store.grant_removed(&grant.id).await;
                    }
                    return Err(problem);
                }
            }
        }
        if answer.stored.parts.is_some() {
            // What was left out asks again, as its approver wants it.
            return Ok(None);
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

    /// Writes the rule of a grant without an ask to the file. Where it cannot be written the grant
    /// is taken back; why is the error.
    pub(super) async fn write_saved(&self, grant: &Grant) -> Result<(), String> {
        if self.store.is_shared() {
            return Ok(());
        }
        let _one_at_a_time = self.file.lock().await;
        let rules = std::slice::from_ref(&grant.rule);
        match self.in_force.now().policy.append(None, rules) {
            None => {}
            Some(Ok(())) => self.note_written(std::slice::from_ref(grant)).await,
            Some(Err(problem)) => {
                tracing::warn!(grant = %grant.id, problem, "a rule could not be saved");
                let _ = self.store.revoke_grant(&grant.id, None, clock::now_ms()).await;
                let _ = self.store.grant_removed(&grant.id).await;
                return Err(problem);
            }
        }
        Ok(())
    }

    /// Takes a grant back that does not do what it says.
    pub(super) async fn take_back(&self, grant: &Grant) -> Result<(), StoreError> {
        self.store.revoke_grant(&grant.id, None, clock::now_ms()).await?;
        // What is still in the file is taken out at the next start, and holds nothing meanwhile.
        let _ = self.remove_pending().await;
        Ok(())
    }

    /// Where it fails the rules are written once more at the next start, which changes nothing.
    async fn note_written(&self, grants: &[Grant]) {
        for grant in grants {
            if let Err(error) = self.store.grant_written(&grant.id).await {
                tracing::warn!(grant = %grant.id, %error, "a written grant is not noted as such");
            }
        }
    }
}

fn unchecked(error: &dyn std::fmt::Display) -> String {
    format!("But it could not be checked that its rule holds: {error}")
}
