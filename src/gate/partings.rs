//! While a daemon makes sure that nobody waits for an ask any more, whoever comes for it waits.

use dashmap::DashMap;
use std::sync::Arc;
use tokio::sync::{Mutex, OwnedMutexGuard};

/// The partings under way, by ask.
#[derive(Debug, Default)]
pub(super) struct Partings(DashMap<String, Arc<Mutex<()>>>);

/// A parting under way, until it is dropped.
#[derive(Debug)]
pub(super) struct Parting<'a> {
    all: &'a Partings,
    ask: &'a str,
    held: Option<OwnedMutexGuard<()>>,
}

impl Partings {
    /// Begins a parting, once no other one is under way.
    pub(super) async fn begin<'a>(&'a self, ask: &'a str) -> Parting<'a> {
        let lock = self.0.entry(ask.to_owned()).or_default().clone();
        Parting { all: self, ask, held: Some(lock.lock_owned().await) }
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

impl Drop for Parting<'_> {
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
    async fn who_comes_waits_for_partings_from_that_ask_only_and_nothing_is_left_of_them() {
        let partings = Partings::default();
        let one = partings.begin("one").await;
        assert!(partings.are_over("two").now_or_never().is_some());
        assert!(partings.are_over("one").now_or_never().is_none());
        let mut coming = Box::pin(partings.are_over("one"));
        assert!((&mut coming).now_or_never().is_none());
        drop(one);
        coming.await;
        assert!(partings.0.is_empty());

        let one = partings.begin("one").await;
        let mut given_up = Box::pin(partings.begin("one"));
        assert!((&mut given_up).now_or_never().is_none());
        drop(one);
        drop(given_up);
        partings.tidy();
        assert!(partings.0.is_empty());
    }
}
