//! Waiting for an answer, woken when the row has changed.

use super::{Gate, ask::Ask, waiters::News};
use crate::{clock, store::StoreError};
use std::{sync::Arc, time::Duration};

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
        let mut rest = Duration::ZERO;
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
            // Whoever waits holds no body: there may be as many as there are connections.
            let deadline_at = ask.deadline_at;
            drop(ask);
            let left = deadline_at.map(|at| at.saturating_sub(clock::now_ms()).max(0));
            let deadline = left.and_then(|ms| u64::try_from(ms).ok()).map(Duration::from_millis);
            tokio::select! {
                news = woken => if let Ok(News::Closed(ask)) = news {
                    return Ok(Some(*ask));
                },
                () = self.stopping.cancelled() => return self.store.ask(id).await,
                () = tokio::time::sleep_until(until) => return self.store.ask(id).await,
                () = sleep(deadline.map(|left| left.max(rest))) => {
                    let Some(ask) = self.store.ask(id).await? else { return Ok(None) };
                    rest = self.expire(&ask, self.timer()).await?.rest();
                }
            }
        }
    }
}

async fn sleep(duration: Option<Duration>) {
    match duration {
        Some(duration) => tokio::time::sleep(duration).await,
        None => std::future::pending().await,
    }
}
