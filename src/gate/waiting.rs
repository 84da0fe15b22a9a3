//! Waiting for an answer: pending oneshots, woken when the row has changed.

use super::{Gate, ask::Ask, partings::Partings};
use crate::{clock, store::StoreError};
use dashmap::DashMap;
use std::{sync::Arc, time::Duration};
use tokio::sync::oneshot;

/// Who waits for which ask, and how many callers stand behind it.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    pending: DashMap<String, Vec<oneshot::Sender<News>>>,
    pub(super) attached: DashMap<String, usize>,
    pub(super) partings: Partings,
}

/// What a waiter is woken with.
#[derive(Debug)]
enum News {
    /// The ask, closed and committed: nothing happens to it any more.
    Closed(Box<Ask>),
    /// Something happened; the row says what.
    Look,
}

impl Waiters {
    fn register(&self, id: &str) -> oneshot::Receiver<News> {
        let (wake, woken) = oneshot::channel();
        let mut waiting = self.pending.entry(id.to_owned()).or_default();
        waiting.retain(|other| !other.is_closed());
        waiting.push(wake);
        woken
    }

    /// Brings a closed ask to whoever waits for it here.
    pub(super) fn bring(&self, closed: &Ask) {
        self.send(&closed.id, || News::Closed(Box::new(closed.clone())));
    }

    /// Lets whoever waits for this ask here look at its row.
    pub(super) fn wake(&self, id: &str) {
        self.send(id, || News::Look);
    }

    fn send(&self, id: &str, news: impl Fn() -> News) {
        for waiting in self.pending.remove(id).into_iter().flat_map(|(_, waiting)| waiting) {
            // The other side may have left; the row keeps the answer for it.
            let _ = waiting.send(news());
        }
    }

    fn tidy(&self) {
        self.pending.retain(|_, waiting| {
            waiting.retain(|wake| !wake.is_closed());
            !waiting.is_empty()
        });
        self.partings.tidy();
    }
}

/// Who waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waiter {
    /// One of those that the ask is for: as long as they wait it is not taken back.
    Caller,
    /// Somebody who watches.
    Watcher,
}

impl Gate {
    /// Waits until the ask is closed, or as long as told, and returns it as it stands then.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn wait(
        self: &Arc<Self>,
        id: &str,
        longest: Duration,
    ) -> Result<Option<Ask>, StoreError> {
        self.wait_as(Waiter::Watcher, id, longest).await
    }

    pub(super) async fn wait_as(
        self: &Arc<Self>,
        waiter: Waiter,
        id: &str,
        longest: Duration,
    ) -> Result<Option<Ask>, StoreError> {
        let until = tokio::time::Instant::now() + longest;
        loop {
            // INVARIANT: registered first, read second: a press in between is never missed.
            let woken = self.waiters.register(id);
            let Some(mut ask) = self.store.ask(id).await? else { return Ok(None) };
            if waiter == Waiter::Caller {
                ask = self.keep(ask).await?;
            }
            if !ask.is_open() {
                return Ok(Some(ask));
            }
            let left = ask.deadline_at.map(|at| at.saturating_sub(clock::now_ms()).max(0));
            let deadline = left.and_then(|ms| u64::try_from(ms).ok()).map(Duration::from_millis);
            tokio::select! {
                news = woken => if let Ok(News::Closed(ask)) = news {
                    return Ok(Some(*ask));
                },
                () = self.stopping.cancelled() => return Ok(Some(ask)),
                () = tokio::time::sleep_until(until) => return self.store.ask(id).await,
                () = sleep(deadline) => self.expire(&ask).await?,
            }
        }
    }

    pub(super) fn tidy_waiters(&self) {
        self.waiters.tidy();
    }
}

async fn sleep(duration: Option<Duration>) {
    match duration {
        Some(duration) => tokio::time::sleep(duration).await,
        None => std::future::pending().await,
    }
}
