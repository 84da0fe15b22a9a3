//! The gate: calls come in, policy rules, asks wait, people answer.
//!
//! The gate publishes that something changed; the bridge subscribes. It knows no chat platform: its
//! audience is a list of names that it stores with every ask.
//!
//! INVARIANT: the waiter is registered before anything is sent, and re-reads the row after that;
//! the row is the truth: the oneshot carries it as it was committed, or only wakes.
//! INVARIANT: an answer is committed before its presser is told.

pub mod answer;
mod answering;
pub mod approvers;
mod attending;
mod deadlines;
mod expiry;
mod following;
mod granting;
mod handing_in;
mod large;
mod layers;
mod load;
mod monotonic;
mod partings;
mod policy;
mod retention;
mod rules_file;
mod ruling;
mod sessions;
mod waiters;
mod waiting;
mod workers;

pub use crate::ask::{self, call, keepers, question};
pub use answering::{DAMAGED, Reply, Told};
pub use attending::Attendance;
pub use granting::Revoked;
pub use handing_in::{HandInError, Handed};
pub use layers::{SESSION_ENDED, WORKER_GONE};
pub use load::Limits;
pub use policy::Policy;
pub use rules_file::RulesFile;
pub use sessions::{ModeError, ModeSet};
pub use workers::Workers;

use crate::store::{Closed, Store, StoreError};
use approvers::Approvers;
use ask::{Ask, State};
use large::Large;
use load::Load;
use monotonic::MonotonicWaits;
use std::sync::Arc;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use waiters::Waiters;

/// The core. One per daemon.
#[derive(Debug)]
pub struct Gate {
    store: Store,
    policy: Policy,
    approvers: Approvers,
    audience: Vec<Audience>,
    settings: Settings,
    waiters: Waiters,
    monotonic: MonotonicWaits,
    load: Load,
    large: Large,
    changes: watch::Sender<u64>,
    /// The same, of what other daemons changed.
    elsewhere: watch::Sender<u64>,
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
    /// How much may be open at once.
    pub limits: Limits,
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
        let (changes, elsewhere) = (watch::Sender::new(0), watch::Sender::new(0));
        let (waiters, stopping) = (Waiters::default(), CancellationToken::new());
        let turns = tokio::sync::Mutex::default();
        Arc::new(Self {
            store,
            policy,
            approvers,
            audience,
            settings,
            waiters,
            monotonic: MonotonicWaits::default(),
            load: Load::default(),
            large: Large::default(),
            changes,
            elsewhere,
            turns,
            stopping,
        })
    }

    /// This daemon's name among those that share the store.
    #[must_use]
    pub fn daemon(&self) -> &str {
        &self.settings.daemon
    }

    /// Whether anybody at all may answer on this platform.
    #[must_use]
    pub fn may_answer_on(&self, platform: &str) -> bool {
        self.approvers.may_answer_on(platform)
    }

    /// Tells of every change of an ask; what changed stands in the store.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Tells of what other daemons may have changed, as [`Gate::changes`] does; nothing where the
    /// store is not shared.
    #[must_use]
    pub fn elsewhere(&self) -> watch::Receiver<u64> {
        self.elsewhere.subscribe()
    }

    /// Does this for a call of so many bytes without keeping others waiting, however many they are.
    pub async fn beside<T>(&self, bytes: usize, work: impl FnOnce() -> T) -> T {
        self.large.run(bytes, work).await
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

    /// Closes an ask that stands as seen, and brings it to whoever waits for it.
    // INVARIANT: they get it though the one who closed it has left meanwhile.
    async fn close(self: &Arc<Self>, seen: &Ask, end: State) -> Result<Closed, StoreError> {
        let (gate, seen) = (self.clone(), seen.clone());
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
        self.load.less(&ask.body.call.agent, load::size(&ask.body));
        self.monotonic.forget(&ask.id);
        self.waiters.bring(ask);
        self.changed();
    }

    fn changed(&self) {
        count(&self.changes);
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

fn count(changes: &watch::Sender<u64>) {
    changes.send_modify(|count| *count = count.wrapping_add(1));
}
