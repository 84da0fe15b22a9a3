//! Ruling on a call with the policy, the grants and the mode as they are now, and the words that
//! the agent's model gets.

use super::{
    Policy, SubmitError, Workers,
    approvers::Approvers,
    ask::{Ask, By, Decision, State},
    call::Call,
    decided::{DecidedCall, Explained, HasVerdict},
    granted_rules::{self, grants_of},
    handling::Handling,
    in_force::InForce,
    large::{self, Large},
    layers::{self, Runtime},
    review_grants,
    routes::Moment,
    rules::SeenCall,
};
use crate::links;
use countersign_policy::{self as policy, Layers, Matcher, Mode, Rule, Rules, Verdict};
use countersign_profiles::{CallEnd, EvaluationContext};
use countersign_store::{Grant, SessionContext, Store, StoreError};
use countersign_tokens::clock;
use std::sync::Arc;

/// Evaluates calls: everything that it takes to rule on one.
#[derive(Debug)]
pub(super) struct Evaluator {
    pub(super) store: Store,
    pub(super) in_force: Arc<InForce>,
    /// The home folder of the user who runs the agents.
    home: Option<String>,
    large: Large,
    /// Held while a call is decided on in a mode whose turns are counted.
    turns: tokio::sync::Mutex<()>,
}

impl Evaluator {
    pub(super) fn new(store: Store, in_force: Arc<InForce>, home: Option<String>) -> Arc<Self> {
        let (large, turns) = (Large::default(), tokio::sync::Mutex::default());
        Arc::new(Self { store, in_force, home, large, turns })
    }

    /// Does this for a call of so many bytes without keeping others waiting, however many they are.
    pub(super) async fn beside<T>(&self, bytes: usize, work: impl FnOnce() -> T) -> T {
        self.large.run(bytes, work).await
    }

    /// Rules on a call. What a mode with turns has allowed costs one of them.
    // INVARIANT: one such call at a time, so that no two share a turn.
    pub(super) async fn rule_in_turn(
        &self,
        call: &Call,
    ) -> Result<(policy::Decision, Option<String>), SubmitError> {
        let turn = |given: &SessionContext| self.in_force.system().turn(given.mode.as_deref()?);
        let session = self.session_context(call).await?;
        if turn(&session).is_none() {
            return self.by_policy(call, session, policy::decide).await;
        }
        let _alone = self.turns.lock().await;
        let session = self.session_context(call).await?;
        let turn = turn(&session);
        let (ruling, problem) = self.by_policy(call, session, policy::decide).await?;
        if let Some(turn) = turn
            && ruling.verdict == Verdict::Allow
            && ruling.rule.as_ref() == Some(&turn.rule)
        {
            let now = clock::now_ms();
            self.store.set_session_mode(&call.agent, &call.session, &turn.next, now).await?;
        }
        Ok((ruling, problem))
    }

    /// The same, without costing a turn: nothing runs because of it.
    pub(super) async fn judge(&self, call: &Call) -> Result<policy::Decision, SubmitError> {
        Ok(self.by_policy(call, self.session_context(call).await?, policy::decide).await?.0)
    }

    /// The same, with each command on its own.
    pub(super) async fn explain(&self, call: &Call) -> Result<Explained, SubmitError> {
        let explain = |call: &_, layers: &Layers<'_>, mode| Explained {
            decision: policy::decide(call, layers, mode),
            parts: policy::parts(call, layers, mode),
        };
        Ok(self.by_policy(call, self.session_context(call).await?, explain).await?.0)
    }

    /// The same verdict, rule and reason, maybe without what only a card needs.
    pub(super) async fn decide(&self, call: &Call) -> Result<DecidedCall, SubmitError> {
        let decide = |call: &_, layers: &Layers<'_>, mode| {
            DecidedCall::from(policy::decide_briefly(call, layers, mode))
        };
        Ok(self.by_policy(call, self.session_context(call).await?, decide).await?.0)
    }

    /// The same as a session would be ruled on to which nothing was granted: by its file alone,
    /// where what is granted is in one.
    pub(super) async fn decide_anew(&self, call: &Call) -> Result<DecidedCall, SubmitError> {
        let policy = self.in_force.now().policy.clone();
        let Policy::Workers(workers, _) = &*policy else { return self.decide(call).await };
        let (facts, session) = (self.facts(call).await, self.session_context(call).await?);
        let rule = || {
            let reviewed = session.reviewed.clone();
            let ruled = self.by_workers(workers, call, &facts, session, Runtime::Anew)?.0;
            Ok::<_, SubmitError>(review_grants::applied(ruled.into(), &reviewed, &facts))
        };
        self.beside(large::bytes(call), rule).await
    }

    /// Whose answers an ask about this call needs and where it is shown, as the config says.
    pub(super) async fn handling(&self, call: &Call, decided: &policy::Decision) -> Handling {
        let (choices, now) = (self.in_force.now(), clock::now_ms());
        let (Approvers { rules, people, .. }, routes) = (&choices.approvers, &choices.routes);
        if rules.is_empty() && routes.list.is_empty() {
            return Handling::default();
        }
        let facts = self.facts(call).await;
        // FAIL-CLOSED: where it is not known who is there, everybody is told.
        let absent = self.store.absent(now).await.unwrap_or_default();
        let at = Moment { now_ms: now, absent: &absent };
        let look = || {
            // An allowed call has no effects yet, and one whose grant is outranked comes so, too.
            let effects = match decided.effects.is_empty() {
                true => policy::decision::facts(&facts).effects,
                false => decided.effects.clone(),
            };
            let (facts, critical) = (&Matcher::new(&facts, &effects), decided.critical);
            Handling::of(rules, people, routes, SeenCall { call, facts, critical }, at)
        };
        self.beside(large::bytes(call), look).await
    }

    /// Whether there is any answer rule.
    pub(super) fn has_answer_rules(&self) -> bool {
        !self.in_force.now().approvers.rules.is_empty()
    }

    /// The ask at which a grant was made, as long as it is kept.
    pub(super) async fn ask_of(&self, grant: &Grant) -> Result<Option<Ask>, StoreError> {
        self.store.whole_ask(&grant.ask).await
    }

    /// The call as policy sees it, with where its paths lead.
    pub(super) async fn facts(&self, call: &Call) -> countersign_policy::Call {
        let see = || {
            let facts = call.for_policy(self.home.as_deref());
            let sights = countersign_policy::sights(&facts);
            (facts, sights)
        };
        let (mut facts, sights) = self.beside(large::bytes(call), see).await;
        let look = move || links::look(&sights);
        // SECURITY: here, whatever machine the call says to be from: a caller can say anything.
        match tokio::task::spawn_blocking(look).await {
            Ok(links) => countersign_policy::follow(&mut facts, links),
            Err(_) => facts.links.cut(),
        }
        facts
    }

    /// The state of the session that a call is made in; without a mode of its own it has the
    /// configured one.
    pub(super) async fn session_context(&self, call: &Call) -> Result<SessionContext, StoreError> {
        let mut session =
            self.store.session_context(&call.agent, &call.session, clock::now_ms()).await?;
        session.grants.retain(|grant| granted_rules::is_literal(&grant.rule));
        let mode = || self.in_force.now().settings.mode.clone();
        Ok(SessionContext { mode: session.mode.or_else(mode), ..session })
    }

    /// What policy makes of a call, and what is wrong with its file.
    async fn by_policy<T: HasVerdict>(
        &self,
        call: &Call,
        mut session: SessionContext,
        by_rules: impl FnOnce(&countersign_policy::Call, &Layers<'_>, Mode) -> T,
    ) -> Result<(T, Option<String>), SubmitError> {
        let facts = self.facts(call).await;
        let reviewed = std::mem::take(&mut session.reviewed);
        let rule = || {
            let (ruled, problem) = self.by_policy_on(call, &facts, session, by_rules)?;
            Ok((review_grants::applied(ruled, &reviewed, &facts), problem))
        };
        self.beside(large::bytes(call), rule).await
    }

    fn by_policy_on<T: From<policy::Decision>>(
        &self,
        call: &Call,
        facts: &countersign_policy::Call,
        session: SessionContext,
        by_rules: impl FnOnce(&countersign_policy::Call, &Layers<'_>, Mode) -> T,
    ) -> Result<(T, Option<String>), SubmitError> {
        let (now, choices) = (clock::now_ms(), self.in_force.now());
        match &*choices.policy {
            Policy::Workers(workers, _) => {
                let ruled = self.by_workers(workers, call, facts, session, Runtime::Session)?;
                Ok((ruled.0.into(), ruled.1))
            }
            Policy::Rules(file, _) => {
                let SessionContext { mode, grants, .. } = session;
                let (always, here) = grants_of(&self.store, call, grants);
                let rules = file.current(&always);
                let grants = Rules::from_grants(&here);
                let layers = Layers {
                    agent: None,
                    rules: &rules.rules,
                    grants: &grants,
                    guardrail: &rules.guardrail,
                    now_ms: now,
                };
                let mode = if mode.as_deref() == Some("yolo") { Mode::Yolo } else { Mode::Default };
                Ok((by_rules(facts, &layers, mode), rules.problem.clone()))
            }
            Policy::Native(native) => {
                let SessionContext { mode, grants, .. } = session;
                let (always, here) = grants_of(&self.store, call, grants);
                let granted: Vec<Rule> = always.into_iter().chain(here).collect();
                let given = EvaluationContext {
                    mode: mode.as_deref(),
                    grants: &granted_rules::as_kept(&granted),
                    agent_rules: None,
                    guardrail: native.guardrail(),
                    reachable: choices.approvers.anybody(),
                    now_ms: now,
                };
                let (ruling, problem) = native.rule(facts, &given).map_err(SubmitError::Unruled)?;
                Ok((ruling.into(), problem))
            }
        }
    }

    fn by_workers(
        &self,
        workers: &Workers,
        call: &Call,
        facts: &countersign_policy::Call,
        session: SessionContext,
        runtime: Runtime,
    ) -> Result<(policy::Decision, Option<String>), SubmitError> {
        let reachable = self.in_force.now().approvers.anybody();
        let home = self.home.as_deref();
        layers::by_workers(workers, call, facts, session, runtime, home, reachable)
    }

    /// What the agent's model is told of how an ask ended, in its system's own words.
    #[must_use]
    pub(super) fn text_for_model(&self, ask: &Ask) -> Option<String> {
        let answer = ask.answer().filter(|answer| answer.decision != Decision::Answer)?;
        let by = answer.by.to_string();
        let reason = answer.reason.as_deref();
        let end = match (&ask.state, answer.decision, &answer.by) {
            (_, Decision::Approve | Decision::Edit, _) => CallEnd::Approved { by: &by },
            (State::Cancelled(_), ..) => CallEnd::Cancelled { reason: reason.unwrap_or_default() },
            (_, _, By::NoApprover) => CallEnd::Unreachable,
            (State::Expired(_), ..) => {
                let waited = answer.at.saturating_sub(ask.created_at) / 1000;
                CallEnd::TimedOut { after_s: u64::try_from(waited).unwrap_or_default() }
            }
            _ => CallEnd::Denied { by: &by, reason, then: answer.then },
        };
        let call = ask.body.call.for_policy(self.home.as_deref());
        self.in_force.system().text_for_model(&call, &end)
    }

    /// What the agent's model is told of a call that policy denied.
    #[must_use]
    pub(super) fn text_for_denial(&self, call: &Call, ruling: &policy::Decision) -> Option<String> {
        let end = match ruling.verdict {
            Verdict::Deny => {
                CallEnd::Forbidden { reason: &ruling.reason, rule: ruling.rule.as_deref() }
            }
            Verdict::Allow | Verdict::Ask => return None,
        };
        self.in_force.system().text_for_model(&call.for_policy(self.home.as_deref()), &end)
    }
}
