//! The gate: calls come in, policy rules, asks wait, people answer.
//!
//! The gate publishes that something changed; the bridge subscribes. It knows no chat platform: its
//! audience is a list of names that it stores with every ask.
//!
//! INVARIANT: the waiter is registered before anything is sent, and re-reads the row after that; the
//! row is the truth: the oneshot carries it as it was committed, or only wakes.
//! INVARIANT: an answer is committed before its presser is told.

pub mod answer;
mod answering;
pub mod approvers;
pub mod ask;
mod attending;
pub mod call;
mod deadlines;
mod following;
mod granting;
pub mod keepers;
mod layers;
mod partings;
mod policy;
pub mod question;
mod rules_file;
mod ruling;
mod sessions;
mod waiting;
mod workers;

pub use answering::{Reply, Told};
pub use attending::Attendance;
pub use granting::Revoked;
pub use layers::{SESSION_ENDED, WORKER_GONE, approval_id};
pub use policy::Policy;
pub use rules_file::RulesFile;
pub use sessions::{ModeError, ModeSet};
pub use workers::Workers;

use crate::{
    clock, ids,
    store::{Inserted, NewAsk, NewCard, Store, StoreError},
};
use approvers::Approvers;
use ask::{Ask, Body};
use call::{Call, Malformed};
use countersign_policy::{
    Ruling, Verdict,
    profiles::{Parting, Then},
};
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
        let attended = attended && self.policy.dialect().manners().parting != Parting::Keep;
        let here = attended.then_some(self.settings.daemon.as_str());
        let new = NewAsk {
            id: ids::ask_id(),
            deadline_at: self.deadline(&call, now),
            attended,
            body: self.body(call, ruling, problem),
            digest,
            daemon: self.settings.daemon.clone(),
            keepers: here.into_iter().collect(),
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

    /// An ask was closed, and that is committed.
    fn closed(&self, ask: &Ask) {
        self.waiters.bring(ask);
        self.changed();
    }

    fn changed(&self) {
        self.changes.send_modify(|count| *count = count.wrapping_add(1));
    }
}

fn new_card(audience: &Audience) -> NewCard {
    NewCard {
        nonce: ids::nonce(),
        adapter: audience.adapter.clone(),
        target: audience.target.clone(),
    }
}
