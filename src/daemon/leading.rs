//! Leadership: for each chat account, one daemon receives presses and posts cards.
//!
//! The holder of the account's lease leads. It stops before the lease ends by its own clock, and
//! its writes are fenced by the lease's epoch, so that a daemon that was frozen or cut off cannot
//! undo what its successor did. The inbox is each daemon's own: its lease shows that the daemon is
//! alive.

use countersign_bridge::{Adapters, PressHandler, Term};
use countersign_gate::Gate;
use countersign_port::{CancellationToken, NamedAdapter};
use countersign_store::{DAEMON, Store, StoreError};
use countersign_tokens::sha256_hex;
use std::{sync::Arc, time::Duration};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, sleep_until, timeout, timeout_at},
};

/// The length of a lease.
const LEASE: Duration = Duration::from_secs(15);
/// The time between two renewals. An adapter that finds another receiver at work waits for longer.
const RENEW: Duration = Duration::from_secs(5);
/// The time before the end of its lease at which a daemon stops leading.
const MARGIN: Duration = Duration::from_secs(3);
/// The time between two attempts to take a lease that another daemon holds.
const TRY: Duration = Duration::from_secs(2);
/// The time for the outbox to finish when the daemon stops.
const DRAIN: Duration = Duration::from_secs(3);
/// The longest pause before a failed receiver is started again.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// The length of a lease on a store that no other daemon can open. It is ended at the next start.
const FOR_EVER: Duration = Duration::from_secs(100 * 365 * 86_400);

/// An account on a platform, with the targets of its cards.
pub(super) struct Account {
    pub(super) adapter: NamedAdapter,
    /// All adapters of the daemon, this one included.
    pub(super) adapters: Adapters,
    /// The lease's name, which differs from every other account's.
    pub(super) lease: String,
    pub(super) targets: Vec<String>,
    /// The store with the lease and the cards.
    pub(super) store: Store,
}

/// The name of a chat account's lease: daemons with the same bot share it. The token is hashed,
/// because leases are shown.
pub(super) fn lease(adapter: &str, token: &str) -> String {
    let hash = sha256_hex(token.as_bytes());
    format!("{adapter}/{}", hash.chars().take(12).collect::<String>())
}

/// The name of the lease that shows that this daemon is alive.
pub(super) fn own_lease(daemon: &str) -> String {
    format!("{DAEMON}{daemon}")
}

/// The reason why a term ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TermEnd {
    /// The daemon is stopping.
    Stopped,
    /// The lease could not be renewed in time.
    RanOut,
    /// Another daemon leads.
    Deposed,
}

impl Account {
    /// Leads whenever no other daemon does, until `stop` is cancelled.
    pub(super) async fn lead(self, gate: Arc<Gate>, stop: CancellationToken) {
        let mut waits = false;
        while !stop.is_cancelled() {
            match self.take(&gate).await {
                Ok(Some(term)) => {
                    waits = false;
                    self.serve(&gate, &Arc::new(term), &stop).await;
                }
                Ok(None) if !waits => {
                    waits = true;
                    tracing::info!(lease = self.lease, "another daemon leads; standing by");
                }
                Ok(None) => {}
                Err(error) => tracing::debug!(lease = self.lease, %error, "no lease to be had"),
            }
            let _ = stop.run_until_cancelled(sleep(TRY)).await;
        }
    }

    async fn take(&self, gate: &Gate) -> Result<Option<Term>, StoreError> {
        // The time before the query, not after it: the lease runs from some moment in between, so
        // counting from the earlier one can only end the term too early.
        let store = &self.store;
        let asked = Instant::now();
        // The lock on an SQLite file admits no other daemon, so its leases need no renewal.
        let length = if store.is_shared() { LEASE } else { FOR_EVER };
        let fence = store.take_lease(&self.lease, gate.daemon(), length).await?;
        let until = store.is_shared().then_some(asked + LEASE - MARGIN);
        Ok(fence.map(|fence| Term::new(fence, until)))
    }

    async fn serve(&self, gate: &Arc<Gate>, term: &Arc<Term>, stop: &CancellationToken) {
        tracing::info!(lease = self.lease, epoch = term.fence().epoch, "leading");
        self.adapter.lead(term.clone());
        let finish = stop.child_token();
        let mut tasks = JoinSet::new();
        let handler = PressHandler::new(
            self.adapter.name,
            gate.clone(),
            self.store.clone(),
            self.adapters.clone(),
        );
        tasks.spawn(receive(self.adapter.clone(), handler, finish.clone()));
        for target in &self.targets {
            let gate = gate.clone();
            let store = self.store.clone();
            let adapter = self.adapter.clone();
            let adapters = self.adapters.clone();
            let target = target.clone();
            let term = term.clone();
            let finish = finish.clone();
            tasks.spawn(countersign_bridge::deliver(
                gate, store, adapter, adapters, target, term, finish,
            ));
        }
        let end = hold(&self.store, term, stop).await;
        if end != TermEnd::Stopped {
            tracing::warn!(lease = self.lease, ?end, "not leading any more");
            // Ended before the tasks finish: what they still send would compete with the new
            // leader.
            term.end();
        }
        finish.cancel();
        // Waits for the outbox, so that the decisions made so far are shown by this daemon.
        let ended = timeout(DRAIN, async { while tasks.join_next().await.is_some() {} });
        if ended.await.is_err() {
            tasks.shutdown().await;
        }
        self.adapter.signals().idle();
        term.end();
        if end == TermEnd::Stopped
            && let Err(error) = self.store.release_lease(term.fence()).await
        {
            tracing::debug!(lease = self.lease, %error, "the lease ends by itself");
        }
    }
}

/// Renews the lease until it is lost or the daemon stops.
async fn hold(store: &Store, term: &Term, stop: &CancellationToken) -> TermEnd {
    let mut pause = RENEW;
    loop {
        let Some(until) = term.until() else {
            stop.cancelled().await;
            return TermEnd::Stopped;
        };
        tokio::select! {
            () = stop.cancelled() => return TermEnd::Stopped,
            () = sleep_until(until) => return TermEnd::RanOut,
            () = sleep(pause) => {}
        }
        let asked = Instant::now();
        let renewed = timeout_at(until, store.renew_lease(term.fence(), LEASE)).await;
        pause = match renewed {
            Ok(Ok(true)) => {
                term.extend(asked + LEASE - MARGIN);
                RENEW
            }
            Ok(Ok(false)) => return TermEnd::Deposed,
            // Sooner than usual: the store may recover before the lease ends.
            Ok(Err(_)) => Duration::from_secs(1),
            Err(_) => return TermEnd::RanOut,
        };
    }
}

/// Runs the adapter's receiver until `stop` is cancelled, and restarts it if it ends.
// FAIL-CLOSED: a receiver that ended is reported as deaf, and started again.
async fn receive(adapter: NamedAdapter, handler: Arc<PressHandler>, stop: CancellationToken) {
    let name = adapter.name;
    let mut pause = Duration::from_millis(500);
    while !stop.is_cancelled() {
        let running = adapter.clone();
        let handler = handler.clone();
        let stops = stop.clone();
        // A task of its own, so that a panic ends nothing else; the set aborts it if this one is
        // dropped.
        let mut run = JoinSet::new();
        run.spawn(async move { running.run(handler, stops).await });
        let ended = run.join_next().await;
        if stop.is_cancelled() {
            break;
        }
        tracing::error!(adapter = name, ?ended, ?pause, "{name}: receiving ended; it starts again");
        adapter.signals().deaf("receiving ended by a fault of countersign's own; it starts again");
        let _ = stop.run_until_cancelled(sleep(pause)).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
    tracing::debug!(adapter = name, "stopped");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_bot_has_the_same_lease_and_its_token_is_not_in_it() {
        let one = lease("telegram", "7000:secret");
        assert_eq!(one, lease("telegram", "7000:secret"));
        assert_ne!(one, lease("telegram", "7001:secret"));
        assert!(one.starts_with("telegram/") && !one.contains("secret"), "{one}");
    }

    #[test]
    fn a_lease_outlives_every_try_of_its_holder() {
        assert!(RENEW * 2 + MARGIN < LEASE, "one renewal may fail");
        assert!(LEASE + TRY < Duration::from_secs(20), "a successor is there within 20 s");
    }
}
