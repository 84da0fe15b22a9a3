//! Ruling on a call with the policy, the grants and the mode as they are now; whose answers an ask
//! needs; what more rules would change; and the words that the agent's model gets.

use super::{
    Gate, Policy, SubmitError, Workers,
    agents::not_for_this,
    approvers::Approvers,
    approvers::People,
    ask::{
        Ask, Body, By, Decision, Silence, State, deadline::AskStep, plan::RoutePlan,
        requirement::Requirement,
    },
    call::{Batch, Call, Malformed},
    grants::{self, is_of},
    links,
    policy::{LastGood, Loaded},
    reviews,
    routes::{Moment, Routes},
    rules::{AnswerRule, SeenCall, requirements, unexplained},
};
use countersign_domain::{GrantScope, wire::TokenScope};
use countersign_policy::{
    self as policy, BriefDecision, Call as Facts, DEFAULT_RULES, Layers, Matcher, Mode, Rule,
    RuleFit, Rules, Verdict, tools::CATEGORY, tools::canonical,
};
use countersign_profiles::{CallEnd, EvaluationContext, rules_of};
use countersign_store::{Grant, SessionContext, StoreError};
use countersign_tokens::clock;
use serde_json::Value;
use std::{num::NonZero, sync::Arc, thread::available_parallelism};
use tokio::{
    runtime::{Handle, RuntimeFlavor},
    sync::Semaphore,
    task::block_in_place,
};

const GLOB: [char; 6] = ['*', '?', '[', '{', '\\', '!'];
/// From how many bytes on a call is large.
const LARGE: usize = 64 << 10;

/// A decision taken apart.
#[derive(Debug, Clone)]
pub struct Explained {
    /// The decision.
    pub decision: policy::Decision,
    /// Each command of a shell text on its own; empty for other calls and other profiles.
    pub parts: Vec<policy::Part>,
}

impl From<policy::Decision> for Explained {
    fn from(decision: policy::Decision) -> Self {
        Self { decision, parts: Vec::new() }
    }
}

impl HasVerdict for Explained {
    fn verdict(&self) -> Verdict {
        self.decision.verdict
    }
}

/// Why a rule cannot be tried.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// The rule, or the policy of this daemon.
    #[error("{0}")]
    Refused(String),
    /// Ours.
    #[error(transparent)]
    Failed(#[from] SubmitError),
}

/// The rules as they are, and as they would be with more.
#[derive(Debug)]
pub struct RuleTrial {
    gate: Arc<Gate>,
    before: Arc<LastGood<Loaded>>,
    after: Loaded,
    grants: Rules,
}

/// What more rules change for a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriedCall {
    /// The verdict now.
    pub before: Verdict,
    /// The verdict with the rule.
    pub after: Verdict,
    /// The reason of the verdict with the rule.
    pub reason: String,
}

impl RuleTrial {
    /// Decides on a call without the rules and with them, for a session to which nothing was
    /// granted.
    pub async fn of(&self, call: &Call) -> TriedCall {
        let facts = self.gate.facts(call).await;
        let decide = |loaded: &Loaded| {
            let Loaded { rules, guardrail, .. } = loaded;
            let layers = Layers::new(rules, &self.grants, guardrail, clock::now_ms());
            policy::decide_briefly(&facts, &layers, Mode::Default)
        };
        let both = || (decide(&self.before), decide(&self.after));
        let (before, after) = self.gate.beside(bytes(call), both).await;
        TriedCall { before: before.verdict, after: after.verdict, reason: after.reason }
    }

    /// Whether a deny of the rules in force may cover a call that this rule covers: their patterns
    /// begin alike. As a later line of the file the rule would lift that deny.
    // FAIL-CLOSED: what cannot be told apart by its beginning counts.
    #[must_use]
    pub fn may_meet_deny(&self, rule: &Rule) -> bool {
        let denies = self.before.rules.iter().filter(|it| it.verdict == Verdict::Deny);
        let mut denies = denies
            .filter(|it| it.tool.contains(GLOB) || canonical(&it.tool) == canonical(&rule.tool));
        denies.any(|deny| {
            let one = beginning(&deny.pattern);
            let other = beginning(&rule.pattern);
            one.starts_with(other) || other.starts_with(one)
        })
    }
}

impl Gate {
    /// Does this for a call of so many bytes without keeping others waiting, however many they are.
    pub async fn beside<T>(&self, bytes: usize, work: impl FnOnce() -> T) -> T {
        self.large.run(bytes, work).await
    }

    /// What policy is given of a call: its facts, and the session that it is made in.
    pub(super) async fn given(&self, call: &Call) -> Result<Given, StoreError> {
        let session = self.session_context(call).await?;
        Ok(Given { facts: self.facts(call).await, session })
    }

    /// Rules on a call, and says what is wrong with the policy's file. What a mode with turns has
    /// allowed costs one of them.
    // INVARIANT: one such call at a time, so that no two share a turn.
    pub(super) async fn rule_in_turn(
        &self,
        call: &Call,
        given: &mut Given,
    ) -> Result<(policy::Decision, Option<String>), SubmitError> {
        let turn = |given: &Given| self.system().turn(given.session.mode.as_deref()?);
        if turn(given).is_none() {
            return self.by_policy(call, given, policy::decide).await;
        }
        let _alone = self.turns.lock().await;
        given.session = self.session_context(call).await?;
        let turn = turn(given);
        let (ruling, problem) = self.by_policy(call, given, policy::decide).await?;
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
    pub(super) async fn judge(
        &self,
        call: &Call,
        given: &Given,
    ) -> Result<policy::Decision, SubmitError> {
        Ok(self.by_policy(call, given, policy::decide).await?.0)
    }

    /// Explains what would happen to a call now, with each command on its own. Nothing is asked.
    ///
    /// # Errors
    /// When the policy cannot decide on it, or the store fails.
    pub async fn explain(&self, call: &Call) -> Result<Explained, SubmitError> {
        let explain = |call: &_, layers: &Layers<'_>, mode| Explained {
            decision: policy::decide(call, layers, mode),
            parts: policy::parts(call, layers, mode),
        };
        Ok(self.by_policy(call, &self.given(call).await?, explain).await?.0)
    }

    /// The same verdict, rule and reason, maybe without what only a card needs.
    pub(super) async fn decide(&self, call: &Call) -> Result<BriefDecision, SubmitError> {
        Ok(self.by_policy(call, &self.given(call).await?, policy::decide_briefly).await?.0)
    }

    /// Whether more than the default holds a call: it would not be allowed either if everything were
    /// that no rule names.
    pub(super) async fn is_ruled(&self, call: &Call, given: &Given) -> Result<bool, SubmitError> {
        let decide = |call: &_, layers: &Layers<'_>, mode| {
            let free = layers.rules.with_free_default();
            let layers = Layers { rules: &free, ..*layers };
            policy::decide_briefly(call, &layers, mode)
        };
        if let Policy::Native(native) = &*self.choices().policy
            && native.is_built_in()
        {
            // FAIL-CLOSED: rules that cannot be read hold every call.
            let Ok(rules) = Rules::parse(DEFAULT_RULES, "the built-in rules", self.home.as_deref())
            else {
                return Ok(true);
            };
            let grants = Rules::default();
            let layers = Layers::new(&rules, &grants, native.guardrail(), clock::now_ms());
            let rule =
                || Ok::<BriefDecision, SubmitError>(decide(&given.facts, &layers, Mode::Default));
            return Ok(self.beside(bytes(call), rule).await?.verdict != Verdict::Allow);
        }
        Ok(self.by_policy(call, given, decide).await?.0.verdict != Verdict::Allow)
    }

    /// The same as a session would be ruled on to which nothing was granted: by its file alone,
    /// where what is granted is in one.
    pub(super) async fn decide_anew(&self, call: &Call) -> Result<BriefDecision, SubmitError> {
        let policy = self.choices().policy.clone();
        let Policy::Workers(workers, _) = &*policy else { return self.decide(call).await };
        let given = self.given(call).await?;
        let rule = || {
            let ruled = self.by_workers(workers, call, &given, Runtime::Anew)?.0;
            Ok::<_, SubmitError>(reviews::applied(
                ruled.into(),
                &given.session.reviewed,
                &given.facts,
            ))
        };
        self.beside(bytes(call), rule).await
    }

    /// Whose answers an ask about this call needs and where it is shown, as the config says.
    pub(super) async fn handling(
        &self,
        call: &Call,
        facts: &Facts,
        decided: &policy::Decision,
    ) -> Handling {
        let choices = self.choices();
        let now = clock::now_ms();
        let (Approvers { rules, people, .. }, routes) = (&choices.approvers, &choices.routes);
        if rules.is_empty() && routes.list.is_empty() {
            return Handling::default();
        }
        // FAIL-CLOSED: where it is not known who is there, everybody is told.
        let absent = self.store.absent(now).await.unwrap_or_default();
        let at = Moment { now_ms: now, absent: &absent };
        let look = || {
            // An allowed call has no effects yet, and one whose grant is outranked comes so, too.
            let effects = if decided.effects.is_empty() {
                policy::decision::facts(facts).effects
            } else {
                decided.effects.clone()
            };
            let facts = &Matcher::new(facts, &effects);
            let critical = decided.critical;
            Handling::of(rules, people, routes, SeenCall { call, facts, critical }, at)
        };
        self.beside(bytes(call), look).await
    }

    /// Whether there is any answer rule.
    pub(super) fn has_answer_rules(&self) -> bool {
        !self.choices().approvers.rules.is_empty()
    }

    /// The ask at which a grant was made, as long as it is kept.
    pub(super) async fn ask_of(&self, grant: &Grant) -> Result<Option<Ask>, StoreError> {
        self.store.whole_ask(&grant.ask).await
    }

    /// The call as policy sees it, with where its paths lead.
    pub(super) async fn facts(&self, call: &Call) -> Facts {
        let see = || {
            let facts = call.for_policy(self.home.as_deref());
            let lookups = policy::lookups(&facts);
            (facts, lookups)
        };
        let (mut facts, lookups) = self.beside(bytes(call), see).await;
        let look = move || links::look(&lookups);
        // SECURITY: here, whatever machine the call says to be from: a caller can say anything.
        match tokio::task::spawn_blocking(look).await {
            Ok(links) => policy::follow(&mut facts, links),
            Err(_) => facts.links.cut(),
        }
        facts
    }

    /// The state of the session that a call is made in; without a mode of its own it has the
    /// configured one.
    async fn session_context(&self, call: &Call) -> Result<SessionContext, StoreError> {
        let mut session =
            self.store.session_context(&call.agent, &call.session, clock::now_ms()).await?;
        session.grants.retain(|grant| grants::is_literal(&grant.rule));
        let mode = || self.choices().settings.mode.clone();
        Ok(SessionContext { mode: session.mode.or_else(mode), ..session })
    }

    /// What policy makes of a call, and what is wrong with its file.
    async fn by_policy<T: HasVerdict>(
        &self,
        call: &Call,
        given: &Given,
        by_rules: impl FnOnce(&Facts, &Layers<'_>, Mode) -> T,
    ) -> Result<(T, Option<String>), SubmitError> {
        let rule = || {
            let (ruled, problem) = self.by_policy_on(call, given, by_rules)?;
            Ok((reviews::applied(ruled, &given.session.reviewed, &given.facts), problem))
        };
        self.beside(bytes(call), rule).await
    }

    fn by_policy_on<T: From<policy::Decision>>(
        &self,
        call: &Call,
        given: &Given,
        by_rules: impl FnOnce(&Facts, &Layers<'_>, Mode) -> T,
    ) -> Result<(T, Option<String>), SubmitError> {
        let Given { facts, session: SessionContext { mode, grants, .. } } = given;
        let now = clock::now_ms();
        let choices = self.choices();
        match &*choices.policy {
            Policy::Workers(workers, _) => {
                let ruled = self.by_workers(workers, call, given, Runtime::Session)?;
                Ok((ruled.0.into(), ruled.1))
            }
            Policy::Rules(file, _) => {
                let rules = file.current();
                let grants = rules.grantable(grants::rules_for(call, grants));
                let layers = Layers::new(&rules.rules, &grants, &rules.guardrail, now);
                let mode = if mode.as_deref() == Some("yolo") { Mode::Yolo } else { Mode::Default };
                Ok((by_rules(facts, &layers, mode), rules.problem.clone()))
            }
            Policy::Native(native) => {
                let granted = grants::rules_for(call, grants);
                let given = EvaluationContext {
                    mode: mode.as_deref(),
                    grants: &grants::as_kept(&granted),
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

    /// Rules on a call of a worker. The second is what is wrong with its file, if something is.
    fn by_workers(
        &self,
        workers: &Workers,
        call: &Call,
        given: &Given,
        runtime: Runtime,
    ) -> Result<(policy::Decision, Option<String>), SubmitError> {
        let Given { facts, session: SessionContext { mode, grants, .. } } = given;
        let always = grants.iter().filter(|grant| grant.scope == GrantScope::Always);
        let always: Vec<Rule> = always.map(|grant| grant.rule.clone()).collect();
        let is_here = |grant: &&Grant| runtime == Runtime::Session && is_of(grant, call);
        let here = grants.iter().filter(is_here).map(|grant| grant.rule.clone());
        let here: Vec<Rule> = here.collect();
        let worker = call.worker.as_deref();
        let rules = workers.rules_of(worker, &always).map_err(SubmitError::Unruled)?;
        let agent_rules = agent_rules(call, self.home.as_deref())?;
        let given = EvaluationContext {
            mode: mode.as_deref(),
            grants: &grants::as_kept(&here),
            agent_rules: agent_rules.as_ref(),
            guardrail: rules.guardrail(),
            reachable: self.choices().approvers.anybody(),
            now_ms: clock::now_ms(),
        };
        rules.rule(facts, &given).map_err(SubmitError::Unruled)
    }

    /// The words for the agent's model when an ask has ended, as its system words them.
    #[must_use]
    pub fn text_for_model(&self, ask: &Ask) -> Option<String> {
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
        self.system().text_for_model(&call, &end)
    }

    /// The words for the agent's model when policy denied a call.
    #[must_use]
    pub fn text_for_denial(&self, call: &Call, ruling: &policy::Decision) -> Option<String> {
        let end = match ruling.verdict {
            Verdict::Deny => {
                CallEnd::Forbidden { reason: &ruling.reason, rule: ruling.rule.as_deref() }
            }
            Verdict::Allow | Verdict::Ask => return None,
        };
        self.system().text_for_model(&call.for_policy(self.home.as_deref()), &end)
    }

    /// Why people are asked about a call that is allowed; `None`: it is.
    // FAIL-CLOSED: a grant of which it is not known who made it counts as made by too few.
    // SECURITY: else one approval with Always would answer for ever what needs several.
    pub(super) async fn outranked(
        &self,
        call: &Call,
        given: &Given,
        decided: &policy::Decision,
    ) -> Result<Option<String>, StoreError> {
        if !self.has_answer_rules() {
            return Ok(None);
        }
        let required = self.handling(call, &given.facts, decided).await.requirements;
        let Some(first) = required.first() else { return Ok(None) };
        let mut small = Vec::new();
        for grant in &given.session.grants {
            let is_here = grant.scope == GrantScope::Always || is_of(grant, call);
            if is_here && !self.suffices(grant, &required).await? {
                small.push(&grant.rule);
            }
        }
        if small.is_empty() {
            return Ok(None);
        }
        let touched = self.beside(bytes(call), || touches(&given.facts, &small)).await;
        let why = || {
            format!("the answer rule {} needs more than the grant that would allow it", first.rule)
        };
        Ok(touched.then(why))
    }

    async fn suffices(&self, grant: &Grant, required: &[Requirement]) -> Result<bool, StoreError> {
        let ask = self.ask_of(grant).await?;
        let made: Vec<Requirement> = ask.map(|ask: Ask| ask.body.requirements).unwrap_or_default();
        Ok(Requirement::unmet(required, &made).is_none())
    }

    /// What the config says of an ask, shown only where the token of its agent is for.
    // INVARIANT: whose answers count stays as the answer rules say.
    pub(super) async fn scoped(
        &self,
        handling: Handling,
        decision: &policy::Decision,
        scope: &TokenScope,
    ) -> Result<Handling, SubmitError> {
        let Some(name) = &scope.target else { return Ok(handling) };
        let choices = self.choices();
        let now_ms = clock::now_ms();
        // A reload may have come between.
        choices.fit(scope).map_err(|why| not_for_this(&why))?;
        let absent = self.store.absent(now_ms).await.unwrap_or_default();
        let at = Moment { now_ms, absent: &absent };
        let people = &choices.approvers.people;
        let (plan, steps) = choices.routes.only(name, people, decision.critical, at);
        Ok(Handling { plan, steps, ..handling })
    }

    /// Prepares a trial of these rules, each as the last line of its tool in the rules file. Nothing
    /// is written.
    ///
    /// # Errors
    /// [`TrialError`]
    pub async fn try_rules(self: &Arc<Self>, rules: &[Rule]) -> Result<RuleTrial, TrialError> {
        let choices = self.choices();
        let Policy::Rules(file, _) = &*choices.policy else {
            return Err(TrialError::Refused(
                "Rules can be tried with the profile `standard` only.".to_owned(),
            ));
        };
        let now = clock::now_ms();
        let granted = self.store.grants(now).await.map_err(SubmitError::from)?;
        let holds = |grant: &countersign_store::Grant| {
            grant.scope == GrantScope::Always && grants::is_literal(&grant.rule)
        };
        let always: Vec<Rule> = granted.into_iter().filter(holds).map(|grant| grant.rule).collect();
        let before = file.current();
        let grants = before.grantable(always);
        let after = file.with(rules).map_err(TrialError::Refused)?;
        Ok(RuleTrial { gate: self.clone(), before, after, grants })
    }
}

/// What policy is given of a call.
#[derive(Debug)]
pub(super) struct Given {
    /// The call as policy sees it.
    pub(super) facts: Facts,
    /// The state of the session that it is made in.
    pub(super) session: SessionContext,
}

/// A decision in one of its forms.
pub(super) trait HasVerdict: From<policy::Decision> {
    /// Its verdict.
    fn verdict(&self) -> Verdict;
}

impl HasVerdict for policy::Decision {
    fn verdict(&self) -> Verdict {
        self.verdict
    }
}

impl HasVerdict for BriefDecision {
    fn verdict(&self) -> Verdict {
        self.verdict
    }
}

/// Which rules people have added to the file's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Runtime {
    /// Those of the call's session.
    Session,
    /// None: as a new session would be ruled on.
    Anew,
}

/// The rules of a subagent: `agent_rules` in the call's `meta`.
// FAIL-CLOSED: rules that cannot be read refuse the call; they are never left out.
fn agent_rules(call: &Call, home: Option<&str>) -> Result<Option<Rules>, Malformed> {
    let given = call.meta.as_ref().and_then(|meta| meta.get("agent_rules"));
    let rules = given.map(|rules| rules_of(rules, "meta.agent_rules", home));
    rules.transpose().map_err(Malformed)
}

/// Whether any part of a call may be what one of these grants covers.
fn touches(facts: &Facts, granted: &[&Rule]) -> bool {
    let matcher = Matcher::new(facts, &[]);
    // A category is no tool, so it cannot be compared here.
    granted.iter().any(|it| it.tool.starts_with(CATEGORY) || matcher.rule(it) != RuleFit::No)
}

/// What the config says of an ask.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Handling {
    pub(super) requirements: Vec<Requirement>,
    pub(super) plan: Option<RoutePlan>,
    pub(super) steps: Vec<AskStep>,
    /// The rule by which the call has to say why it is made, which it does not.
    pub(super) unexplained: Option<String>,
}

impl Handling {
    pub(super) fn of(
        rules: &[AnswerRule],
        people: &People,
        routes: &Routes,
        seen: SeenCall<'_>,
        at: Moment<'_>,
    ) -> Self {
        Self {
            requirements: requirements(rules, people, seen),
            plan: routes.plan(people, seen, at),
            steps: routes.steps(people, seen, at),
            unexplained: unexplained(rules, seen).map(str::to_owned),
        }
    }

    /// The body with this. What a rule allowed but for a pause needs nobody in particular.
    // FAIL-CLOSED: silence approves nothing that needs certain people.
    pub(super) fn on(self, body: Body) -> Body {
        let Self { requirements, plan, steps, unexplained: _ } = self;
        let requirements = if body.held { Vec::new() } else { requirements };
        let silence = if requirements.is_empty() { body.silence } else { Silence::Deny };
        Body { requirements, silence, plan, steps, ..body }
    }
}

/// What every text begins with that a pattern covers.
fn beginning(pattern: &str) -> &str {
    pattern.split(GLOB).next().unwrap_or_default().trim_end()
}

/// Turns for work on large calls: as many as there are cores, so that no more threads than that are
/// busy.
#[derive(Debug)]
pub(super) struct Large(Semaphore);

impl Default for Large {
    fn default() -> Self {
        Self(Semaphore::new(available_parallelism().map_or(1, NonZero::get)))
    }
}

impl Large {
    /// Does this for a call of so many bytes. Where they are many it waits for its turn, and the
    /// runtime's workers do not wait for it.
    // INVARIANT: no call keeps the runtime's workers, however large it is. Work never asks for
    // another turn.
    pub(super) async fn run<T>(&self, bytes: usize, work: impl FnOnce() -> T) -> T {
        if bytes < LARGE {
            return work();
        }
        // It fails only when it is closed, which nobody does.
        let _turn = self.0.acquire().await;
        match Handle::current().runtime_flavor() {
            // With a single thread there is nobody to hand the others over to.
            RuntimeFlavor::CurrentThread => work(),
            _ => block_in_place(work),
        }
    }
}

/// About how many bytes of a call there is something to rule on in; past what is large nobody
/// counts on.
pub(super) fn bytes(call: &Call) -> usize {
    let Call { args, overrides, policy, meta, batch_remaining, .. } = call;
    let behind = match batch_remaining {
        Some(Batch::Calls(calls)) => calls.as_slice(),
        Some(Batch::Count(_)) | None => &[],
    };
    let values = [Some(args), overrides.as_ref(), policy.as_ref(), meta.as_ref()];
    let mut left = LARGE;
    for value in values.into_iter().flatten().chain(behind.iter().map(|call| &call.arguments)) {
        count(value, &mut left);
    }
    LARGE - left
}

fn count(value: &Value, left: &mut usize) {
    let here = 1 + value.as_str().map_or(0, str::len);
    *left = left.saturating_sub(here);
    match value {
        Value::Array(values) => {
            for value in values.iter().take(*left) {
                count(value, left);
            }
        }
        Value::Object(fields) => {
            for (key, value) in fields.iter().take(*left) {
                *left = left.saturating_sub(key.len());
                count(value, left);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use crate::ask::{
        call::Call,
        requirement::{Exclusion, VoteCount},
    };
    use countersign_domain::call::Behind;
    use serde_json::json;
    use std::{
        sync::{Arc, Condvar, Mutex, mpsc},
        time::Duration,
    };

    #[test]
    fn silence_approves_nothing_that_needs_certain_people() {
        let call = Call::new("a", "s", "t", serde_json::json!({}));
        let body = Body { silence: Silence::Approve, ..Body::new(call, "no rule") };
        let required = Requirement {
            rule: "two".to_owned(),
            group: None,
            also: Vec::new(),
            approvals: 2,
            deny: 1,
            count: VoteCount::People,
            exclude: Exclusion::Nobody,
        };
        let handling = Handling { requirements: vec![required], ..Handling::default() };
        let asked = handling.clone().on(body.clone());
        assert_eq!((asked.silence, asked.requirements.len()), (Silence::Deny, 1));
        assert_eq!(Handling::default().on(body.clone()).silence, Silence::Approve);
        // A pause holds what a rule allowed: nobody in particular answers that.
        let held = handling.on(Body { held: true, ..body });
        assert_eq!((held.silence, held.requirements.len()), (Silence::Approve, 0));
    }

    /// Longer than anything here may take.
    const LONG: Duration = Duration::from_secs(20);

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn a_small_call_is_served_while_more_large_ones_than_there_are_cores_are_at_work() {
        let large = Arc::new(Large::default());
        let open = Arc::<(Mutex<bool>, Condvar)>::default();
        let (begins, begun) = mpsc::channel();
        let cores = large.0.available_permits();
        let held: Vec<_> = (0..cores + 3)
            .map(|_| {
                let large = large.clone();
                let open = open.clone();
                let begins = begins.clone();
                let work = move || {
                    begins.send(()).unwrap();
                    let held = open.0.lock().unwrap();
                    let waited = open.1.wait_timeout_while(held, LONG, |open| !*open).unwrap();
                    !waited.1.timed_out()
                };
                tokio::spawn(async move { large.run(LARGE, work).await })
            })
            .collect();
        let all = tokio::task::spawn_blocking(move || {
            (0..cores).for_each(|_| begun.recv_timeout(LONG).unwrap());
            begun
        });
        let begun = all.await.unwrap();
        let small = large.clone();
        let small = tokio::spawn(async move { small.run(LARGE - 1, || "served").await });
        assert_eq!(tokio::time::timeout(LONG, small).await.unwrap().unwrap(), "served");
        assert!(begun.try_recv().is_err(), "no more large ones at once than there are cores");
        *open.0.lock().unwrap() = true;
        open.1.notify_all();
        for held in held {
            assert!(held.await.unwrap(), "it was let go by the small one, not by the time");
        }
    }

    #[tokio::test]
    async fn with_a_single_thread_it_is_done_all_the_same() {
        assert_eq!(Large::default().run(1 << 20, || 7).await, 7);
    }

    #[test]
    fn texts_keys_and_many_small_values_make_a_call_large_in_whatever_field() {
        let call = |args| Call::new("a", "s", "t", args);
        let text = "x".repeat(LARGE);
        let many = vec![0; 2 * LARGE];
        for value in [json!(text), json!({ "a": [text] }), json!({ text: 1 }), json!([many, 1])] {
            let small = call(json!({"command": "ls", "n": [1, 2]}));
            assert_eq!(bytes(&small), 1 + 7 + 3 + 1 + 1 + 1 + 1);
            let behind = Behind { tool: "t".into(), arguments: value.clone() };
            let large = [
                call(value.clone()),
                Call { overrides: Some(value.clone()), ..small.clone() },
                Call { policy: Some(value.clone()), ..small.clone() },
                Call { meta: Some(value), ..small.clone() },
                Call { batch_remaining: Some(Batch::Calls(vec![behind])), ..small },
            ];
            assert_eq!(large.map(|call| bytes(&call)), [LARGE; 5]);
        }
        assert!(bytes(&call(json!(vec![0; LARGE - 2]))) < LARGE);
    }
}
