//! Leading: one daemon receives for each chat account and posts its cards.
//!
//! Whoever holds the account's lease leads. It stops before the lease ends by its own clock, and
//! what it does is fenced by the lease's epoch, so that a daemon that was frozen or cut off cannot
//! undo what its successor did. The inbox is each daemon's own: its lease is the daemon's sign of
//! life.

use crate::{
    bridge::{self, Adapters, PressHandler, Term},
    digest,
    gate::Gate,
    store::{DAEMON, Store, StoreError},
};
use countersign_port::{CancellationToken, NamedAdapter};
use std::{sync::Arc, time::Duration};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, sleep_until, timeout, timeout_at},
};

/// How long a lease holds.
const LEASE: Duration = Duration::from_secs(15);
/// How often it is renewed. Adapters that find somebody else at work wait for longer than this.
const RENEW: Duration = Duration::from_secs(5);
/// How long before its end its holder stops.
const MARGIN: Duration = Duration::from_secs(3);
/// How often a lease that somebody else holds is tried for.
const TRY: Duration = Duration::from_secs(2);
/// How long the outbox may take to drain when the daemon stops.
const DRAIN: Duration = Duration::from_secs(3);
/// The longest pause before a receiver that broke is started again.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// A lease of a store that nobody else can open; it ends with the process.
const FOR_EVER: Duration = Duration::from_secs(100 * 365 * 86_400);

/// An account on a platform, and where its cards go.
pub(super) struct Account {
    pub(super) adapter: NamedAdapter,
    /// All adapters of the daemon, this one included.
    pub(super) adapters: Adapters,
    pub(super) lease: String,
    pub(super) targets: Vec<String>,
    /// Where the lease and the cards stand.
    pub(super) store: Store,
}

/// The lease of a chat account: daemons with the same bot share it.
pub(super) fn lease(adapter: &str, token: &str) -> String {
    let hash = digest::sha256_hex(token.as_bytes());
    format!("{adapter}/{}", hash.chars().take(12).collect::<String>())
}

/// The lease of this daemon's own life.
pub(super) fn own_lease(daemon: &str) -> String {
    format!("{DAEMON}{daemon}")
}

/// How a term came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The daemon stops.
    Stopped,
    /// The store could not be reached to hold the lease for longer.
    RanOut,
    /// Somebody else leads.
    Deposed,
}

impl Account {
    /// Leads whenever nobody else does, until told to stop.
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
        let (store, asked) = (&self.store, Instant::now());
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
        let handler = PressHandler::new(self.adapter.name, gate.clone(), self.store.clone());
        tasks.spawn(receive(self.adapter.clone(), handler, finish.clone()));
        for target in &self.targets {
            let (gate, store, adapter) = (gate.clone(), self.store.clone(), self.adapter.clone());
            let (adapters, target) = (self.adapters.clone(), target.clone());
            let (term, finish) = (term.clone(), finish.clone());
            tasks.spawn(bridge::deliver(gate, store, adapter, adapters, target, term, finish));
        }
        let end = hold(&self.store, term, stop).await;
        if end != End::Stopped {
            tracing::warn!(lease = self.lease, ?end, "not leading any more");
            term.end();
        }
        finish.cancel();
        let ended = timeout(DRAIN, async { while tasks.join_next().await.is_some() {} });
        if ended.await.is_err() {
            tasks.shutdown().await;
        }
        self.adapter.signals().idle();
        term.end();
        if end == End::Stopped
            && let Err(error) = self.store.release_lease(term.fence()).await
        {
            tracing::debug!(lease = self.lease, %error, "the lease ends by itself");
        }
    }
}

/// Holds the lease for as long as it can be held.
async fn hold(store: &Store, term: &Term, stop: &CancellationToken) -> End {
    let mut pause = RENEW;
    loop {
        let Some(until) = term.until() else {
            stop.cancelled().await;
            return End::Stopped;
        };
        tokio::select! {
            () = stop.cancelled() => return End::Stopped,
            () = sleep_until(until) => return End::RanOut,
            () = sleep(pause) => {}
        }
        let asked = Instant::now();
        let renewed = timeout_at(until, store.renew_lease(term.fence(), LEASE)).await;
        pause = match renewed {
            Ok(Ok(true)) => {
                term.extend(asked + LEASE - MARGIN);
                RENEW
            }
            Ok(Ok(false)) => return End::Deposed,
            Ok(Err(_)) => Duration::from_secs(1),
            Err(_) => return End::RanOut,
        };
    }
}

/// Receives presses until told to stop, whatever becomes of the adapter's own task.
// FAIL-CLOSED: a receiver that broke is said to be deaf, and started again.
async fn receive(adapter: NamedAdapter, handler: Arc<PressHandler>, stop: CancellationToken) {
    let name = adapter.name;
    let mut pause = Duration::from_millis(500);
    while !stop.is_cancelled() {
        let (running, handler, stops) = (adapter.clone(), handler.clone(), stop.clone());
        // Its own task: a panic in it ends nothing else. It ends with this one.
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
