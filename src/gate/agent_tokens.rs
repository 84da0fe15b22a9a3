//! Agents with tokens of their own: who makes and revokes them, and what becomes of their calls.

use super::{
    SubmitError,
    agent_names::{looks_like, name_taken},
    approvers::{Stranger, Who},
    ask::{Ask, By, owner::Owner},
    attach::Callers,
    call::Call,
    in_force::InForce,
    open_asks::{OpenAsks, to_the_end},
    token_scopes::not_for_this,
};
use countersign_store::{
    AgentLimits, AgentScope, AgentToken, NewAgentToken, NewAsk, Reads, StoreError,
};
use countersign_tokens::{
    clock, ids,
    secret::{Secret, TokenHash},
};
use std::{sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

/// How often it is looked for open asks of agents whose token has ended.
const LOOK: Duration = Duration::from_secs(5);

/// What became of a change of an agent's token.
#[derive(Debug)]
#[must_use]
pub enum TokenOutcome {
    /// It is done. The new token itself, where there is one, is shown this one time.
    Done(Box<AgentToken>, Option<Secret>),
    /// No agent of this name has a token.
    Unknown,
    /// An agent of this name has one.
    NameTaken,
    /// This daemon does not have what it would be for; the sentence says what.
    Unfit(String),
    /// Only approvers change tokens.
    NotAllowed(Stranger),
}

/// The tokens of agents.
#[derive(Debug)]
pub struct AgentTokens {
    pub(super) open: Arc<OpenAsks>,
    pub(super) in_force: Arc<InForce>,
    pub(super) callers: Arc<Callers>,
}

impl AgentTokens {
    /// Makes a token for an agent with a new name.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn add(
        &self,
        name: &str,
        reads: Reads,
        expires_at: Option<i64>,
        limits: AgentLimits,
        scope: AgentScope,
        who: Who,
    ) -> Result<TokenOutcome, StoreError> {
        let by = match self.person(who) {
            Ok(by) => by,
            Err(stranger) => return Ok(TokenOutcome::NotAllowed(stranger)),
        };
        if let Err(why) = self.in_force.now().fit(&scope) {
            return Ok(TokenOutcome::Unfit(format!("the token {why}")));
        }
        let names = self.open.store.names_with_token().await?;
        if let Some(like) = names.iter().find(|it| *it != name && looks_like(name, it)) {
            let why = format!("people would take `{name}` for `{like}`, which has a token");
            return Ok(TokenOutcome::Unfit(why));
        }
        let (secret, hash) = fresh();
        let (id, name) = (ids::nonce(), name.to_owned());
        let new = NewAgentToken { id, name, hash, reads, by, expires_at, limits, scope };
        Ok(match self.open.store.add_agent_token(new, clock::now_ms()).await? {
            Some(token) => TokenOutcome::Done(Box::new(token), Some(secret)),
            None => TokenOutcome::NameTaken,
        })
    }

    /// Gives an agent another token; the one before is accepted for `overlap` longer.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn rotate(
        &self,
        name: &str,
        overlap: Duration,
        who: Who,
    ) -> Result<TokenOutcome, StoreError> {
        let by = match self.person(who) {
            Ok(by) => by,
            Err(stranger) => return Ok(TokenOutcome::NotAllowed(stranger)),
        };
        let ((secret, hash), now) = (fresh(), clock::now_ms());
        let until = now.saturating_add(i64::try_from(overlap.as_millis()).unwrap_or(0));
        let rotated = self.open.store.rotate_agent_token(name, &hash, until, &by, now).await?;
        Ok(rotated.map_or(TokenOutcome::Unknown, |token| {
            TokenOutcome::Done(Box::new(token), Some(secret))
        }))
    }

    /// Revokes an agent's token and cancels what it still asks.
    ///
    /// # Errors
    /// When the store fails; where the token was revoked, its asks are cancelled in a moment.
    pub async fn revoke(&self, name: &str, who: Who) -> Result<TokenOutcome, StoreError> {
        let by = match self.person(who) {
            Ok(by) => by,
            Err(stranger) => return Ok(TokenOutcome::NotAllowed(stranger)),
        };
        let (open, callers, name) = (self.open.clone(), self.callers.clone(), name.to_owned());
        // A commit that began is finished, though the caller disconnects.
        to_the_end(async move {
            let revoked = open.store.revoke_agent_token(&name, &by, clock::now_ms()).await?;
            let Some(token) = revoked else { return Ok(TokenOutcome::Unknown) };
            tracing::warn!(agent = %name, by = %by, "an agent's token was revoked");
            cancel_of(&open, &callers, &name).await?;
            Ok(TokenOutcome::Done(Box::new(token), None))
        })
        .await
    }

    /// The call under the name of the token that it brings, and that token.
    ///
    /// # Errors
    /// [`SubmitError::NotThisAgent`] where the token is not accepted any more, or a caller without
    /// it takes its name.
    // SECURITY: names of agents are widely known. Who has no token takes nobody's name who has one.
    pub(super) async fn named(
        &self,
        call: Call,
    ) -> Result<(Call, Option<AgentToken>), SubmitError> {
        let store = &self.open.store;
        let Some(id) = call.owner.as_ref().and_then(Owner::token) else {
            if let Some(why) = name_taken(store, &call.agent).await? {
                return Err(SubmitError::NotThisAgent(why));
            }
            return Ok((Call { claims: None, ..call }, None));
        };
        let token = store.agent_token(id).await?;
        // FAIL-CLOSED: a token without a row names no agent.
        let accepted = token.ok_or("its token is not known any more");
        let accepted = accepted
            .and_then(|token| token.is_accepted(clock::now_ms()).map(|()| token))
            .map_err(|why| SubmitError::NotThisAgent(format!("this agent is refused: {why}")))?;
        self.in_force.now().fit(&accepted.scope).map_err(|why| not_for_this(&why))?;
        let claims = Some(call.agent).filter(|claims| *claims != accepted.name);
        Ok((Call { agent: accepted.name.clone(), claims, ..call }, Some(accepted)))
    }

    /// The new ask, cancelled where its token was revoked while it was stored.
    // INVARIANT: a revocation either finds the stored ask, or is found here.
    pub(super) async fn checked(&self, ask: Ask) -> Result<Ask, StoreError> {
        let Some(id) = ask.body.owner.as_ref().and_then(Owner::token) else { return Ok(ask) };
        let token = self.open.store.agent_token(id).await?;
        let Some(why) = why_refused(token.as_ref()) else { return Ok(ask) };
        Ok(self.callers.cancel(&ask.id, why).await?.unwrap_or(ask))
    }

    /// Cancels what agents still ask whose token has ended, until told to stop.
    pub async fn cancel_ended(&self, stop: CancellationToken) {
        while stop.run_until_cancelled(tokio::time::sleep(LOOK)).await.is_some() {
            if let Err(error) = self.cancel_ended_now().await {
                tracing::debug!(%error, "asks of agents without a token stay open for now");
            }
        }
    }

    async fn cancel_ended_now(&self) -> Result<(), StoreError> {
        for name in self.open.store.agents_without_token(clock::now_ms()).await? {
            cancel_of(&self.open, &self.callers, &name).await?;
        }
        Ok(())
    }

    fn person(&self, who: Who) -> Result<By, Stranger> {
        Ok(super::answer::person(&self.in_force.admit(who)?))
    }
}

/// Whether a caller that comes back under a key means this ask.
// SECURITY: an agent that guesses another's key is never given its ask.
pub(super) fn is_same(known: &Ask, new: &NewAsk) -> bool {
    let owners = known.body.owner.as_ref().zip(new.body.owner.as_ref());
    known.digest == new.digest && owners.is_none_or(|(known, new)| known.is_of_handle(new))
}

/// Cancels the open asks of agents with this name whose token is not accepted.
async fn cancel_of(open: &OpenAsks, callers: &Callers, name: &str) -> Result<(), StoreError> {
    for id in open.store.open_of_agent(name).await? {
        let Some(ask) = open.store.whole_ask(&id).await? else { continue };
        // One of another token with this name, or of nobody's, is left alone.
        let owner = ask.body.owner.as_ref().and_then(Owner::token);
        let Some(token) = owner.or(ask.body.resumes.as_deref()) else { continue };
        let token = open.store.agent_token(token).await?;
        if let Some(why) = why_refused(token.as_ref()) {
            callers.cancel(&id, why).await?;
        }
    }
    Ok(())
}

pub(super) fn why_refused(token: Option<&AgentToken>) -> Option<&'static str> {
    match token {
        Some(token) => token.is_accepted(clock::now_ms()).err(),
        None => Some("its token is not known any more"),
    }
}

fn fresh() -> (Secret, TokenHash) {
    let token = ids::token();
    (Secret::new(token.clone()), TokenHash::of(&token))
}
