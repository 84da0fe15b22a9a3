//! The last callers that left each ask. A caller that comes back and leaves again makes what was
//! to be done about its first departure void.

use dashmap::DashMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// The latest departure from each ask, until it is dealt with.
#[derive(Debug, Default)]
pub(super) struct Departures {
    next: AtomicU64,
    latest: DashMap<String, Departure>,
}

/// The departure of an ask's last caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Departure(u64);

impl Departures {
    /// Notes that the last caller of an ask has left.
    pub(super) fn note(&self, ask: &str) -> Departure {
        let departure = Departure(self.next.fetch_add(1, Ordering::Relaxed));
        self.latest.insert(ask.to_owned(), departure);
        departure
    }

    /// Whether no caller has left the ask since.
    pub(super) fn is_latest(&self, ask: &str, departure: Departure) -> bool {
        self.latest.get(ask).is_some_and(|latest| *latest == departure)
    }

    /// Forgets a departure that was dealt with.
    pub(super) fn settle(&self, ask: &str, departure: Departure) {
        self.latest.remove_if(ask, |_, latest| *latest == departure);
    }
}
