//! Following what other daemons change in a shared store.

use super::open_asks::OpenAsks;
use countersign_store::{StoreError, Tail};
use std::{sync::Arc, time::Duration};
use tokio::{sync::Notify, time::timeout};
use tokio_util::sync::CancellationToken;

/// How often it is looked for news when no hint of it came: hints are lost, rows are not.
const LOOK: Duration = Duration::from_secs(1);

impl OpenAsks {
    /// Wakes the waiters here of asks that were closed elsewhere, until told to stop. `tail` must
    /// be from before anybody waits.
    pub(super) async fn follow(&self, tail: Tail, stop: CancellationToken) {
        if !self.store.is_shared() {
            return;
        }
        let heard = Arc::new(Notify::new());
        tokio::select! {
            () = self.store.carry_hints(heard.clone(), stop.clone()) => {}
            () = self.look(tail, &heard) => {}
            () = stop.cancelled() => {}
        }
    }

    async fn look(&self, mut tail: Tail, heard: &Notify) {
        loop {
            let hinted = timeout(LOOK, heard.notified()).await.is_ok();
            match self.news(&mut tail).await {
                Ok(news) if news || hinted => {
                    self.changed_remotely();
                }
                Ok(_) => {}
                Err(error) => tracing::debug!(%error, "no news from other daemons"),
            }
        }
    }

    /// Wakes the waiters of an ask that something happened to; whether anything happened.
    async fn news(&self, tail: &mut Tail) -> Result<bool, StoreError> {
        let mut events = tail.next(&self.store).await?;
        events.retain(|event| !event.is_quiet());
        for ask in events.iter().filter_map(|event| event.ask.as_ref()) {
            self.waiters.wake(ask);
        }
        if !events.is_empty() {
            self.load.is_outdated();
        }
        Ok(!events.is_empty())
    }
}
