//! The gate: calls come in, policy rules, asks wait, people answer.
//!
//! The gate publishes that something changed; the bridge subscribes. It knows no chat platform: its
//! audience is a list of names that it stores with every ask.
//!
//! INVARIANT: the waiter is registered before anything is sent, and re-reads the row after that;
//! the row is the truth: the oneshot carries it as it was committed, or only wakes.
//! INVARIANT: an answer is committed before its presser is told.

mod agents;
mod answering;
mod appeals;
mod budgets;
mod choices;
mod deadline;
pub mod digests;
mod evaluate;
mod executions;
mod grants;
pub mod links;
mod load;
mod pairing;
mod parked;
mod pause;
#[cfg(test)]
mod people_tests;
mod policy;
mod reviews;
mod steps;
mod submit;
#[cfg(test)]
mod testkit;
#[cfg(test)]
mod vote_tests;
mod waiting;
mod who_answers;

pub use agents::{
    AgentResumed, ModeError, ModeSet, SESSION_ENDED, TokenOutcome, WORKER_GONE, name_taken,
};
pub use answering::{Reply, RoleSource, Told, fault_sentence, lasting};
pub use budgets::Take;
pub use choices::{ApproverError, Audience, Choices, GateSettings, OnTimeout};
pub use countersign_domain::{self as ask, attached, call, question};
pub use countersign_profiles::Profile;
pub use evaluate::{Explained, RuleTrial, TrialError, TriedCall};
pub use executions::{ExecutionNoted, token as execution_token};
pub use grants::{Revoked, RuleSaved};
pub use load::{Limits, TooMuch};
pub use pairing::{ByPasskey, CodeOutcome, NoSignIn};
pub use parked::{ParkedRunOutcome, RunResumption, TakenAnswer};
pub use pause::{PauseOutcome, sentence as pause_sentence};
pub use policy::{Policy, RulesFile, Workers};
pub use steps::NotNamed;
pub use submit::{SubmitError, SubmitOutcome};
pub use waiting::AttachedCaller;

use answering::RecentDenials;
use ask::{Ask, Body, State};
use countersign_people::{answer, answerers, approvers, quorum, routes, rules};
use countersign_store::{Closed, Store, StoreError};
use countersign_tokens::{clock, ids};
use deadline::MonotonicWaits;
use evaluate::Large;
use grants::GrantUses;
use load::Load;
use pairing::{PairingCodes, SignInCodes};
use reviews::ReviewQueue;
use std::{
    sync::{Arc, Mutex, OnceLock, RwLock},
    time::Duration,
};
use submit::AllowedCalls;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use waiting::Waiters;

/// How often it is looked for what is old.
const ROUND: Duration = Duration::from_secs(30);
/// Between two pages of what is forgotten, so that nothing else waits for it.
const BREATH: Duration = Duration::from_millis(20);

/// The core, one per daemon.
#[derive(Debug)]
pub struct Gate {
    store: Store,
    /// What the operator has chosen.
    in_force: RwLock<Arc<Choices>>,
    /// Held from before an ask's audience is read until the ask is stored.
    opening: tokio::sync::RwLock<()>,
    /// This daemon's name among those that share the store.
    daemon: String,
    /// The home folder of the user who runs the agents.
    home: Option<String>,
    waiters: Waiters,
    monotonic: MonotonicWaits,
    load: Load,
    denials: RecentDenials,
    large: Large,
    /// Held while a call is decided on in a mode whose turns are counted.
    turns: tokio::sync::Mutex<()>,
    /// Held while the rules file is brought up to what the store says: a rule that is revoked
    /// meanwhile is not written after it was taken out.
    file: tokio::sync::Mutex<()>,
    roles: OnceLock<Arc<dyn RoleSource>>,
    reviews: ReviewQueue,
    sign_ins: Mutex<SignInCodes>,
    /// The pairings of this daemon.
    pub pairings: PairingCodes,
    /// How often grants let calls run.
    pub uses: GrantUses,
    /// The calls that policy allowed.
    pub allowed: AllowedCalls,
    /// Counts the passkeys that were removed here.
    passkeys_removed: watch::Sender<u64>,
    /// Counts the changes that this daemon knows of.
    changes: watch::Sender<u64>,
    /// Counts what other daemons may have changed.
    remote_changes: watch::Sender<u64>,
    /// The daemon stops.
    stopping: CancellationToken,
}

impl Gate {
    /// Puts the gate together.
    #[must_use]
    pub fn new(store: Store, choices: Choices) -> Arc<Self> {
        let home = choices.settings.home.clone();
        let daemon = choices.settings.daemon.clone();
        let store = store.named(&daemon);
        Arc::new(Self {
            in_force: RwLock::new(Arc::new(choices)),
            opening: tokio::sync::RwLock::default(),
            daemon,
            home,
            waiters: Waiters::default(),
            monotonic: MonotonicWaits::default(),
            load: Load::default(),
            denials: RecentDenials::default(),
            large: Large::default(),
            turns: tokio::sync::Mutex::default(),
            file: tokio::sync::Mutex::default(),
            roles: OnceLock::new(),
            reviews: ReviewQueue::default(),
            sign_ins: Mutex::default(),
            pairings: PairingCodes::default(),
            uses: GrantUses::new(store.clone()),
            allowed: AllowedCalls::new(store.clone()),
            passkeys_removed: watch::Sender::new(0),
            changes: watch::Sender::new(0),
            remote_changes: watch::Sender::new(0),
            stopping: CancellationToken::new(),
            store,
        })
    }

    /// This daemon's name among those that share the store.
    #[must_use]
    pub fn daemon(&self) -> &str {
        &self.daemon
    }

    /// Reports every change of an ask; what changed is in the store.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Reports what other daemons may have changed, as [`Gate::changes`] does; nothing where the
    /// store is not shared.
    #[must_use]
    pub fn remote_changes(&self) -> watch::Receiver<u64> {
        self.remote_changes.subscribe()
    }

    /// Forgets what is old every 30 s until told to stop: settled asks, waiters that left.
    pub async fn forget(&self, stop: CancellationToken) {
        while !stop.is_cancelled() {
            self.waiters.tidy();
            self.monotonic.tidy();
            if let Some(Err(error)) = stop.run_until_cancelled(self.forget_old()).await {
                tracing::debug!(%error, "what is old is forgotten later");
            }
            let _ = stop.run_until_cancelled(tokio::time::sleep(ROUND)).await;
        }
    }

    async fn forget_old(&self) -> Result<(), StoreError> {
        let before = clock::now_ms() - self.choices().settings.keep_ms;
        while self.store.forget_closed(before).await? > 0 {
            tokio::time::sleep(BREATH).await;
        }
        Ok(())
    }

    /// Lets every waiter go with the ask as it is; no caller that leaves now closes its ask.
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

    /// Closes an ask if its row is as seen, and sends it to its waiters.
    // INVARIANT: they get it though the one who closed it has left meanwhile.
    async fn close(self: &Arc<Self>, seen: &Ask, end: State) -> Result<Closed, StoreError> {
        let gate = self.clone();
        let seen = seen.clone();
        to_the_end(async move {
            let closed = gate.store.close_ask(&seen, &end, &[]).await?;
            if let Closed::Won(ask) = &closed {
                gate.closed(ask);
            }
            Ok(closed)
        })
        .await
    }

    /// An ask was closed, and that is committed.
    fn closed(&self, ask: &Ask) {
        // A review counts for no agent, and nobody submits it again.
        if ask.body.review.is_none() {
            self.load.less(&ask.body.call, load::size(&ask.body));
            self.denials.note(ask);
        }
        self.monotonic.forget(&ask.id);
        self.waiters.bring(ask);
        self.changed();
    }

    /// Something changed that is committed.
    fn changed(&self) {
        count(&self.changes);
    }

    /// Another daemon may have changed something.
    fn changed_remotely(&self) {
        count(&self.remote_changes);
        self.changed();
    }
}

/// Does this to its end, though the one who wanted it leaves meanwhile.
async fn to_the_end<T: Send + 'static>(
    work: impl Future<Output = Result<T, StoreError>> + Send + 'static,
) -> Result<T, StoreError> {
    let done = tokio::spawn(work).await;
    // It ends early only with its runtime.
    done.unwrap_or_else(|error| Err(StoreError::Uncertain(error.to_string())))
}

/// An ask of countersign's own: no agent waits for it.
fn own(body: Body, created_at: i64, deadline_at: Option<i64>) -> Ask {
    let digest = body.call.digest();
    Ask { deadline_at, ..Ask::opened(ids::ask_id(), digest, body, created_at) }
}

fn count(changes: &watch::Sender<u64>) {
    changes.send_modify(|count| *count = count.wrapping_add(1));
}
