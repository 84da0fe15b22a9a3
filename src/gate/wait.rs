//! Waiting for an answer, woken when the row has changed.

use super::{ask::Ask, expire::Deadlines, open_asks::OpenAsks, waiters::Wakeup};
use countersign_store::StoreError;
use countersign_tokens::clock;
use std::{sync::Arc, time::Duration};

/// Who waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waiter {
    /// One of those that the ask is for: while they wait it is not cancelled.
    Caller,
    /// Somebody who watches.
    Watcher,
}

/// Waiting for the end of asks.
#[derive(Debug)]
pub(super) struct Waits {
    pub(super) open: Arc<OpenAsks>,
    pub(super) deadlines: Arc<Deadlines>,
}

impl Waits {
    /// Waits until the ask is closed, or as long as told, and returns it as it is then.
    ///
    /// # Errors
    /// When the store fails.
    pub(super) async fn wait(
        &self,
        id: &str,
        longest: Duration,
    ) -> Result<Option<Ask>, StoreError> {
        self.wait_as(Waiter::Watcher, id, longest).await
    }

    pub(super) async fn wait_as(
        &self,
        waiter: Waiter,
        id: &str,
        longest: Duration,
    ) -> Result<Option<Ask>, StoreError> {
        let until = tokio::time::Instant::now() + longest;
        let mut rest = Duration::ZERO;
        loop {
            // INVARIANT: registered first, read second: a press in between is never missed.
            let woken = self.open.waiters.register(id);
            let Some(mut ask) = self.open.store.ask(id).await? else { return Ok(None) };
            if waiter == Waiter::Caller {
                ask = self.attach(ask).await?;
            }
            if !ask.is_open() {
                return Ok(Some(ask));
            }
            // A waiter holds no body: there may be as many as there are connections.
            let deadline_at = ask.deadline_at;
            drop(ask);
            let left = deadline_at.map(|at| at.saturating_sub(clock::now_ms()).max(0));
            let deadline = left.and_then(|ms| u64::try_from(ms).ok()).map(Duration::from_millis);
            tokio::select! {
                news = woken => if let Ok(Wakeup::Closed(ask)) = news {
                    return Ok(Some(*ask));
                },
                () = self.open.stopping.cancelled() => return self.open.store.ask(id).await,
                () = tokio::time::sleep_until(until) => return self.open.store.ask(id).await,
                () = sleep(deadline.map(|left| left.max(rest))) => {
                    let Some(ask) = self.open.store.ask(id).await? else { return Ok(None) };
                    rest = self.deadlines.expire(&ask, self.deadlines.timer()).await?.rest();
                }
            }
        }
    }

    /// Notes in the row that its caller waits here, unless it says so already. Returns the ask as
    /// it is then.
    pub(super) async fn attach(&self, mut ask: Ask) -> Result<Ask, StoreError> {
        let OpenAsks { store, daemon: here, .. } = &*self.open;
        while ask.is_open() && ask.attended && !ask.attached.has(here) {
            let attached = ask.attached.with(here);
            match store.set_attached(&ask, &attached).await? {
                true => ask.attached = attached,
                false => match store.ask(&ask.id).await? {
                    Some(now) => ask = now,
                    None => break,
                },
            }
        }
        Ok(ask)
    }
}

async fn sleep(duration: Option<Duration>) {
    match duration {
        Some(duration) => tokio::time::sleep(duration).await,
        None => std::future::pending().await,
    }
}
