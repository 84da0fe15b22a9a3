//! The gate: calls come in, policy rules, asks wait, people answer.
//!
//! The gate publishes that something changed; the bridge subscribes. It knows no chat platform: its
//! audience is a list of names that it stores with every ask.
//!
//! INVARIANT: the waiter is registered before anything is sent, and re-reads the row after that;
//! the row is the truth: the oneshot carries it as it was committed, or only wakes.
//! INVARIANT: an answer is committed before its presser is told.

mod agent_limits;
mod agent_names;
mod agent_tokens;
mod allowed;
mod answers;
mod attach;
mod budget_grants;
mod budgets;
mod chosen;
mod decided;
mod denials;
mod departures;
mod detach;
pub mod digests;
mod doors;
mod entry;
mod evaluate;
mod executions;
mod expire;
mod expiry;
mod granted_rules;
mod grants;
mod handing_over;
mod handling;
mod in_force;
mod inner_repository;
mod judged_edits;
mod knocks;
mod large;
mod layers;
mod limits;
pub mod links;
mod load;
mod monotonic;
mod new_body;
mod open_asks;
mod outranking;
mod pairings;
mod passkeys;
mod pause;
mod policy;
mod presence;
mod rate;
mod reconsider;
mod remote;
mod reply;
mod reports;
mod retention;
mod review_answers;
mod review_grants;
mod reviews;
mod role_source;
mod rules_file;
mod saving;
mod sessions;
mod settings;
mod sign_ins;
mod signing_in;
mod steps;
mod stopping;
mod submit;
mod submit_error;
mod token_scopes;
mod trial;
mod undo;
mod uses;
mod wait;
mod waiters;
mod who_answers;
mod workers;

pub use agent_limits::AgentResumed;
pub use agent_names::name_taken;
pub use agent_tokens::{AgentTokens, TokenOutcome};
pub use attach::AttachedCaller;
pub use countersign_domain::{self as ask, attached, call, question};
pub use decided::Explained;
pub use doors::NoSignIn;
pub use executions::{ExecutionNoted, token as execution_token};
pub use grants::Revoked;
pub use in_force::Choices;
pub use limits::{Limits, TooMuch};
pub use pairings::{KnockOutcome, Knocker, PairingState};
pub use passkeys::{ByPasskey, PasskeyRemoval, PersonPasskeys};
pub use pause::{PauseOutcome, sentence as pause_sentence};
pub use policy::Policy;
pub use presence::NotNamed;
pub use reply::{Reply, Told, fault_sentence, lasting};
pub use role_source::RoleSource;
pub use rules_file::RulesFile;
pub use saving::RuleSaved;
pub use sessions::{ModeError, ModeSet, SESSION_ENDED, WORKER_GONE};
pub use settings::{Audience, GateSettings, OnTimeout};
pub use submit::SubmitOutcome;
pub use submit_error::SubmitError;
pub use trial::{RuleTrial, TrialError, TriedCall};
pub use workers::Workers;

use allowed::AllowedCalls;
use answers::Answers;
use attach::Callers;
use countersign_people::{answer, answerers, approvers, quorum, routes, routes::Routes, rules};
use countersign_store::Store;
use doors::InboxDoor;
use evaluate::Evaluator;
use expire::Deadlines;
use grants::StoredGrants;
use in_force::InForce;
use knocks::Knocks;
use open_asks::OpenAsks;
use pause::PauseSwitch;
use retention::Retention;
use reviews::Reviews;
use role_source::CurrentRoles;
use sessions::Sessions;
use std::sync::Arc;
use steps::StepTaker;
use submit::Submissions;
use tokio::sync::watch;
use trial::RuleTrials;
use uses::GrantUses;
use wait::Waits;

/// The core, one per daemon: the way in to the parts that do the work.
#[derive(Debug)]
pub struct Gate {
    open: Arc<OpenAsks>,
    in_force: Arc<InForce>,
    evaluator: Arc<Evaluator>,
    deadlines: Arc<Deadlines>,
    waits: Arc<Waits>,
    callers: Arc<Callers>,
    grants: Arc<StoredGrants>,
    answers: Arc<Answers>,
    submissions: Arc<Submissions>,
    pause: Arc<PauseSwitch>,
    uses: Arc<GrantUses>,
    trials: RuleTrials,
    knocks: Knocks,
    doors: Arc<InboxDoor>,
    passkeys: PersonPasskeys,
    sessions: Sessions,
    retention: Retention,
    agent_tokens: Arc<AgentTokens>,
    steps: StepTaker,
}

impl Gate {
    /// Puts the gate together.
    #[must_use]
    pub fn new(store: Store, choices: Choices) -> Arc<Self> {
        let settings = &choices.settings;
        let (home, daemon) = (settings.home.clone(), settings.daemon.clone());
        let in_force = InForce::new(choices);
        let evaluator = Evaluator::new(store.clone(), in_force.clone(), home);
        let open = OpenAsks::new(store.clone(), daemon);
        let deadlines = Arc::new(Deadlines { open: open.clone(), in_force: in_force.clone() });
        let waits = Arc::new(Waits { open: open.clone(), deadlines: deadlines.clone() });
        let callers = Arc::new(Callers { open: open.clone(), waits: waits.clone() });
        let grants = Arc::new(StoredGrants {
            store: store.clone(),
            in_force: in_force.clone(),
            evaluator: evaluator.clone(),
            file: tokio::sync::Mutex::default(),
        });
        let uses = Arc::new(GrantUses::new(store.clone()));
        let allowed = Arc::new(AllowedCalls::new(store.clone()));
        let answers = Arc::new(Answers {
            open: open.clone(),
            in_force: in_force.clone(),
            evaluator: evaluator.clone(),
            deadlines: deadlines.clone(),
            grants: grants.clone(),
            uses: uses.clone(),
            roles: CurrentRoles::default(),
        });
        let agent_tokens = Arc::new(AgentTokens {
            open: open.clone(),
            in_force: in_force.clone(),
            callers: callers.clone(),
        });
        let submissions = Arc::new(Submissions {
            open: open.clone(),
            in_force: in_force.clone(),
            evaluator: evaluator.clone(),
            deadlines: deadlines.clone(),
            callers: callers.clone(),
            uses: uses.clone(),
            allowed,
            agent_tokens: agent_tokens.clone(),
            reviews: Reviews::new(open.clone(), in_force.clone(), evaluator.clone()),
        });
        let pause = Arc::new(PauseSwitch {
            open: open.clone(),
            in_force: in_force.clone(),
            evaluator: evaluator.clone(),
            uses: uses.clone(),
        });
        let trials = RuleTrials {
            store: store.clone(),
            in_force: in_force.clone(),
            evaluator: evaluator.clone(),
        };
        let sessions = Sessions { store, in_force: in_force.clone(), callers: callers.clone() };
        let doors = Arc::new(InboxDoor::new(in_force.clone()));
        let passkeys = PersonPasskeys::new(&open, &in_force, &doors);
        let steps = StepTaker { open: open.clone(), in_force: in_force.clone() };
        let retention = Retention { open: open.clone(), in_force: in_force.clone() };
        Arc::new(Self {
            open,
            in_force,
            evaluator,
            deadlines,
            waits,
            callers,
            grants,
            answers,
            submissions,
            pause,
            uses,
            trials,
            knocks: Knocks::default(),
            doors,
            passkeys,
            sessions,
            retention,
            agent_tokens,
            steps,
        })
    }

    /// This daemon's name among those that share the store.
    #[must_use]
    pub fn daemon(&self) -> &str {
        &self.open.daemon
    }

    /// Reports every change of an ask; what changed is in the store.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.open.changes.subscribe()
    }

    /// Reports what other daemons may have changed, as [`Gate::changes`] does; nothing where the
    /// store is not shared.
    #[must_use]
    pub fn remote_changes(&self) -> watch::Receiver<u64> {
        self.open.remote_changes.subscribe()
    }

    /// Does this for a call of so many bytes without keeping others waiting, however many they are.
    pub async fn beside<T>(&self, bytes: usize, work: impl FnOnce() -> T) -> T {
        self.evaluator.beside(bytes, work).await
    }

    /// Puts other choices in force, at once and for every ask. This daemon's name, host and home
    /// folder stay as they are.
    pub async fn adopt(&self, choices: Choices) {
        self.in_force.replace(choices).await;
        self.doors.people_changed();
        // The deadlines of open asks are looked at under the new choices.
        self.open.changed();
    }
}

#[cfg(test)]
mod vote_tests;
