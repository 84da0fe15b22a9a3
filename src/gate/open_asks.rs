//! The asks that are open: who waits for them here, how many they are, and how one is closed.

use super::{
    denials::RecentDenials, load, load::Load, monotonic::MonotonicWaits, waiters::Waiters,
};
use countersign_domain::{Ask, Body, State};
use countersign_store::{Closed, NewAsk, Store, StoreError};
use countersign_tokens::ids;
use std::sync::Arc;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// The open asks, as everything in the gate shares them.
#[derive(Debug)]
pub(super) struct OpenAsks {
    pub(super) store: Store,
    /// This daemon's name among those that share the store.
    pub(super) daemon: String,
    pub(super) waiters: Waiters,
    pub(super) monotonic: MonotonicWaits,
    pub(super) load: Load,
    pub(super) denials: RecentDenials,
    /// Counts the changes that this daemon knows of.
    pub(super) changes: watch::Sender<u64>,
    /// Counts what other daemons may have changed.
    pub(super) remote_changes: watch::Sender<u64>,
    /// The daemon stops.
    pub(super) stopping: CancellationToken,
}

impl OpenAsks {
    pub(super) fn new(store: Store, daemon: String) -> Arc<Self> {
        Arc::new(Self {
            store,
            daemon,
            waiters: Waiters::default(),
            monotonic: MonotonicWaits::default(),
            load: Load::default(),
            denials: RecentDenials::default(),
            changes: watch::Sender::new(0),
            remote_changes: watch::Sender::new(0),
            stopping: CancellationToken::new(),
        })
    }

    /// Closes an ask if its row is as seen, and sends it to its waiters.
    // INVARIANT: they get it though the one who closed it has left meanwhile.
    pub(super) async fn close(
        self: &Arc<Self>,
        seen: &Ask,
        end: State,
    ) -> Result<Closed, StoreError> {
        let (open, seen) = (self.clone(), seen.clone());
        to_the_end(async move {
            let closed = open.store.close_ask(&seen, &end, &[]).await?;
            if let Closed::Won(ask) = &closed {
                open.closed(ask);
            }
            Ok(closed)
        })
        .await
    }

    /// An ask of countersign's own: no agent waits for it.
    pub(super) fn own(&self, body: Body, created_at: i64, deadline_at: Option<i64>) -> NewAsk {
        NewAsk {
            id: ids::ask_id(),
            digest: body.call.digest(),
            body,
            attended: false,
            daemon: self.daemon.clone(),
            attached: Default::default(),
            created_at,
            deadline_at,
            limited: None,
        }
    }

    /// An ask was closed, and that is committed.
    pub(super) fn closed(&self, ask: &Ask) {
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
    pub(super) fn changed(&self) {
        count(&self.changes);
    }

    /// Another daemon may have changed something.
    pub(super) fn changed_remotely(&self) {
        count(&self.remote_changes);
        self.changed();
    }
}

/// Does this to its end, though the one who wanted it leaves meanwhile.
pub(super) async fn to_the_end<T: Send + 'static>(
    work: impl Future<Output = Result<T, StoreError>> + Send + 'static,
) -> Result<T, StoreError> {
    let done = tokio::spawn(work).await;
    // It ends early only with its runtime.
    done.unwrap_or_else(|error| Err(StoreError::Uncertain(error.to_string())))
}

fn count(changes: &watch::Sender<u64>) {
    changes.send_modify(|count| *count = count.wrapping_add(1));
}
