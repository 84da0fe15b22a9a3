//! Presses on cards of other stores: another countersign, with a store of its own, has the same
//! bot.

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// How many stores are named in the log within [`SPAN`]: anybody in a chat can forge the id of one.
const MOST: usize = 16;
/// After this a store is named anew.
const SPAN: Duration = Duration::from_secs(3600);

/// The other stores whose cards were pressed lately.
#[derive(Debug, Default)]
pub(super) struct Foreign {
    seen: Mutex<ForeignStores>,
}

#[derive(Debug, Default)]
struct ForeignStores {
    since: Option<Instant>,
    stores: BTreeSet<String>,
}

impl Foreign {
    /// Takes note of a press on a card of this store, and logs how to fix it where that is news.
    pub(super) fn note(&self, adapter: &'static str, store: &str) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.takes(store, Instant::now()) {
            tracing::warn!(
                adapter,
                store,
                "a press on a card of another store: two countersigns use one bot, so presses \
                 reach the \
                 wrong one. Give each a bot of its own, or one store for all (docs/team.md). If \
                 there is \
                 only this one, the card is older than its store"
            );
        } else {
            tracing::debug!(adapter, store, "one more press on a card of another store");
        }
    }
}

impl ForeignStores {
    /// Whether this store is news.
    fn takes(&mut self, store: &str, now: Instant) -> bool {
        if self.since.is_none_or(|since| now.duration_since(since) >= SPAN) {
            *self = Self { since: Some(now), stores: BTreeSet::new() };
        }
        self.stores.len() < MOST && self.stores.insert(store.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_news_once_an_hour_and_forged_ones_are_not_without_end() {
        let (mut seen, begin) = (ForeignStores::default(), Instant::now());
        assert!(seen.takes("k8xd8s4n", begin));
        assert!(!seen.takes("k8xd8s4n", begin));
        let forged = (0..1000).filter(|at| seen.takes(&format!("{at:08}"), begin)).count();
        assert_eq!((forged, seen.stores.len()), (MOST - 1, MOST));
        assert!(!seen.takes("k8xd8s4n", begin + SPAN - Duration::from_secs(1)));
        assert!(seen.takes("k8xd8s4n", begin + SPAN));
    }
}
