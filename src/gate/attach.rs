//! Callers that wait for their asks, and asks that are cancelled because nobody does.

use super::{
    ask::{Answer, Ask, By, Decision, State},
    attached::OnDetach,
    departures::Departure,
    open_asks::OpenAsks,
    wait::{Waiter, Waits},
};
use countersign_store::{Closed, StoreError};
use countersign_tokens::clock;
use std::{sync::Arc, time::Duration};

/// How long a caller that lost its connection may take to come back.
const GRACE: Duration = Duration::from_secs(3);
/// How long callers of a daemon that is gone may take; longer than the client tries.
const RETURN: Duration = Duration::from_secs(150);
/// How often it is looked for callers whose daemon is gone.
const LOOK: Duration = Duration::from_secs(30);

/// Why an ask is cancelled that nobody waits for.
const GONE: &str = "the agent that asked went away";

/// A caller that waits for its ask on a connection. When it is dropped rather than told to leave,
/// and nobody comes back for the ask within a few seconds or waits for it elsewhere, the ask is
/// cancelled.
#[derive(Debug)]
pub struct AttachedCaller {
    callers: Arc<Callers>,
    ask: String,
    end: AttachmentEnd,
}

/// How an attached caller came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AttachmentEnd {
    /// The caller's connection is gone.
    Dropped,
    /// The store failed, so the caller was told to come back.
    StoreFailed,
    /// The caller got its response; it may come back whenever it likes.
    Left,
    /// The ask is closed: there is nothing to wait for.
    Closed,
}

impl AttachedCaller {
    /// Waits until the ask is closed, or as long as told, and returns it as it is then.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn wait(&mut self, longest: Duration) -> Result<Option<Ask>, StoreError> {
        self.callers.open.waiters.detachments.are_over(&self.ask).await;
        let waited = self.callers.waits.wait_as(Waiter::Caller, &self.ask, longest).await;
        let ask = waited.inspect_err(|_| self.end = AttachmentEnd::StoreFailed)?;
        if !ask.as_ref().is_some_and(Ask::is_open) {
            self.end = AttachmentEnd::Closed;
        }
        Ok(ask)
    }

    /// The caller gets its response; it may come back whenever it likes.
    pub fn leave(mut self) {
        if self.end == AttachmentEnd::Dropped {
            self.end = AttachmentEnd::Left;
        }
    }

    /// The caller was told that the store failed; it may come back once the store works.
    pub(super) fn store_failed(mut self) {
        self.end = AttachmentEnd::StoreFailed;
    }
}

impl AttachmentEnd {
    /// Whether the caller went without a response about its ask.
    fn is_without_response(self) -> bool {
        matches!(self, Self::Dropped | Self::StoreFailed)
    }

    /// How long the caller may take to come back.
    // A store that fails for longer than the short one keeps its callers from coming back.
    fn grace(self) -> Duration {
        if self == Self::StoreFailed { RETURN } else { GRACE }
    }
}

impl Drop for AttachedCaller {
    fn drop(&mut self) {
        let attached = &self.callers.open.waiters.attached;
        if let Some(mut count) = attached.get_mut(&self.ask) {
            *count = count.saturating_sub(1);
        }
        let last = attached.remove_if(&self.ask, |_, count| *count == 0).is_some();
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if last && self.end != AttachmentEnd::Closed && !self.callers.open.stopping.is_cancelled() {
            let (callers, ask, end) =
                (self.callers.clone(), std::mem::take(&mut self.ask), self.end);
            let departure = callers.open.waiters.departures.note(&ask);
            runtime.spawn(async move {
                callers.detach_after_grace(&ask, end, departure).await;
                callers.open.waiters.departures.settle(&ask, departure);
            });
        }
    }
}

/// The callers that wait for their asks at this daemon.
#[derive(Debug)]
pub(super) struct Callers {
    pub(super) open: Arc<OpenAsks>,
    pub(super) waits: Arc<Waits>,
}

impl Callers {
    /// Counts a caller as waiting for this ask until the result is dropped.
    #[must_use]
    pub(super) fn attach(self: &Arc<Self>, id: &str) -> AttachedCaller {
        *self.open.waiters.attached.entry(id.to_owned()).or_default() += 1;
        AttachedCaller { callers: self.clone(), ask: id.to_owned(), end: AttachmentEnd::Dropped }
    }

    /// Cancels an ask for its caller, even if others wait for it. Returns the ask as it is now.
    ///
    /// # Errors
    /// When the store fails.
    pub(super) async fn cancel(&self, id: &str, why: &str) -> Result<Option<Ask>, StoreError> {
        while let Some(ask) = self.open.store.ask(id).await? {
            if !ask.is_open() {
                return Ok(Some(ask));
            }
            if let Closed::Won(ask) = self.cancel_as_seen(&ask, why).await? {
                return Ok(Some(ask));
            }
        }
        Ok(None)
    }

    /// Cancels an ask that was answered at the agent itself. One that has an answer here keeps it,
    /// with the note that it did not count there. Returns the ask as it is now.
    ///
    /// # Errors
    /// When the store fails.
    // INVARIANT: the answer stays as it was given; what its caller reports stands beside it.
    pub(super) async fn answered_elsewhere(&self, id: &str) -> Result<Option<Ask>, StoreError> {
        while let Some(ask) = self.cancel(id, "it was answered elsewhere").await? {
            let State::Answered(Answer { overtaken_at: None, .. }) = &ask.state else {
                return Ok(Some(ask));
            };
            if let Closed::Won(ask) = self.open.store.note_overtaken(&ask, clock::now_ms()).await? {
                self.open.changed();
                return Ok(Some(ask));
            }
        }
        Ok(None)
    }

    /// Cancels asks whose callers died together with their daemon: nobody would read the answer.
    pub(super) async fn cancel_orphans(&self) {
        let mut pause = RETURN;
        loop {
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.open.stopping.cancelled() => return,
            }
            if let Err(error) = self.cancel_orphans_now().await {
                tracing::warn!(%error, "asks without callers stay open until their deadline");
            }
            // A daemon that has the store to itself can only find those of the one before it.
            if !self.open.store.is_shared() {
                return;
            }
            pause = LOOK;
        }
    }

    /// Cancels an ask if its row is as seen, the attached daemons included.
    async fn cancel_as_seen(&self, seen: &Ask, why: &str) -> Result<Closed, StoreError> {
        let answer = Answer {
            reason: Some(why.to_owned()),
            ..Answer::new(Decision::Deny, By::Caller, clock::now_ms())
        };
        let closed = self.open.close(seen, State::Cancelled(answer)).await?;
        if let Closed::Won(ask) = &closed {
            tracing::info!(ask_id = %ask.id, why, "ask cancelled");
        }
        Ok(closed)
    }

    /// Cancels what callers waited for at daemons that are gone, and that nobody has come back to.
    async fn cancel_orphans_now(&self) -> Result<(), StoreError> {
        let (daemon, mut last) = (&self.open.daemon, String::new());
        loop {
            let page = self.open.store.orphans(daemon, RETURN, &last).await?;
            for (id, attached) in &page {
                let ask = self.open.store.whole_ask(id).await?;
                // One that somebody has come back to meanwhile is attached elsewhere.
                if let Some(ask) = ask.filter(|ask| ask.is_open() && ask.attached == *attached) {
                    let _ = self.cancel_as_seen(&ask, GONE).await?;
                }
            }
            match page.into_iter().next_back() {
                Some((id, _)) => last = id,
                None => return Ok(()),
            }
        }
    }

    // INVARIANT: only the latest departure counts. A caller that was killed right after an earlier
    // one got its response would otherwise find its daemon detached, and its ask would stay open.
    async fn detach_after_grace(&self, id: &str, end: AttachmentEnd, departure: Departure) {
        let mut pause = end.grace();
        loop {
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.open.stopping.cancelled() => return,
            }
            if !self.open.waiters.departures.is_latest(id, departure) {
                return;
            }
            let Err(error) = self.detach(id, end.is_without_response()).await else { return };
            tracing::warn!(ask_id = id, %error, "an ask whose caller left stays open for now");
            if error.is_of_a_row() {
                return;
            }
            // A caller that left because the store failed may be on its way back until then.
            pause = RETURN;
        }
    }

    /// The last caller of an ask here is gone: another one may wait elsewhere.
    async fn detach(&self, id: &str, left: bool) -> Result<(), StoreError> {
        // INVARIANT: a caller that comes from now on reads the row after this has changed it.
        let _under_way = self.open.waiters.detachments.begin(id).await;
        while !self.open.waiters.attached.contains_key(id)
            && let Some(ask) = self.open.store.ask(id).await?
            && ask.is_open()
            && ask.attended
        {
            let alive = self.open.store.daemons(RETURN).await?;
            let alive = |daemon: &str| alive.iter().any(|other| other == daemon);
            match ask.attached.on_detach(&self.open.daemon, left, alive) {
                OnDetach::Nothing => break,
                OnDetach::Cancel => {
                    if let Closed::Won(_) = self.cancel_as_seen(&ask, GONE).await? {
                        break;
                    }
                }
                OnDetach::Note(attached) => {
                    if self.open.store.set_attached(&ask, &attached).await? {
                        break;
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
