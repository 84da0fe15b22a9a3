//! Taking calls: what policy does not rule becomes an ask, with its caller.
//!
//! A call goes one way, and [`Submission::run`] is that way: *identify* says whose call it is,
//! *decide* what policy makes of it, *restrict* makes an allowed call ask, *hold* lets nothing run
//! in a pause, *recall* spares people what they have said of exactly this call, and *record* notes
//! the end or opens the ask. A step that tightens belongs into *restrict*, before the pause is read;
//! one that spares people an ask into *recall*, behind everything that denies.

use super::{
    AttachedCaller, Gate, TooMuch,
    agents::is_same,
    ask::{Ask, Body, Silence, deadline::PauseMode, requirement::Requirement},
    budgets::Take,
    call::{Accepts, Appeal, Call, Malformed},
    evaluate::{Given, Handling, bytes},
    grants, load,
    pause::sentence,
};
use countersign_domain::wire::TokenLimits;
use countersign_policy::{Decision, Verdict, effects};
use countersign_port::{line, locked};
use countersign_profiles::{OnDeny, OnDisconnect, PromptChoice};
use countersign_store::{AgentToken, Inserted, NewEvent, Store, StoreError};
use countersign_tokens::{clock, ids};
use serde_json::{Value, json};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{sync::Notify, time::Instant};
use tokio_util::sync::CancellationToken;

/// How long calls are gathered before they are written: what a crash may lose.
const TOGETHER: Duration = Duration::from_millis(200);
/// How many wait at most. A caller that finds more writes them and waits.
const MOST: usize = 4_096;
/// What became of a call.
#[derive(Debug)]
#[must_use]
pub enum SubmitOutcome {
    /// Policy ruled.
    Ruled(Box<Decision>),
    /// A person has to; with the caller that waits for it, if one does and the ask is open.
    Asked(Box<Ask>, Option<AttachedCaller>),
}

/// Why a call was not taken. None of these lets it run.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    /// The caller's mistake.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// The same key for another call.
    #[error(
        "the key `{0}` was used in this session for another call; a key names exactly one call"
    )]
    KeyTaken(String),
    /// The token that names the agent is missing, or not accepted any more.
    #[error("{0}")]
    NotThisAgent(String),
    /// The daemon stops, and asks nobody any more.
    #[error("this daemon is stopping; submit the call again, with the same key, in a moment")]
    Stopping,
    /// The policy cannot rule on it.
    #[error("{0}")]
    Unruled(String),
    /// More than may be open at once, or faster than it may come.
    #[error(transparent)]
    TooMuch(#[from] TooMuch),
    /// Ours.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Gate {
    /// Takes a call: rules on it, and where a person has to answer, opens an ask. An `attended`
    /// call has a caller that waits for the answer; when it leaves, now or later, its ask is
    /// cancelled.
    ///
    /// # Errors
    /// [`SubmitError`]; the call may then not run.
    // INVARIANT: an ask is opened together with its caller, and that is finished though the caller
    // has left: no ask stays open that nobody waits for, and none that is stored goes unannounced.
    pub async fn submit(
        self: &Arc<Self>,
        call: Call,
        attended: bool,
    ) -> Result<SubmitOutcome, SubmitError> {
        let gate = self.clone();
        let submitted = tokio::spawn(async move { gate.take(call, attended).await });
        // It ends early only with its runtime.
        submitted.await.unwrap_or(Err(SubmitError::Stopping))
    }

    async fn take(
        self: Arc<Self>,
        call: Call,
        attended: bool,
    ) -> Result<SubmitOutcome, SubmitError> {
        let id = ids::ask_id();
        match Submission::run(&self, &id, call, attended).await {
            Ok(SubmitOutcome::Asked(ask, _)) => {
                let caller = (attended && ask.is_open()).then(|| self.attach(&ask.id));
                Ok(SubmitOutcome::Asked(ask, caller))
            }
            Err(error) => {
                if attended && matches!(error, SubmitError::Store(StoreError::Uncertain(_))) {
                    // It may be open, and its caller is told that it is not known to be.
                    self.attach(&id).store_failed();
                }
                Err(error)
            }
            ruled => ruled,
        }
    }

    /// Returns who approved exactly this call ahead. Asks nobody and decides nothing else: where
    /// nothing was approved, the caller decides as if there were no countersign.
    ///
    /// # Errors
    /// [`SubmitError`]; the call is then not approved.
    // FAIL-CLOSED: what the rules deny by now, what a person denied a moment ago and what a pause
    // holds is not approved, and its grant is not spent.
    pub async fn approved_ahead(
        self: &Arc<Self>,
        call: Call,
        take: Take,
    ) -> Result<Option<String>, SubmitError> {
        let id = ids::ask_id();
        let it = Submission::identify(self, &id, call, false).await?;
        // First, because this is asked before every call of an agent, and most were never approved.
        if self.ahead_of(&it.call, &it.digest, clock::now_ms()).await?.is_empty()
            || it.of_a_paused_agent().await?.is_some()
        {
            return Ok(None);
        }
        let mut ruling = it.decide().await?;
        if ruling.decision.verdict == Verdict::Allow {
            ruling.decision.verdict = Verdict::Ask;
        }
        let Ruling { decision, given, .. } = &ruling;
        if decision.verdict == Verdict::Deny
            || it.denied_before(decision).await?.is_some()
            || self.store.pause().await?.is_some()
        {
            return Ok(None);
        }
        let required = self.handling(&it.call, &given.facts, decision).await.requirements;
        Ok(self.spend(&it.call, decision, &it.digest, &required, take).await?)
    }

    /// The call as it would be submitted now, and why it may not run by now although a person
    /// approved it.
    ///
    /// # Errors
    /// [`SubmitError`]
    pub(super) async fn recheck(self: &Arc<Self>, call: Call) -> Result<Rechecked, SubmitError> {
        let id = ids::ask_id();
        let it = Submission::identify(self, &id, call, false).await?;
        let held = it.of_a_paused_agent().await?.map(|denial| denial.reason);
        let Decision { verdict, reason, .. } = it.decide().await?.decision;
        let denied = (verdict == Verdict::Deny).then_some(reason);
        Ok(Rechecked { call: it.call, digest: it.digest, held, denied })
    }

    /// Whether a call's key was used before, so that its caller comes back to the ask that it has.
    pub(super) async fn is_known(&self, call: &Call) -> Result<bool, StoreError> {
        let Some(key) = &call.key else { return Ok(false) };
        self.store.knows_key(&call.agent, &call.session, key).await
    }

    /// The unchanging part of a new ask.
    fn body(&self, call: Call, mut ruling: Decision, rules_problem: Option<String>) -> Body {
        let behaviour = self.system().prompt_behaviour();
        // A budget and an appeal remember their calls and nothing else.
        let is_ahead = call.budget.is_some() || call.appeal.is_some();
        if !call.questions.is_empty() || is_ahead {
            // A question runs nothing, and no rule can answer the next one.
            ruling.always.clear();
            ruling.exact.clear();
            ruling.prefix.clear();
        }
        if !call.questions.is_empty() {
            ruling.effects.clear();
        }
        effects::worst_first(&mut ruling.effects);
        let mut choices = if is_ahead { Vec::new() } else { behaviour.choices.to_vec() };
        let stops = call.accepts.contains(&Accepts::Stop) && behaviour.deny != OnDeny::Stop;
        if stops && call.questions.is_empty() && !choices.contains(&PromptChoice::DenyAndStop) {
            choices.push(PromptChoice::DenyAndStop);
        }
        let category = call.category.as_deref().unwrap_or("exec");
        Body {
            rule: ruling.rule,
            always: ruling.always,
            always_from: ruling.always_from,
            exact: ruling.exact,
            prefix: ruling.prefix.iter().map(|text| grants::of_prefix(category, text)).collect(),
            effects: ruling.effects.iter().map(ToString::to_string).collect(),
            critical: ruling.critical,
            rules_problem,
            cautions: self.choices().cautions(),
            choices,
            deny: if call.questions.is_empty() { behaviour.deny } else { OnDeny::GoOn },
            lasts: behaviour.always,
            // FAIL-CLOSED: silence approves nothing ahead.
            silence: if is_ahead { Silence::Deny } else { self.silence(&call, ruling.critical) },
            late_yes_s: self.choices().settings.late_yes_s,
            prompt: ruling.prompt,
            ..Body::new(call, ruling.reason)
        }
    }

    async fn note(&self, call: &Call, ruling: &Decision, digest: &str) -> Result<(), SubmitError> {
        tracing::info!(agent = %call.agent, tool = %call.tool, verdict = %ruling.verdict,
            reason = %ruling.reason, "ruled");
        if ruling.verdict != Verdict::Deny {
            return self.allowed.note(call, ruling, digest).await;
        }
        let data = noted(call, ruling, digest);
        Ok(self.store.note(clock::now_ms(), "ruled", None, &data).await?)
    }
}

/// A call that a person was asked about before.
pub(super) struct Rechecked {
    /// It, under the name of whose it is.
    pub(super) call: Call,
    pub(super) digest: String,
    /// Why it is not its time: its agent is paused.
    pub(super) held: Option<String>,
    /// Why the rules deny it by now.
    pub(super) denied: Option<String>,
}

/// A call on its way.
struct Submission<'g> {
    gate: &'g Arc<Gate>,
    /// The id of the ask that it may become.
    id: &'g str,
    call: Call,
    attended: bool,
    digest: String,
    /// The token under whose name its agent acts.
    token: Option<AgentToken>,
}

/// What has been decided on a call so far.
struct Ruling {
    decision: Decision,
    /// What is wrong with the policy's file.
    problem: Option<String>,
    /// What policy was given: the call's facts and its session, read once.
    given: Given,
    /// Whose answers the calls of a budget need.
    ahead: Option<Vec<Requirement>>,
    /// Whether a pause holds it though it was allowed.
    held: bool,
}

/// What people have said of exactly this call.
enum Recalled {
    /// This, so nobody is asked.
    Said(Decision),
    /// Nothing; so it is asked, of these people and there.
    Nothing(Handling),
}

impl<'g> Submission<'g> {
    async fn run(
        gate: &'g Arc<Gate>,
        id: &'g str,
        call: Call,
        attended: bool,
    ) -> Result<SubmitOutcome, SubmitError> {
        let it = Self::identify(gate, id, call, attended).await?;
        if let Some(denial) = it.of_a_paused_agent().await? {
            return it.end(denial).await;
        }
        let mut ruling = it.decide().await?;
        let decided = ruling.decision.verdict;
        it.restrict(&mut ruling).await?;
        let left = it.is_left(decided, &ruling).await?;
        it.hold(&mut ruling).await?;
        // FAIL-CLOSED: in a pause nothing is left to anybody else, as it would run.
        let left =
            left && ruling.decision.verdict != Verdict::Deny && gate.store.pause().await?.is_none();
        if left {
            ruling.decision.verdict = Verdict::Ask;
        }
        match ruling.decision.verdict {
            Verdict::Deny => it.end(ruling.decision).await,
            Verdict::Allow => it.run_now(ruling.decision).await,
            Verdict::Ask => match it.recall(&ruling).await? {
                Recalled::Said(decision) => it.end(decision).await,
                Recalled::Nothing(_) if left => Ok(SubmitOutcome::Ruled(Box::new(ruling.decision))),
                Recalled::Nothing(handling) => match it.unexplained(&ruling, &handling) {
                    Some(denial) => it.end(denial).await,
                    None => it.ask(ruling, handling).await,
                },
            },
        }
    }

    /// The call in full, under the name of whose it is.
    async fn identify(
        gate: &'g Arc<Gate>,
        id: &'g str,
        call: Call,
        attended: bool,
    ) -> Result<Self, SubmitError> {
        if gate.is_stopping() {
            return Err(SubmitError::Stopping);
        }
        let size = bytes(&call);
        let read = || call.spell_out().and_then(|call| call.check().map(|()| call));
        let call = gate.beside(size, read).await?;
        let (call, token) = gate.named(call).await?;
        let digest = gate.beside(size, || call.digest()).await;
        Ok(Self { gate, id, call, attended, digest, token })
    }

    async fn of_a_paused_agent(&self) -> Result<Option<Decision>, SubmitError> {
        let Some(token) = &self.token else { return Ok(None) };
        Ok(self.gate.while_agent_paused(&self.call, token).await?)
    }

    /// What policy makes of it.
    async fn decide(&self) -> Result<Ruling, SubmitError> {
        let gate = self.gate;
        let call = &self.call;
        let mut given = gate.given(call).await?;
        let (decision, problem, ahead) = match &call.budget {
            Some(budget) => {
                let (decision, ahead) = gate.decide_budget(call, budget).await?;
                (decision, None, Some(ahead))
            }
            None => {
                let (decision, problem) = gate.rule_in_turn(call, &mut given).await?;
                (decision, problem, None)
            }
        };
        Ok(Ruling { decision, problem, given, ahead, held: false })
    }

    /// Makes what is allowed ask where people answer all the same.
    async fn restrict(&self, ruling: &mut Ruling) -> Result<(), SubmitError> {
        let Ruling { decision, given, .. } = ruling;
        if !self.call.questions.is_empty() && decision.verdict == Verdict::Allow {
            // No rule can answer a question.
            decision.verdict = Verdict::Ask;
            decision.reason = "a question is answered by a person".to_owned();
        }
        if let Some(appeal) = &self.call.appeal
            && decision.verdict != Verdict::Deny
        {
            // SECURITY: a rule was made for calls that nobody holds suspect; what a machine has
            // blocked, a person releases.
            let critical = Some(&decision.reason).filter(|_| decision.critical);
            let critical = critical.map(|why| format!(" {why}")).unwrap_or_default();
            let against = line(&appeal.against);
            let reason = line(&appeal.reason);
            let blocked = Appeal { against, reason }.sentence("this");
            decision.reason = format!("{blocked}.{critical}");
            (decision.verdict, decision.rule) = (Verdict::Ask, None);
        }
        if decision.verdict == Verdict::Allow
            && let Some(why) = self.gate.outranked(&self.call, given, decision).await?
        {
            (decision.verdict, decision.rule, decision.reason) = (Verdict::Ask, None, why);
        }
        Ok(())
    }

    /// Whether a call that has another judge is left to it: no rule asks for it or denies it.
    // FAIL-CLOSED: what is critical, guarded or cannot be read asks, as it does under a rule that
    // allows everything.
    async fn is_left(&self, decided: Verdict, ruling: &Ruling) -> Result<bool, SubmitError> {
        let call = &self.call;
        let asks = call.appeal.is_some() || call.budget.is_some() || !call.questions.is_empty();
        if !call.rules_only || asks {
            return Ok(false);
        }
        match (decided, ruling.decision.verdict) {
            (Verdict::Allow, Verdict::Allow) => Ok(true),
            (Verdict::Ask, Verdict::Ask) => Ok(!self.gate.is_ruled(call, &ruling.given).await?),
            _ => Ok(false),
        }
    }

    /// Lets nothing run while everything is paused.
    // INVARIANT: read after the decision, so that no decision from before the pause is told
    // after it.
    // FAIL-CLOSED: a denial stays one, and nothing else is allowed. A call that was submitted
    // before gets the ask that it has.
    async fn hold(&self, ruling: &mut Ruling) -> Result<(), SubmitError> {
        let Some(pause) = self.gate.store.pause().await? else { return Ok(()) };
        let decision = &mut ruling.decision;
        match (decision.verdict, pause.mode) {
            (Verdict::Deny, _) => {}
            (Verdict::Allow | Verdict::Ask, PauseMode::Deny)
                if !self.gate.is_known(&self.call).await? =>
            {
                decision.verdict = Verdict::Deny;
                decision.rule = None;
                decision.reason = format!("{}: nothing runs until it is resumed", sentence(&pause));
            }
            (Verdict::Allow, _) => {
                decision.verdict = Verdict::Ask;
                decision.reason =
                    format!("{}: it is held, though it needs no person", sentence(&pause));
                ruling.held = true;
            }
            (Verdict::Ask, _) => {}
        }
        Ok(())
    }

    /// What people have said of exactly this call: a moment ago, or ahead.
    async fn recall(&self, ruling: &Ruling) -> Result<Recalled, SubmitError> {
        let Ruling { decision, given, .. } = ruling;
        // First, because what a machine did is noted whatever was said since.
        if let Some(denial) = self.settled(decision).await? {
            return Ok(Recalled::Said(denial));
        }
        if let Some(denial) = self.denied_before(decision).await? {
            return Ok(Recalled::Said(denial));
        }
        let handling = self.gate.handling(&self.call, &given.facts, decision).await;
        if self.call.appeal.is_some() {
            return Ok(Recalled::Nothing(handling));
        }
        let required = &handling.requirements;
        let spent = self.gate.spend(&self.call, decision, &self.digest, required, Take::Spend);
        let spent = spent.await?;
        let verdict = Verdict::Allow;
        let allow = |reason| Decision { verdict, reason, rule: None, ..decision.clone() };
        Ok(spent.map_or(Recalled::Nothing(handling), |why| Recalled::Said(allow(why))))
    }

    /// The denial of a person who denied the same call a moment ago. A caller that comes back under
    /// its key gets its own ask instead.
    async fn denied_before(&self, asks: &Decision) -> Result<Option<Decision>, SubmitError> {
        let said = self.gate.denials.recall(&self.digest);
        let Some(reason) = said.filter(|_| self.call.questions.is_empty()) else { return Ok(None) };
        if self.gate.is_known(&self.call).await? {
            return Ok(None);
        }
        let verdict = Verdict::Deny;
        Ok(Some(Decision { verdict, reason, rule: None, ..asks.clone() }))
    }

    /// The end of an appeal about which nobody is asked again. A caller that comes back under its
    /// key gets its own ask instead.
    async fn settled(&self, asks: &Decision) -> Result<Option<Decision>, SubmitError> {
        if self.call.appeal.is_none() || self.gate.is_known(&self.call).await? {
            return Ok(None);
        }
        let why = self.gate.settled(&self.call, &self.digest).await?;
        let verdict = Verdict::Deny;
        Ok(why.map(|reason| Decision { verdict, reason, rule: None, ..asks.clone() }))
    }

    /// The denial of a call that does not say why it is made, where a rule wants that. A machine's
    /// block cannot be told what is missing, and a call that a pause holds needs nobody's answer.
    fn unexplained(&self, ruling: &Ruling, handling: &Handling) -> Option<Decision> {
        let call = &self.call;
        let exempt = call.appeal.is_some() || !call.questions.is_empty() || ruling.held;
        let rule = handling.unexplained.as_ref().filter(|_| !exempt)?;
        let reason = format!(
            "the rule {} needs a reason, and this call has none: repeat it with a `description` \
             or `reason`",
            line(rule)
        );
        let verdict = Verdict::Deny;
        Some(Decision { verdict, reason, rule: None, ..ruling.decision.clone() })
    }

    /// Notes an end without an ask.
    async fn end(self, decision: Decision) -> Result<SubmitOutcome, SubmitError> {
        self.gate.note(&self.call, &decision, &self.digest).await?;
        Ok(SubmitOutcome::Ruled(Box::new(decision)))
    }

    /// Notes that a rule or a grant lets it run.
    async fn run_now(self, decision: Decision) -> Result<SubmitOutcome, SubmitError> {
        let Self { gate, call, digest, token, .. } = &self;
        gate.note(call, &decision, digest).await?;
        gate.uses.count(call, decision.deciding_rule.as_ref());
        let scope = token.as_ref().map(|token| token.scope.clone());
        gate.consider_review(call, &decision, digest, scope);
        Ok(SubmitOutcome::Ruled(Box::new(decision)))
    }

    /// Opens its ask.
    async fn ask(
        self,
        ruling: Ruling,
        mut handling: Handling,
    ) -> Result<SubmitOutcome, SubmitError> {
        let gate = self.gate;
        let token = self.token.clone();
        handling.requirements = ruling.ahead.clone().unwrap_or(handling.requirements);
        if let Some(token) = &token {
            handling = gate.scoped(handling, &ruling.decision, &token.scope).await?;
        }
        let since = Instant::now();
        let new = self.new_ask(ruling, handling);
        let opening = gate.opening.read().await;
        let choices = gate.choices();
        let cards = choices.cards(new.body.plan.as_ref());
        let call = &new.body.call;
        let bytes = load::size(&new.body);
        let room = gate.load.make_room(&gate.store, &choices.settings.limits, call, bytes).await?;
        let limited = token.as_ref().filter(|it| it.limits != TokenLimits::default());
        let limited = limited.map(|it| it.id.as_str());
        match gate.store.insert_ask(&new, &cards, limited).await? {
            Inserted::New(ask) => {
                room.fill();
                gate.count_wait(&ask, since);
                tracing::info!(ask_id = %ask.id, agent = %ask.body.call.agent,
                    tool = %ask.body.call.tool, "asking a person");
                gate.changed();
                gate.end_appeals(&ask).await?;
                Ok(SubmitOutcome::Asked(Box::new(gate.checked(ask).await?), None))
            }
            Inserted::Known(ask) if is_same(&ask, &new) => {
                Ok(SubmitOutcome::Asked(Box::new(ask), None))
            }
            Inserted::Known(ask) => {
                Err(SubmitError::KeyTaken(ask.body.call.key.unwrap_or_default()))
            }
            Inserted::OverLimit(limit) => {
                drop((room, opening));
                // FAIL-CLOSED: only a token's agent has limits.
                let Some(token) = token else { return Err(SubmitError::Stopping) };
                let denial = gate.over_limit(call, &token, limit).await?;
                gate.note(call, &denial, &new.digest).await?;
                Ok(SubmitOutcome::Ruled(Box::new(denial)))
            }
        }
    }

    fn new_ask(self, ruling: Ruling, handling: Handling) -> Ask {
        let Self { gate, id, call, attended, digest, token: _ } = self;
        let Ruling { decision, problem, held, .. } = ruling;
        let now = clock::now_ms();
        let attended =
            attended && gate.system().prompt_behaviour().on_disconnect != OnDisconnect::Keep;
        let here = attended.then_some(gate.daemon());
        let deadline_at = gate.deadline(&call, now);
        let body = handling.on(Body { held, ..gate.body(call, decision, problem) });
        let attached = here.into_iter().collect();
        Ask { attended, attached, deadline_at, ..Ask::opened(id, digest, body, now) }
    }
}

/// Calls that policy allows, for the log. They are noted in memory and written together: an allowed
/// call waits for no commit, and a crash loses those of the last moment.
#[derive(Debug)]
pub struct AllowedCalls {
    store: Store,
    waiting: Mutex<Vec<NewEvent>>,
    news: Notify,
}

impl AllowedCalls {
    pub(super) fn new(store: Store) -> Self {
        Self { store, waiting: Mutex::default(), news: Notify::new() }
    }

    /// Notes an allowed call.
    ///
    /// # Errors
    /// When too many wait and the store fails.
    // FAIL-CLOSED: a call that cannot be noted any more is not allowed.
    async fn note(
        &self,
        call: &Call,
        decision: &Decision,
        digest: &str,
    ) -> Result<(), SubmitError> {
        let data = noted(call, decision, digest);
        let event = NewEvent { at: clock::now_ms(), kind: "allowed".to_owned(), ask: None, data };
        let waiting = {
            let mut waiting = locked(&self.waiting);
            waiting.push(event);
            waiting.len()
        };
        self.news.notify_one();
        if waiting > MOST {
            self.write().await?;
        }
        Ok(())
    }

    /// Writes what was noted.
    ///
    /// # Errors
    /// When the store fails; then it is written later.
    async fn write(&self) -> Result<(), StoreError> {
        let taken = || std::mem::take(&mut *locked(&self.waiting));
        let events = taken();
        if events.is_empty() {
            return Ok(());
        }
        let written = self.store.note_all(events.clone()).await;
        // One that may have been committed is not written again: the log would count it twice.
        if let Err(error) = &written
            && !matches!(error, StoreError::Uncertain(_))
        {
            let mut waiting = locked(&self.waiting);
            let since = std::mem::replace(&mut *waiting, events);
            waiting.extend(since);
        }
        written
    }

    /// Writes what is noted, until told to stop.
    pub async fn keep_written(&self, stop: CancellationToken) {
        while stop.run_until_cancelled(self.news.notified()).await.is_some() {
            let _ = stop.run_until_cancelled(tokio::time::sleep(TOGETHER)).await;
            if let Err(error) = self.write().await {
                tracing::debug!(%error, "allowed calls are written to the log later");
                self.news.notify_one();
            }
        }
        if let Err(error) = self.write().await {
            tracing::warn!(%error, "the latest allowed calls are not in the log");
        }
    }
}

/// A ruling as the log tells of it.
fn noted(call: &Call, ruling: &Decision, digest: &str) -> Value {
    let denied = ruling.verdict == Verdict::Deny;
    // With a token of its own, its agent reads it and other agents do not.
    let has_token = call.owner.as_ref().is_some_and(|owner| owner.token().is_some());
    let fields = [
        Some(("agent", json!(call.agent))),
        Some(("session", json!(call.session))),
        Some(("tool", json!(call.tool))),
        Some(("digest", json!(digest))),
        denied.then(|| ("verdict", json!(ruling.verdict))),
        Some(("rule", json!(ruling.rule))),
        Some(("reason", json!(ruling.reason))),
        has_token.then(|| ("token", json!(call.agent))),
    ];
    let fields = fields.into_iter().flatten();
    Value::Object(fields.map(|(name, value)| (name.to_owned(), value)).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]
    use super::*;
    use countersign_policy::{Layers, Mode, Rules, decide};
    use countersign_store::testkit::engines::on_both;

    fn allowed(call: &Call) -> Decision {
        let all = Rules::parse(r#"{"*": "allow"}"#, "rules", None).unwrap();
        let none = Rules::default();
        let guardrail = countersign_policy::Guardrail::default();
        let layers =
            Layers { agent: None, rules: &all, grants: &none, guardrail: &guardrail, now_ms: 0 };
        decide(&call.for_policy(None), &layers, Mode::Default)
    }

    #[tokio::test]
    async fn allowed_calls_are_written_once_and_in_their_order() {
        on_both(async |store| {
            let calls = AllowedCalls::new(store.clone());
            for n in 0..MOST + 3 {
                let call = Call::new("a", "s", "t", json!({ "n": n }));
                calls.note(&call, &allowed(&call), &n.to_string()).await.unwrap();
            }
            calls.write().await.unwrap();
            calls.write().await.unwrap();
            let mut digests = Vec::new();
            let mut last = 0;
            loop {
                let events = store.events_after(last, 500).await.unwrap();
                let Some(newest) = events.last() else { break };
                last = newest.id;
                digests.extend(events.into_iter().map(|event| {
                    assert_eq!(
                        (event.kind.as_str(), &event.data["tool"]),
                        ("allowed", &json!("t"))
                    );
                    event.data["digest"].as_str().unwrap().to_owned()
                }));
            }
            assert!(digests.into_iter().eq((0..MOST + 3).map(|n| n.to_string())));
        })
        .await;
    }
}
