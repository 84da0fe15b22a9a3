//! Detaching a daemon from an ask. Until that has ended, callers that attach to the ask wait.

use dashmap::DashMap;
use std::sync::Arc;
use tokio::sync::{Mutex, OwnedMutexGuard};

/// The detachments under way, by ask.
#[derive(Debug, Default)]
pub(super) struct Detachments(DashMap<String, Arc<Mutex<()>>>);

/// A detachment under way, until it is dropped.
#[derive(Debug)]
pub(super) struct Detachment<'a> {
    all: &'a Detachments,
    ask: &'a str,
    held: Option<OwnedMutexGuard<()>>,
}

impl Detachments {
    /// Begins a detachment, once no other one is under way.
    pub(super) async fn begin<'a>(&'a self, ask: &'a str) -> Detachment<'a> {
        let lock = self.0.entry(ask.to_owned()).or_default().clone();
        Detachment { all: self, ask, held: Some(lock.lock_owned().await) }
    }

    /// Waits until none is under way.
    pub(super) async fn are_over(&self, ask: &str) {
        if self.0.contains_key(ask) {
            drop(self.begin(ask).await);
        }
    }

    /// Forgets those that were given up before they began.
    pub(super) fn tidy(&self) {
        self.0.retain(|_, lock| Arc::strong_count(lock) > 1);
    }
}

impl Drop for Detachment<'_> {
    fn drop(&mut self) {
        self.held = None;
        self.all.0.remove_if(self.ask, |_, lock| Arc::strong_count(lock) == 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;

    #[tokio::test]
    async fn who_comes_waits_for_detachments_from_that_ask_only_and_nothing_is_left_of_them() {
        let detachments = Detachments::default();
        let one = detachments.begin("one").await;
        assert!(detachments.are_over("two").now_or_never().is_some());
        assert!(detachments.are_over("one").now_or_never().is_none());
        let mut coming = Box::pin(detachments.are_over("one"));
        assert!((&mut coming).now_or_never().is_none());
        drop(one);
        coming.await;
        assert!(detachments.0.is_empty());

        let one = detachments.begin("one").await;
        let mut given_up = Box::pin(detachments.begin("one"));
        assert!((&mut given_up).now_or_never().is_none());
        drop(one);
        drop(given_up);
        detachments.tidy();
        assert!(detachments.0.is_empty());
    }
}
