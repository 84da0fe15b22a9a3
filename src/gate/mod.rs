//! The gate: calls come in, policy rules, asks wait, people answer.
//!
//! The gate publishes that something changed; the bridge subscribes. It knows no chat platform: its
//! audience is a list of names that it stores with every ask.
//!
//! INVARIANT: the waiter is registered before anything is sent, and re-reads the row after that; the
//! row is the truth, the oneshot only a wake-up.
//! INVARIANT: an answer is committed before its presser is told.

pub mod answer;
mod answering;
pub mod approvers;
pub mod ask;
pub mod call;
mod deadlines;
mod following;
mod granting;
mod layers;
mod policy;
pub mod question;
mod rules_file;
mod sessions;
mod waiting;
mod workers;

pub use answering::{Reply, Told};
pub use granting::Revoked;
pub use layers::{SESSION_ENDED, WORKER_GONE, approval_id};
pub use policy::Policy;
pub use rules_file::RulesFile;
pub use sessions::{ModeError, ModeSet};
pub use waiting::Attendance;
pub use workers::Workers;

use crate::{
    clock, ids, links,
    store::{Inserted, NewAsk, NewCard, Store, StoreError},
};
use approvers::Approvers;
use ask::{Ask, Body, By, Decision, State};
use call::{Call, Malformed};
use countersign_policy::{
    Floors, Layers, Mode, Outcome, Rule, Rules, Ruling, Verdict,
    profiles::{End, Given, Parting, Then},
};
use layers::Runtime;
use serde_json::json;
use std::sync::Arc;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use waiting::Waiters;

/// The core. One per daemon.
#[derive(Debug)]
pub struct Gate {
    store: Store,
    policy: Policy,
    approvers: Approvers,
    audience: Vec<Audience>,
    settings: Settings,
    waiters: Waiters,
    changes: watch::Sender<u64>,
    /// Held by whoever rules in a mode whose turns are counted.
    turns: tokio::sync::Mutex<()>,
    stopping: CancellationToken,
}

/// Where every ask is to be shown. The gate stores it and asks no more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Audience {
    /// Which adapter.
    pub adapter: String,
    /// Where, in the adapter's spelling.
    pub target: String,
}

/// What the operator has chosen.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How long a person has; milliseconds.
    pub timeout_ms: i64,
    /// What happens then.
    pub on_timeout: OnTimeout,
    /// The mode of sessions that have none of their own, in the profile's own words; its default
    /// where `None`.
    pub mode: Option<String>,
    /// The home folder of whoever runs the agents.
    pub home: Option<String>,
    /// This machine's name: only of calls from here can be seen where their paths lead.
    pub host: String,
    /// This daemon's name among those that share the store; no two processes have the same.
    pub daemon: String,
    /// How long a settled ask is kept; milliseconds.
    pub keep_ms: i64,
}

/// What happens to an ask that nobody answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OnTimeout {
    /// It is denied.
    Deny,
    /// It waits on.
    Wait,
    /// Calls of exactly these tools are approved, all others denied; never a critical call, never a
    /// question.
    Approve(Vec<String>),
}

/// What became of a call.
#[derive(Debug)]
#[must_use]
pub enum Handed {
    /// Policy ruled.
    Ruled(Box<Ruling>),
    /// A person has to.
    Asked(Box<Ask>),
}

/// Why a call was not taken. None of these lets it run.
#[derive(Debug, thiserror::Error)]
pub enum HandInError {
    /// The caller's mistake.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// The same key for another call.
    #[error(
        "the key `{0}` was used in this session for another call; a key names exactly one call"
    )]
    KeyTaken(String),
    /// The daemon stops, and asks nobody any more.
    #[error("this daemon stops; hand the call in again, with the same key, in a moment")]
    Stopping,
    /// The policy cannot rule on it.
    #[error("{0}")]
    Unruled(String),
    /// Ours.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A verdict with the rule and the reason behind it.
struct Decided {
    verdict: Verdict,
    rule: Option<String>,
    reason: String,
}

impl From<Outcome> for Decided {
    fn from(Outcome { verdict, rule, reason, .. }: Outcome) -> Self {
        Self { verdict, rule, reason }
    }
}

impl From<Ruling> for Decided {
    fn from(Ruling { verdict, rule, reason, .. }: Ruling) -> Self {
        Self { verdict, rule, reason }
    }
}

impl Gate {
    /// Puts the gate together.
    #[must_use]
    pub fn new(
        store: Store,
        policy: Policy,
        approvers: Approvers,
        audience: Vec<Audience>,
        settings: Settings,
    ) -> Arc<Self> {
        let changes = watch::Sender::new(0);
        let (waiters, stopping) = (Waiters::default(), CancellationToken::new());
        let turns = tokio::sync::Mutex::default();
        Arc::new(Self {
            store,
            policy,
            approvers,
            audience,
            settings,
            waiters,
            changes,
            turns,
            stopping,
        })
    }

    /// The store behind it.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// This daemon's name among those that share the store.
    #[must_use]
    pub fn daemon(&self) -> &str {
        &self.settings.daemon
    }

    /// Tells of every change of an ask; what changed stands in the store.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// What is wrong with the rules file at the moment, if something is.
    #[must_use]
    pub fn rules_problem(&self) -> Option<String> {
        self.policy.problem()
    }

    /// Lets every waiter go with the ask as it stands; no caller that leaves now closes its ask.
    pub fn stop(&self) {
        self.stopping.cancel();
    }

    /// Waits until [`Gate::stop`] is called.
    pub async fn stopped(&self) {
        self.stopping.cancelled().await;
    }

    /// Whether [`Gate::stop`] was called.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.stopping.is_cancelled()
    }

    /// Takes a call: rules on it, and where a person has to answer, opens an ask.
    ///
    /// # Errors
    /// [`HandInError`]; the call may then not run.
    pub async fn hand_in(&self, call: Call, attended: bool) -> Result<Handed, HandInError> {
        if self.is_stopping() {
            return Err(HandInError::Stopping);
        }
        let call = call.spell_out()?;
        call.check()?;
        let (mut ruling, problem) = self.rule_in_turn(&call).await?;
        if !call.questions.is_empty() && ruling.verdict == Verdict::Allow {
            // No rule can answer a question.
            ruling.verdict = Verdict::Ask;
            ruling.reason = "a question is answered by a person".to_owned();
        }
        if ruling.verdict != Verdict::Ask {
            self.note_ruling(&call, &ruling).await?;
            return Ok(Handed::Ruled(Box::new(ruling)));
        }
        let digest = call.digest();
        let now = clock::now_ms();
        let new = NewAsk {
            id: ids::ask_id(),
            deadline_at: self.deadline(&call, now),
            attended: attended && self.policy.dialect().manners().parting != Parting::Keep,
            body: self.body(call, ruling, problem),
            digest,
            keeper: self.settings.daemon.clone(),
            created_at: now,
        };
        let cards: Vec<_> = self.audience.iter().map(new_card).collect();
        match self.store.insert_ask(&new, &cards).await? {
            Inserted::New(ask) => {
                tracing::info!(ask_id = %ask.id, agent = %ask.body.call.agent,
                    tool = %ask.body.call.tool, "asking a person");
                self.changed();
                Ok(Handed::Asked(Box::new(ask)))
            }
            Inserted::Known(ask) if ask.digest == new.digest => Ok(Handed::Asked(Box::new(ask))),
            Inserted::Known(ask) => {
                Err(HandInError::KeyTaken(ask.body.call.key.unwrap_or_default()))
            }
        }
    }

    /// Rules on a call. What a mode with turns has allowed costs one of them.
    // INVARIANT: one such call at a time, so that no two share a turn.
    async fn rule_in_turn(&self, call: &Call) -> Result<(Ruling, Option<String>), HandInError> {
        let turn = async || -> Result<_, StoreError> {
            let mode = self.mode_of(&call.agent, &call.session).await?;
            Ok(mode.and_then(|mode| self.policy.dialect().turn(&mode)))
        };
        if turn().await?.is_none() {
            return self.rule(call).await;
        }
        let _alone = self.turns.lock().await;
        let turn = turn().await?;
        let (ruling, problem) = self.rule(call).await?;
        if let Some(turn) = turn
            && ruling.verdict == Verdict::Allow
            && ruling.rule.as_ref() == Some(&turn.rule)
        {
            let now = clock::now_ms();
            self.store.set_session_mode(&call.agent, &call.session, &turn.next, now).await?;
        }
        Ok((ruling, problem))
    }

    /// Rules on a call with the policy and grants as they stand now. The second is what is wrong with
    /// the policy's file, if something is.
    async fn rule(&self, call: &Call) -> Result<(Ruling, Option<String>), HandInError> {
        self.by_policy(call, countersign_policy::rule).await
    }

    /// The same verdict, rule and reason, maybe without what only a card needs.
    async fn decide(&self, call: &Call) -> Result<Decided, HandInError> {
        let decide = |call: &_, layers: &Layers<'_>, mode| {
            Decided::from(countersign_policy::decide(call, layers, mode))
        };
        Ok(self.by_policy(call, decide).await?.0)
    }

    /// The same as a session would be ruled on to which nothing was granted: by its file alone, where
    /// what is granted stands in one.
    async fn decide_anew(&self, call: &Call) -> Result<Decided, HandInError> {
        let Policy::Workers(workers, _) = &self.policy else { return self.decide(call).await };
        let facts = self.facts(call).await;
        let (ruling, _) = self.by_workers(workers, call, &facts, Runtime::Anew).await?;
        Ok(ruling.into())
    }

    /// The call as policy sees it, with where its paths lead.
    async fn facts(&self, call: &Call) -> countersign_policy::Call {
        let mut facts = policy_call(call, self.settings.home.as_deref());
        if call.host.as_ref().is_none_or(|host| *host == self.settings.host) {
            facts.resolved = resolve(facts.paths()).await;
        }
        facts
    }

    /// What policy makes of a call, and what is wrong with its file.
    async fn by_policy<T: From<Ruling>>(
        &self,
        call: &Call,
        by_rules: impl FnOnce(&countersign_policy::Call, &Layers<'_>, Mode) -> T,
    ) -> Result<(T, Option<String>), HandInError> {
        let now = clock::now_ms();
        let (always, here) = self.grants_of(call, now).await?;
        let mode = self.mode_of(&call.agent, &call.session).await?;
        let facts = self.facts(call).await;
        match &self.policy {
            Policy::Workers(workers, _) => {
                let ruled = self.by_workers(workers, call, &facts, Runtime::Session).await?;
                Ok((ruled.0.into(), ruled.1))
            }
            Policy::Rules(file, _) => {
                let rules = file.current(&always);
                let grants = Rules::from_rules(&here);
                let layers = Layers {
                    agent: None,
                    rules: &rules.rules,
                    grants: &grants,
                    floors: &rules.floors,
                    now_ms: now,
                };
                let mode = if mode.as_deref() == Some("yolo") { Mode::Yolo } else { Mode::Default };
                Ok((by_rules(&facts, &layers, mode), rules.problem.clone()))
            }
            Policy::Native(native) => {
                let granted: Vec<Rule> = always.into_iter().chain(here).collect();
                let given = Given {
                    mode: mode.as_deref(),
                    grants: &granting::as_kept(&granted),
                    agent_rules: None,
                    floors: &Floors::default(),
                    reachable: self.approvers.anybody(),
                    now_ms: now,
                };
                let (ruling, problem) =
                    native.rule(&facts, &given).map_err(HandInError::Unruled)?;
                Ok((ruling.into(), problem))
            }
        }
    }

    /// What the agent's model is told of how an ask ended, in its system's own words.
    #[must_use]
    pub fn told(&self, ask: &Ask) -> Option<String> {
        let answer = ask.answer()?;
        let by = answer.by.to_string();
        let reason = answer.reason.as_deref();
        let end = match (&ask.state, answer.decision, &answer.by) {
            (_, Decision::Approve, _) => End::Approved { by: &by },
            (State::Cancelled(_), ..) => End::Cancelled { reason: reason.unwrap_or_default() },
            (_, _, By::NoApprover) => End::Unreachable,
            (State::Expired(_), ..) => {
                let waited = answer.at.saturating_sub(ask.created_at) / 1000;
                End::TimedOut { after_s: u64::try_from(waited).unwrap_or_default() }
            }
            _ => End::Denied { by: &by, reason, then: answer.then },
        };
        let call = policy_call(&ask.body.call, self.settings.home.as_deref());
        self.policy.dialect().told(&call, &end)
    }

    /// What the agent's model is told of a call that policy denied.
    #[must_use]
    pub fn told_of_ruling(&self, call: &Call, ruling: &Ruling) -> Option<String> {
        let end = match ruling.verdict {
            Verdict::Deny => {
                End::Forbidden { reason: &ruling.reason, rule: ruling.rule.as_deref() }
            }
            Verdict::Allow | Verdict::Ask => return None,
        };
        self.policy.dialect().told(&policy_call(call, self.settings.home.as_deref()), &end)
    }

    /// The unchanging part of a new ask.
    fn body(&self, call: Call, mut ruling: Ruling, rules_problem: Option<String>) -> Body {
        let manners = self.policy.dialect().manners();
        if !call.questions.is_empty() {
            // A question runs nothing, and no rule can answer the next one.
            ruling.always.clear();
            ruling.exact.clear();
            ruling.prefix.clear();
            ruling.effects.clear();
        }
        let category = call.category.as_deref().unwrap_or("exec");
        Body {
            why: ruling.reason,
            rule: ruling.rule,
            always: ruling.always,
            exact: ruling.exact,
            prefix: ruling.prefix.iter().map(|text| granting::of_prefix(category, text)).collect(),
            effects: ruling.effects.iter().map(ToString::to_string).collect(),
            critical: ruling.critical,
            rules_problem,
            choices: manners.choices.to_vec(),
            deny: if call.questions.is_empty() { manners.deny } else { Then::GoOn },
            lasts: manners.always,
            silence: self.silence(&call, ruling.critical),
            prompt: ruling.prompt,
            call,
        }
    }

    async fn note_ruling(&self, call: &Call, ruling: &Ruling) -> Result<(), StoreError> {
        tracing::info!(agent = %call.agent, tool = %call.tool, verdict = %ruling.verdict,
            reason = %ruling.reason, "ruled");
        if ruling.verdict != Verdict::Deny {
            return Ok(());
        }
        let data = json!({"agent": call.agent, "session": call.session, "tool": call.tool,
            "verdict": ruling.verdict, "reason": ruling.reason});
        self.store.note(clock::now_ms(), "ruled", None, &data).await
    }

    fn deadline(&self, call: &Call, now: i64) -> Option<i64> {
        const LONGEST_MS: i64 = 7 * 86_400_000;
        match (call.expires_in_s, &self.settings.on_timeout) {
            (Some(seconds), _) => {
                let ms = i64::try_from(seconds).unwrap_or(LONGEST_MS).saturating_mul(1000);
                Some(now + ms.min(LONGEST_MS))
            }
            (None, OnTimeout::Wait) => None,
            (None, _) => Some(now + self.settings.timeout_ms),
        }
    }

    fn changed(&self) {
        self.changes.send_modify(|count| *count = count.wrapping_add(1));
    }
}

/// The call as policy sees it: exactly the arguments that would be executed.
fn policy_call(call: &Call, home: Option<&str>) -> countersign_policy::Call {
    countersign_policy::Call {
        tool: call.tool.clone(),
        args: call.args.clone(),
        category: call.category.clone(),
        tier: call.tier.clone(),
        overrides: call.overrides.clone(),
        policy: call.policy.clone(),
        policy_key: call.policy_key.clone(),
        requester: call.requester.clone(),
        reason: call.reason.clone(),
        cwd: call.cwd.clone(),
        home: home.map(str::to_owned),
        session: Some(call.session.clone()),
        ..countersign_policy::Call::default()
    }
}

/// Where paths really lead, so that a link does not walk around a deny rule.
async fn resolve(paths: Vec<String>) -> Vec<String> {
    if paths.is_empty() {
        return paths;
    }
    let follow = move || paths.iter().filter_map(|path| links::follow(path)).collect();
    tokio::task::spawn_blocking(follow).await.unwrap_or_default()
}

fn new_card(audience: &Audience) -> NewCard {
    NewCard {
        nonce: ids::nonce(),
        adapter: audience.adapter.clone(),
        target: audience.target.clone(),
    }
}
