//! The pending oneshots of those who wait for an ask.

use super::{departures::Departures, detach::Detachments};
use countersign_domain::Ask;
use dashmap::DashMap;
use tokio::sync::oneshot;

/// Who waits for which ask, and how many callers there are behind it.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    pending: DashMap<String, Vec<oneshot::Sender<Wakeup>>>,
    pub(super) attached: DashMap<String, usize>,
    pub(super) departures: Departures,
    pub(super) detachments: Detachments,
}

/// What a waiter is woken with.
#[derive(Debug)]
pub(super) enum Wakeup {
    /// The ask, closed and committed: nothing happens to it any more.
    Closed(Box<Ask>),
    /// Something happened; the row says what.
    Look,
}

impl Waiters {
    pub(super) fn register(&self, id: &str) -> oneshot::Receiver<Wakeup> {
        let (wake, woken) = oneshot::channel();
        let mut waiting = self.pending.entry(id.to_owned()).or_default();
        waiting.retain(|other| !other.is_closed());
        waiting.push(wake);
        woken
    }

    /// Brings a closed ask to its waiters here.
    pub(super) fn bring(&self, closed: &Ask) {
        self.send(&closed.id, || Wakeup::Closed(Box::new(closed.clone())));
    }

    /// Lets the waiters of this ask here look at its row.
    pub(super) fn wake(&self, id: &str) {
        self.send(id, || Wakeup::Look);
    }

    fn send(&self, id: &str, news: impl Fn() -> Wakeup) {
        for waiting in self.pending.remove(id).into_iter().flat_map(|(_, waiting)| waiting) {
            // The other side may have left; the row keeps the answer for it.
            let _ = waiting.send(news());
        }
    }

    /// How many callers wait here.
    pub(super) fn callers(&self) -> u64 {
        let count = self.attached.iter().map(|entry| *entry.value()).sum::<usize>();
        u64::try_from(count).unwrap_or(u64::MAX)
    }

    pub(super) fn tidy(&self) {
        self.pending.retain(|_, waiting| {
            waiting.retain(|wake| !wake.is_closed());
            !waiting.is_empty()
        });
        self.detachments.tidy();
    }
}
