//! Limits of agents by name: an agent that asks more than it may is paused, and one card asks
//! people whether to resume it.

use super::{
    AgentTokens, Gate, SubmitError,
    answer::{Action, person},
    approvers::{Stranger, Who},
    ask::{Ask, Body, Scope},
    call::Call,
    reply::Told,
    submit::Submissions,
};
use countersign_policy::{Decision, Verdict};
use countersign_store::{AgentLimit, AgentPause, AgentToken, StoreError};
use countersign_tokens::{clock, ids};
use serde_json::json;
use std::sync::Arc;

/// The tool that the card's call names.
const TOOL: &str = "resume_agent";

impl Submissions {
    /// The denial of a call whose agent is paused, unless its caller comes back to an ask that it
    /// has.
    pub(super) async fn while_agent_paused(
        &self,
        call: &Call,
        token: &AgentToken,
    ) -> Result<Option<Decision>, StoreError> {
        let Some(pause) = &token.pause else { return Ok(None) };
        if self.is_known(call).await? {
            return Ok(None);
        }
        Ok(Some(self.denied_by_limit(call, &token.name, &pause.why)))
    }

    /// Pauses an agent that would break a limit, unless it is paused; the denial of its call.
    // FAIL-CLOSED: the call is denied though the pause could not be stored.
    pub(super) async fn over_limit(
        &self,
        call: &Call,
        token: &AgentToken,
        limit: AgentLimit,
    ) -> Result<Decision, SubmitError> {
        let why = match (limit, self.open.store.agent_token(&token.id).await?) {
            (AgentLimit::Paused, Some(AgentToken { pause: Some(pause), .. })) => pause.why,
            (limit, _) => limit.to_string(),
        };
        if limit != AgentLimit::Paused {
            self.pause_agent(call, token, &why).await?;
        }
        Ok(self.denied_by_limit(call, &token.name, &why))
    }

    async fn pause_agent(
        &self,
        call: &Call,
        token: &AgentToken,
        why: &str,
    ) -> Result<(), SubmitError> {
        let title = format!("{} is paused: {why}", token.name);
        // Nobody names this session: the agent could cancel what is asked in one of its own.
        let session = format!("limits-{}", ids::nonce());
        let resumption = Call {
            host: call.host.clone(),
            ..Call::new(&token.name, session, TOOL, json!({ "title": title }))
        };
        let facts = countersign_policy::decision::facts(&resumption.for_policy(None));
        let handling = self.evaluator.handling(&resumption, &facts).await;
        let body = Body {
            choices: Vec::new(),
            // Whoever may answer at all may make an agent's token, too.
            plan: handling.plan,
            steps: handling.steps,
            resumes: Some(token.id.clone()),
            ..Body::new(resumption, title)
        };
        // It waits until somebody answers.
        let new = self.open.own(body, clock::now_ms(), None);
        let _opening = self.in_force.opening().await;
        let cards = self.in_force.now().cards(new.body.plan.as_ref());
        if self.open.store.pause_agent(token, why, &new, &cards).await?.is_some() {
            tracing::warn!(agent = %token.name, why, "an agent is paused");
            self.open.load.is_outdated();
            self.open.changed();
        }
        Ok(())
    }

    fn denied_by_limit(&self, call: &Call, name: &str, why: &str) -> Decision {
        let mut denial = countersign_policy::decision::facts(&call.for_policy(None));
        (denial.verdict, denial.rule) = (Verdict::Deny, None);
        denial.reason = format!(
            "the agent `{name}` is paused: {why}. Nothing of it runs until a person resumes it, \
             on its card or with `countersign token resume {name}`"
        );
        denial
    }
}

/// What became of an attempt to resume an agent.
#[derive(Debug)]
#[must_use]
pub enum AgentResumed {
    /// Its calls are taken again.
    Done(Box<AgentToken>),
    /// It was not paused.
    NotPaused,
    /// No agent of this name has a token.
    Unknown,
    /// Only approvers resume agents.
    NotAllowed(Stranger),
    /// It is still paused, for the reason in this sentence.
    StillPaused(String),
}

impl Gate {
    /// The tokens of agents.
    #[must_use]
    pub fn agent_tokens(&self) -> &Arc<AgentTokens> {
        &self.agent_tokens
    }

    /// Resumes an agent that a limit has paused: answers the ask for it, where that is open.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn resume_agent(&self, name: &str, who: Who) -> Result<AgentResumed, StoreError> {
        let by = match self.admit(who.clone()) {
            Ok(approver) => person(&approver),
            Err(stranger) => return Ok(AgentResumed::NotAllowed(stranger)),
        };
        let store = &self.open.store;
        let Some(token) = store.agent_token_named(name).await? else {
            return Ok(AgentResumed::Unknown);
        };
        let Some(AgentPause { ask, .. }) = &token.pause else { return Ok(AgentResumed::NotPaused) };
        let asked = store.whole_ask(ask).await?.filter(Ask::is_open);
        if let Some(asked) = asked {
            let reply = self.answer(asked, who, Action::Approve { scope: Scope::Once }).await;
            if reply.told != Told::Applied {
                return Ok(AgentResumed::StillPaused(reply.sentence));
            }
        } else {
            // It was answered with no, or is forgotten.
            store.resume_agent(name, &by, clock::now_ms()).await?;
        }
        self.open.changed();
        let token = store.agent_token_named(name).await?;
        Ok(token.map_or(AgentResumed::Unknown, |token| AgentResumed::Done(Box::new(token))))
    }
}
