//! Waiting for an answer: who waits, what wakes them, and asks that are cancelled because nobody
//! waits for them any more.

use super::{
    Gate,
    ask::{Answer, Ask, By, Decision, State},
    attached::OnDetach,
};
use countersign_store::{Closed, StoreError, Tail};
use countersign_tokens::clock;
use dashmap::DashMap;
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::{Mutex, Notify, OwnedMutexGuard, oneshot},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

/// How long a caller that lost its connection may take to come back.
const GRACE: Duration = Duration::from_secs(3);
/// How long callers of a daemon that is gone may take; longer than the client tries.
const RETURN: Duration = Duration::from_secs(150);
/// How often it is looked for callers whose daemon is gone.
const LOOK: Duration = Duration::from_secs(30);

/// Why an ask is cancelled that nobody waits for.
const GONE: &str = "the agent that asked went away";
/// How often it is looked for news when no hint of it came: hints are lost, rows are not.
const NEWS: Duration = Duration::from_secs(1);

/// A caller that waits for its ask on a connection. When it is dropped rather than told to leave,
/// and nobody comes back for the ask within a few seconds or waits for it elsewhere, the ask is
/// cancelled.
#[derive(Debug)]
pub struct AttachedCaller {
    gate: Arc<Gate>,
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
        self.gate.waiters.detachments.are_over(&self.ask).await;
        let waited = self.gate.wait_as(Waiter::Caller, &self.ask, longest).await;
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
        let attached = &self.gate.waiters.attached;
        if let Some(mut count) = attached.get_mut(&self.ask) {
            *count = count.saturating_sub(1);
        }
        let last = attached.remove_if(&self.ask, |_, count| *count == 0).is_some();
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if last && self.end != AttachmentEnd::Closed && !self.gate.is_stopping() {
            let gate = self.gate.clone();
            let ask = std::mem::take(&mut self.ask);
            let end = self.end;
            let disconnect = gate.waiters.disconnects.note(&ask);
            runtime.spawn(async move {
                gate.detach_after_grace(&ask, end, disconnect).await;
                gate.waiters.disconnects.settle(&ask, disconnect);
            });
        }
    }
}

impl Gate {
    /// Waits until the ask is closed, or as long as told, and returns it as it is then.
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

    async fn wait_as(
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
                ask = self.note_attached(ask).await?;
            }
            if !ask.is_open() {
                return Ok(Some(ask));
            }
            // A waiter holds no body: there may be as many as there are connections.
            let deadline_at = ask.deadline_at;
            drop(ask);
            let deadline = deadline_at.map(clock::until);
            tokio::select! {
                news = woken => if let Ok(Wakeup::Closed(ask)) = news {
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

    /// Notes in the row that its caller waits here, unless it says so already. Returns the ask as
    /// it is then.
    async fn note_attached(&self, mut ask: Ask) -> Result<Ask, StoreError> {
        let Self { store, daemon: here, .. } = self;
        while ask.is_open() && ask.attended && !ask.attached.has(here) {
            let attached = ask.attached.with(here);
            if store.set_attached(&ask, &attached).await? {
                ask.attached = attached
            } else {
                match store.ask(&ask.id).await? {
                    Some(now) => ask = now,
                    None => break,
                }
            }
        }
        Ok(ask)
    }

    /// Counts a caller as waiting for this ask until the result is dropped.
    #[must_use]
    pub fn attach(self: &Arc<Self>, id: &str) -> AttachedCaller {
        *self.waiters.attached.entry(id.to_owned()).or_default() += 1;
        AttachedCaller { gate: self.clone(), ask: id.to_owned(), end: AttachmentEnd::Dropped }
    }

    /// The number of callers that wait at this daemon.
    #[must_use]
    pub fn callers(&self) -> u64 {
        let count = self.waiters.attached.iter().map(|entry| *entry.value()).sum::<usize>();
        u64::try_from(count).unwrap_or(u64::MAX)
    }

    /// Cancels an ask for its caller, even if others wait for it. Returns the ask as it is now.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn cancel(self: &Arc<Self>, id: &str, why: &str) -> Result<Option<Ask>, StoreError> {
        while let Some(ask) = self.store.ask(id).await? {
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
    pub async fn answered_elsewhere(self: &Arc<Self>, id: &str) -> Result<Option<Ask>, StoreError> {
        while let Some(ask) = self.cancel(id, "it was answered elsewhere").await? {
            let State::Answered(Answer { overtaken_at: None, .. }) = &ask.state else {
                return Ok(Some(ask));
            };
            if let Closed::Won(ask) = self.store.note_overtaken(&ask, clock::now_ms()).await? {
                self.changed();
                return Ok(Some(ask));
            }
        }
        Ok(None)
    }

    /// Cancels asks whose callers died together with their daemon: nobody would read the answer.
    pub async fn cancel_orphans(self: &Arc<Self>) {
        let mut pause = RETURN;
        loop {
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.stopping.cancelled() => return,
            }
            if let Err(error) = self.cancel_orphans_now().await {
                tracing::warn!(%error, "asks without callers stay open until their deadline");
            }
            // A daemon that has the store to itself can only find those of the one before it.
            if !self.store.is_shared() {
                return;
            }
            pause = LOOK;
        }
    }

    /// Cancels an ask if its row is as seen, the attached daemons included.
    async fn cancel_as_seen(self: &Arc<Self>, seen: &Ask, why: &str) -> Result<Closed, StoreError> {
        let answer = Answer {
            reason: Some(why.to_owned()),
            ..Answer::new(Decision::Deny, By::Caller, clock::now_ms())
        };
        let closed = self.close(seen, State::Cancelled(answer)).await?;
        if let Closed::Won(ask) = &closed {
            tracing::info!(ask_id = %ask.id, why, "ask cancelled");
        }
        Ok(closed)
    }

    /// Cancels what callers waited for at daemons that are gone, and that nobody has come back to.
    async fn cancel_orphans_now(self: &Arc<Self>) -> Result<(), StoreError> {
        let daemon = &self.daemon;
        let mut last = String::new();
        loop {
            let page = self.store.orphans(daemon, RETURN, &last).await?;
            for (id, attached) in &page {
                let ask = self.store.whole_ask(id).await?;
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

    // INVARIANT: only the latest disconnect counts. A caller that was killed right after an earlier
    // one got its response would otherwise find its daemon detached, and its ask would stay open.
    async fn detach_after_grace(
        self: &Arc<Self>,
        id: &str,
        end: AttachmentEnd,
        disconnect: Disconnect,
    ) {
        let mut pause = end.grace();
        loop {
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.stopping.cancelled() => return,
            }
            if !self.waiters.disconnects.is_latest(id, disconnect) {
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
    async fn detach(self: &Arc<Self>, id: &str, left: bool) -> Result<(), StoreError> {
        // INVARIANT: a caller that comes from now on reads the row after this has changed it.
        let _under_way = self.waiters.detachments.begin(id).await;
        while !self.waiters.attached.contains_key(id)
            && let Some(ask) = self.store.ask(id).await?
            && ask.is_open()
            && ask.attended
        {
            let alive = self.store.daemons(RETURN).await?;
            let alive = |daemon: &str| alive.iter().any(|other| other == daemon);
            match ask.attached.on_detach(&self.daemon, left, alive) {
                OnDetach::Nothing => break,
                OnDetach::Cancel => {
                    if let Closed::Won(_) = self.cancel_as_seen(&ask, GONE).await? {
                        break;
                    }
                }
                OnDetach::Note(attached) => {
                    if self.store.set_attached(&ask, &attached).await? {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Wakes the waiters here of asks that were closed elsewhere, until told to stop. `tail` must
    /// be from before anybody waits.
    pub async fn follow(&self, tail: Tail, stop: CancellationToken) {
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
            let hinted = timeout(NEWS, heard.notified()).await.is_ok();
            match self.news(&mut tail).await {
                Ok(news) if news || hinted => self.changed_remotely(),
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

/// Who waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waiter {
    /// One of those that the ask is for: while they wait it is not cancelled.
    Caller,
    /// Somebody who watches.
    Watcher,
}

/// Who waits for which ask, and how many callers there are behind it.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    pending: DashMap<String, Vec<oneshot::Sender<Wakeup>>>,
    attached: DashMap<String, usize>,
    disconnects: Disconnects,
    detachments: Detachments,
}

/// What a waiter is woken with.
#[derive(Debug)]
enum Wakeup {
    /// The ask, closed and committed: nothing happens to it any more.
    Closed(Box<Ask>),
    /// Something happened; the row says what.
    Look,
}

impl Waiters {
    fn register(&self, id: &str) -> oneshot::Receiver<Wakeup> {
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

    pub(super) fn tidy(&self) {
        self.pending.retain(|_, waiting| {
            waiting.retain(|wake| !wake.is_closed());
            !waiting.is_empty()
        });
        self.detachments.tidy();
    }
}

/// The latest disconnect from each ask, until it is dealt with.
#[derive(Debug, Default)]
struct Disconnects {
    next: AtomicU64,
    latest: DashMap<String, Disconnect>,
}

/// The disconnect of an ask's last caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Disconnect(u64);

impl Disconnects {
    /// Notes that the last caller of an ask has left.
    fn note(&self, ask: &str) -> Disconnect {
        let disconnect = Disconnect(self.next.fetch_add(1, Ordering::Relaxed));
        self.latest.insert(ask.to_owned(), disconnect);
        disconnect
    }

    /// Whether no caller has left the ask since.
    fn is_latest(&self, ask: &str, disconnect: Disconnect) -> bool {
        self.latest.get(ask).is_some_and(|latest| *latest == disconnect)
    }

    /// Forgets a disconnect that was dealt with.
    fn settle(&self, ask: &str, disconnect: Disconnect) {
        self.latest.remove_if(ask, |_, latest| *latest == disconnect);
    }
}

/// The detachments under way, by ask.
#[derive(Debug, Default)]
struct Detachments(DashMap<String, Arc<Mutex<()>>>);

/// A detachment under way, until it is dropped.
#[derive(Debug)]
struct Detachment<'a> {
    all: &'a Detachments,
    ask: &'a str,
    held: Option<OwnedMutexGuard<()>>,
}

impl Detachments {
    /// Begins a detachment, once no other one is under way.
    async fn begin<'a>(&'a self, ask: &'a str) -> Detachment<'a> {
        let lock = self.0.entry(ask.to_owned()).or_default().clone();
        Detachment { all: self, ask, held: Some(lock.lock_owned().await) }
    }

    /// Waits until none is under way.
    async fn are_over(&self, ask: &str) {
        if self.0.contains_key(ask) {
            drop(self.begin(ask).await);
        }
    }

    /// Forgets those that were given up before they began.
    fn tidy(&self) {
        self.0.retain(|_, lock| Arc::strong_count(lock) > 1);
    }
}

impl Drop for Detachment<'_> {
    fn drop(&mut self) {
        self.held = None;
        self.all.0.remove_if(self.ask, |_, lock| Arc::strong_count(lock) == 1);
    }
}

async fn sleep(duration: Option<Duration>) {
    match duration {
        Some(duration) => tokio::time::sleep(duration).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
