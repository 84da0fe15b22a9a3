//! Threads: at a target that shows each session in a place of its own, where a new card goes.

use crate::{
    card::thread_name,
    outbox::{OutboxWorker, cards::in_time},
};
use countersign_gate::ask::Ask;
use countersign_port::{Posting, SendError, SessionThread, Target};
use countersign_store::{StoreError, ThreadKey, ThreadRow};
use countersign_tokens::clock;
use std::time::Duration;
use tokio::time::Instant;

impl OutboxWorker {
    /// Where a new message about this ask goes: the thread of its session, or the target itself
    /// where it has none. The error is the platform's, and the card waits.
    // INVARIANT: no ask waits for a thread that cannot be had.
    pub(super) async fn place_of(
        &mut self,
        ask: &Ask,
    ) -> Result<Result<Target, SendError>, StoreError> {
        let here = Target(self.target.clone());
        let has_threads = self.gate.thread_idle_ms(self.adapter.name, &self.target).is_some();
        if !has_threads || ask.body.is_own() {
            return Ok(Ok(here));
        }
        let key = self.thread_key(ask);
        // Once more where the thread that is known turns out to be gone.
        for _ in 0..2 {
            let known = self.store.session_thread(&key).await?;
            if let Some(row) = &known {
                match &row.place {
                    Some(place) if !row.closed => {
                        self.store.thread_used(&row.id, clock::now_ms()).await?;
                        return Ok(Ok(Target(place.clone())));
                    }
                    // Whether it was made cannot be found out, or it is deleted every time.
                    None if row.given_up || (row.attempts > 0 && row.refused.is_some()) => {
                        self.store.thread_used(&row.id, clock::now_ms()).await?;
                        return Ok(Ok(here));
                    }
                    _ => {}
                }
            }
            if self.thread_pause.lasts() {
                return Ok(Ok(here));
            }
            let name = thread_name(&ask.body.call);
            let now = clock::now_ms();
            let opening = self.store.opening_thread(&key, &name, self.term.fence(), now).await?;
            let Some(row) = opening else {
                return Ok(Err(SendError::Transient("another daemon leads".to_owned())));
            };
            match self.open(&row).await {
                Ok(place) => {
                    self.store.thread_opened(&row.id, &place.0, clock::now_ms()).await?;
                    return Ok(Ok(place));
                }
                Err(SendError::ThreadGone(why)) if row.place.is_some() => {
                    self.thread_gone(&key, &why).await?;
                }
                Err(SendError::Refused(why)) => {
                    self.refuse(&row, &why).await?;
                    return Ok(Ok(here));
                }
                // Perhaps it was made.
                Err(error @ SendError::Transient(_)) => return Ok(Err(error)),
                Err(error) => {
                    self.store.thread_not_made(&row.id, None).await?;
                    return Ok(Err(error));
                }
            }
        }
        Ok(Ok(here))
    }

    async fn open(&self, row: &ThreadRow) -> Result<Target, SendError> {
        let posting = if row.attempts > 0 { Posting::MayRepeat } else { Posting::First };
        let here = Target(self.target.clone());
        let thread = session_thread(row);
        in_time(self.adapter.open_thread(&here, &thread, posting)).await
    }

    async fn refuse(&mut self, row: &ThreadRow, why: &str) -> Result<(), StoreError> {
        let adapter = self.adapter.name;
        let target = &self.target;
        tracing::warn!(adapter, target, why, "a session has no thread; its cards go to the target");
        // After a try that was lost it says nothing of other sessions.
        if row.attempts == 0 {
            self.thread_pause.begin();
        }
        self.store.thread_not_made(&row.id, Some(why)).await
    }

    /// Notes that the thread of a session is gone.
    pub(super) async fn thread_gone(&self, key: &ThreadKey, why: &str) -> Result<(), StoreError> {
        let ThreadKey { adapter, target, session, .. } = key;
        tracing::warn!(adapter, target, session, why, "a session's thread is gone");
        self.store.thread_lost(key, why).await
    }

    /// The thread of the ask's session, if its messages are in one.
    pub(super) async fn thread_of(&self, ask: &Ask) -> Result<Option<ThreadKey>, StoreError> {
        if self.gate.thread_idle_ms(self.adapter.name, &self.target).is_none() {
            return Ok(None);
        }
        let key = self.thread_key(ask);
        let row = self.store.session_thread(&key).await?;
        Ok(row.and_then(|row| row.place).map(|_| key))
    }

    /// Where the messages of the ask's session are.
    pub(super) async fn known_place(&self, ask: &Ask) -> Result<Target, StoreError> {
        let row = self.store.session_thread(&self.thread_key(ask)).await?;
        let place = row.and_then(|row| row.place);
        Ok(Target(place.unwrap_or_else(|| self.target.clone())))
    }

    /// Closes threads whose sessions ended or rest. `Some`: nothing more for so long.
    pub(super) async fn close_idle(&mut self) -> Result<Option<Duration>, StoreError> {
        let name = self.adapter.name;
        let Some(idle) = self.gate.thread_idle_ms(name, &self.target) else { return Ok(None) };
        let before = clock::now_ms().saturating_sub(idle);
        for row in self.store.idle_threads(name, &self.target, before).await? {
            if let Some(left) = self.term.rests_for() {
                return Ok(Some(left));
            }
            let here = Target(self.target.clone());
            let thread = session_thread(&row);
            match in_time(self.adapter.close_thread(&here, &thread)).await {
                Ok(()) => self.store.thread_closed(&row.id).await?,
                Err(SendError::Retry { after, .. }) => return Ok(Some(after)),
                // Tried again when it is looked for idle threads the next time.
                Err(error @ (SendError::Transient(_) | SendError::Fatal(_))) => {
                    tracing::debug!(adapter = name, %error, "a thread is closed later");
                    return Ok(None);
                }
                Err(error) => {
                    tracing::warn!(adapter = name, %error, "a thread cannot be closed");
                    self.store.thread_closed(&row.id).await?;
                }
            }
        }
        Ok(None)
    }

    fn thread_key(&self, ask: &Ask) -> ThreadKey {
        let call = &ask.body.call;
        ThreadKey {
            adapter: self.adapter.name.to_owned(),
            target: self.target.clone(),
            agent: call.agent.clone(),
            session: call.session.clone(),
        }
    }
}

fn session_thread(row: &ThreadRow) -> SessionThread {
    let ThreadRow { id, name, place, .. } = row;
    SessionThread { id: id.clone(), name: name.clone(), place: place.clone().map(Target) }
}

/// A change of the bot's rights ends it before.
const REFUSED: Duration = Duration::from_secs(60);

/// A pause in which no thread is asked for, after the platform refused one.
#[derive(Debug, Default)]
pub(super) struct ThreadPause(Option<Instant>);

impl ThreadPause {
    /// The platform refused a thread.
    pub(super) fn begin(&mut self) {
        self.0 = Some(Instant::now() + REFUSED);
    }

    /// What the bot may do has changed.
    pub(super) fn end(&mut self) {
        self.0 = None;
    }

    pub(super) fn lasts(&self) -> bool {
        self.0.is_some_and(|until| Instant::now() < until)
    }
}
