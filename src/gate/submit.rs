//! Taking calls: what policy does not rule becomes an ask, with its caller.

use super::{
    AttachedCaller, SubmitError,
    agent_tokens::{AgentTokens, is_same},
    allowed::AllowedCalls,
    ask::{
        Ask, Body, Silence,
        pause::{Pause, PauseMode},
    },
    attach::Callers,
    call::Call,
    evaluate::Evaluator,
    expire::Deadlines,
    in_force::InForce,
    large, load,
    open_asks::OpenAsks,
    pause::sentence,
    reviews::Reviews,
    uses::GrantUses,
};
use countersign_policy::{Decision, Verdict};
use countersign_profiles::OnDisconnect;
use countersign_store::{Inserted, NewAsk, StoreError};
use countersign_tokens::{clock, ids};
use serde_json::json;
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// What became of a call.
#[derive(Debug)]
#[must_use]
pub enum SubmitOutcome {
    /// Policy ruled.
    Ruled(Box<Decision>),
    /// A person has to; with the caller that waits for it, if one does and the ask is open.
    Asked(Box<Ask>, Option<AttachedCaller>),
}

enum Opened {
    Ruled(Box<Decision>),
    Ask(Box<Ask>),
}

/// Takes calls.
#[derive(Debug)]
pub(super) struct Submissions {
    pub(super) open: Arc<OpenAsks>,
    pub(super) in_force: Arc<InForce>,
    pub(super) evaluator: Arc<Evaluator>,
    pub(super) deadlines: Arc<Deadlines>,
    pub(super) callers: Arc<Callers>,
    pub(super) uses: Arc<GrantUses>,
    pub(super) allowed: Arc<AllowedCalls>,
    pub(super) agent_tokens: Arc<AgentTokens>,
    pub(super) reviews: Reviews,
}

impl Submissions {
    /// Takes a call: rules on it, and where a person has to answer, opens an ask. An `attended`
    /// call has a caller that waits for the answer; when it leaves, now or later, its ask is taken
    /// back.
    ///
    /// # Errors
    /// [`SubmitError`]; the call may then not run.
    // INVARIANT: an ask is opened together with its caller, and that is finished though the caller
    // has left: no ask stays open that nobody waits for, and none that is stored goes unannounced.
    pub(super) async fn submit(
        self: &Arc<Self>,
        call: Call,
        attended: bool,
    ) -> Result<SubmitOutcome, SubmitError> {
        let submissions = self.clone();
        let submitted = tokio::spawn(async move { submissions.take(call, attended).await });
        // It ends early only with its runtime.
        submitted.await.unwrap_or(Err(SubmitError::Stopping))
    }

    async fn take(
        self: Arc<Self>,
        call: Call,
        attended: bool,
    ) -> Result<SubmitOutcome, SubmitError> {
        let id = ids::ask_id();
        match self.opened(&id, call, attended).await {
            Ok(Opened::Ruled(ruling)) => Ok(SubmitOutcome::Ruled(ruling)),
            Ok(Opened::Ask(ask)) => {
                let caller = (attended && ask.is_open()).then(|| self.callers.attach(&ask.id));
                Ok(SubmitOutcome::Asked(ask, caller))
            }
            Err(error) => {
                if attended && matches!(error, SubmitError::Store(StoreError::Uncertain(_))) {
                    // It may be open, and its caller is told that it is not known to be.
                    self.callers.attach(&id).store_failed();
                }
                Err(error)
            }
        }
    }

    async fn opened(&self, id: &str, call: Call, attended: bool) -> Result<Opened, SubmitError> {
        if self.open.stopping.is_cancelled() {
            return Err(SubmitError::Stopping);
        }
        let bytes = large::bytes(&call);
        let read = || call.spell_out().and_then(|call| call.check().map(|()| call));
        let call = self.evaluator.beside(bytes, read).await?;
        let (call, token) = self.agent_tokens.named(call).await?;
        if let Some(token) = &token
            && let Some(denial) = self.while_agent_paused(&call, token).await?
        {
            return self.denied(&call, denial).await;
        }
        let mut ahead = None;
        let (mut ruling, problem) = match &call.budget {
            Some(budget) => {
                let decided = self.decide_budget(&call, budget).await?;
                ahead = Some(decided.requirements);
                (decided.decision, None)
            }
            None => self.evaluator.rule_in_turn(&call).await?,
        };
        if !call.questions.is_empty() && ruling.verdict == Verdict::Allow {
            // No rule can answer a question.
            ruling.verdict = Verdict::Ask;
            ruling.reason = "a question is answered by a person".to_owned();
        }
        if ruling.verdict == Verdict::Allow
            && let Some(why) = self.evaluator.outranked(&call, &ruling).await?
        {
            (ruling.verdict, ruling.rule, ruling.reason) = (Verdict::Ask, None, why);
        }
        // INVARIANT: read after the decision, so that no decision from before the pause is told
        // after it.
        let held = match self.open.store.pause().await? {
            Some(pause) => self.while_paused(&call, &mut ruling, &pause).await?,
            None => false,
        };
        let digest = self.evaluator.beside(bytes, || call.digest()).await;
        if ruling.verdict != Verdict::Ask {
            self.note(&call, &ruling, &digest).await?;
            if ruling.verdict == Verdict::Allow {
                self.uses.count(&call, ruling.deciding_rule.as_ref());
                self.reviews.consider(&call, &ruling, &digest, token.map(|token| token.scope));
            }
            return Ok(Opened::Ruled(Box::new(ruling)));
        }
        if let Some(said) = self.denied_before(&call, &digest).await? {
            ruling.verdict = Verdict::Deny;
            (ruling.reason, ruling.rule) = (said, None);
            self.note(&call, &ruling, &digest).await?;
            return Ok(Opened::Ruled(Box::new(ruling)));
        }
        if let Some(why) = self.spend(&call, &ruling, &digest).await? {
            (ruling.verdict, ruling.rule, ruling.reason) = (Verdict::Allow, None, why);
            self.note(&call, &ruling, &digest).await?;
            return Ok(Opened::Ruled(Box::new(ruling)));
        }
        let mut handling = self.evaluator.handling(&call, &ruling).await;
        handling.requirements = ahead.unwrap_or(handling.requirements);
        if let Some(token) = &token {
            handling = self.evaluator.scoped(handling, &ruling, &token.scope).await?;
        }
        let (now, since) = (clock::now_ms(), Instant::now());
        let attended = attended
            && self.in_force.system().prompt_behaviour().on_disconnect != OnDisconnect::Keep;
        let here = attended.then_some(self.open.daemon.as_str());
        let new = NewAsk {
            id: id.to_owned(),
            deadline_at: self.deadlines.deadline(&call, now),
            attended,
            body: handling.on(Body { held, ..self.body(call, ruling, problem) }),
            digest,
            daemon: self.open.daemon.clone(),
            attached: here.into_iter().collect(),
            created_at: now,
            limited: token.as_ref().filter(|it| it.limits.any()).map(|it| it.id.clone()),
        };
        let _opening = self.in_force.opening().await;
        let choices = self.in_force.now();
        let cards = choices.cards(new.body.plan.as_ref());
        let OpenAsks { store, load, .. } = &*self.open;
        let bytes = load::size(&new.body);
        let room = load.make_room(store, &choices.settings.limits, &new.body.call, bytes).await?;
        match store.insert_ask(&new, &cards).await? {
            Inserted::New(ask) => {
                room.fill();
                self.count_wait(&ask, since);
                tracing::info!(ask_id = %ask.id, agent = %ask.body.call.agent,
                    tool = %ask.body.call.tool, "asking a person");
                self.open.changed();
                Ok(Opened::Ask(Box::new(self.agent_tokens.checked(ask).await?)))
            }
            Inserted::Known(ask) if is_same(&ask, &new) => Ok(Opened::Ask(Box::new(ask))),
            Inserted::Known(ask) => {
                Err(SubmitError::KeyTaken(ask.body.call.key.unwrap_or_default()))
            }
            Inserted::OverLimit(limit) => {
                drop((room, _opening));
                // FAIL-CLOSED: only a token's agent has limits.
                let Some(token) = token else { return Err(SubmitError::Stopping) };
                let denial = self.over_limit(&new.body.call, &token, limit).await?;
                self.denied(&new.body.call, denial).await
            }
        }
    }

    async fn denied(&self, call: &Call, denial: Decision) -> Result<Opened, SubmitError> {
        let digest = self.evaluator.beside(large::bytes(call), || call.digest()).await;
        self.note(call, &denial, &digest).await?;
        Ok(Opened::Ruled(Box::new(denial)))
    }

    /// What becomes of a call while everything is paused; whether it is held though it was allowed.
    // FAIL-CLOSED: a denial stays one, and nothing else is allowed. A call that was submitted
    // before gets the ask that it has.
    async fn while_paused(
        &self,
        call: &Call,
        ruling: &mut Decision,
        pause: &Pause,
    ) -> Result<bool, StoreError> {
        let allowed = ruling.verdict == Verdict::Allow;
        match (ruling.verdict, pause.mode) {
            (Verdict::Deny, _) => return Ok(false),
            (Verdict::Allow | Verdict::Ask, PauseMode::Deny) if !self.is_known(call).await? => {
                ruling.verdict = Verdict::Deny;
                ruling.rule = None;
                ruling.reason = format!("{}: nothing runs until it is resumed", sentence(pause));
            }
            (Verdict::Allow, _) => {
                ruling.verdict = Verdict::Ask;
                ruling.reason =
                    format!("{}: it is held, though it needs no person", sentence(pause));
            }
            (Verdict::Ask, _) => {}
        }
        Ok(allowed && ruling.verdict == Verdict::Ask)
    }

    pub(super) async fn is_known(&self, call: &Call) -> Result<bool, StoreError> {
        let Some(key) = &call.key else { return Ok(false) };
        self.open.store.knows_key(&call.agent, &call.session, key).await
    }

    /// What a person said to the same call a moment ago. A caller that comes back under its key
    /// gets its own ask instead.
    async fn denied_before(&self, call: &Call, digest: &str) -> Result<Option<String>, StoreError> {
        let said = self.open.denials.recall(digest).filter(|_| call.questions.is_empty());
        if let (Some(_), Some(key)) = (&said, &call.key)
            && self.open.store.knows_key(&call.agent, &call.session, key).await?
        {
            return Ok(None);
        }
        Ok(said)
    }

    /// An ask that silence approves waits since then.
    fn count_wait(&self, ask: &Ask, since: Instant) {
        let left = ask.deadline_at.and_then(|at| u64::try_from(at - ask.created_at).ok());
        if let Some(left) = left.filter(|_| ask.body.silence == Silence::Approve) {
            self.open.monotonic.count(&ask.id, since, Duration::from_millis(left));
        }
    }

    async fn note(&self, call: &Call, ruling: &Decision, digest: &str) -> Result<(), SubmitError> {
        tracing::info!(agent = %call.agent, tool = %call.tool, verdict = %ruling.verdict,
            reason = %ruling.reason, "ruled");
        if ruling.verdict != Verdict::Deny {
            return self.allowed.note(call, ruling, digest).await;
        }
        let mut data = json!({"agent": call.agent, "session": call.session, "tool": call.tool,
            "digest": digest, "verdict": ruling.verdict, "rule": ruling.rule,
            "reason": ruling.reason});
        // With a token of its own, other agents do not read it.
        if let Some(data) = data.as_object_mut()
            && call.owner.as_ref().is_some_and(|owner| owner.token().is_some())
        {
            data.insert("token".to_owned(), json!(call.agent));
        }
        Ok(self.open.store.note(clock::now_ms(), "ruled", None, &data).await?)
    }
}
