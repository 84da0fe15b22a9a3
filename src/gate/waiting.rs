//! Waiting for an answer: pending oneshots, woken when the row has changed.

use super::{
    Gate,
    ask::{Answer, Ask, By, Decision, State},
};
use crate::{
    clock,
    store::{Closed, StoreError},
};
use countersign_policy::profiles::Then;
use dashmap::DashMap;
use std::{sync::Arc, time::Duration};
use tokio::sync::oneshot;

/// How long a caller that lost its connection may take to come back.
const GRACE: Duration = Duration::from_secs(3);
/// How long callers of an earlier process may take; longer than the client tries.
const REUNION: Duration = Duration::from_secs(150);

/// Why an ask is taken back that nobody waits for.
const GONE: &str = "the agent that asked went away";

/// Who waits for which ask, and how many callers stand behind it.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    pending: DashMap<String, Vec<oneshot::Sender<()>>>,
    attached: DashMap<String, usize>,
}

impl Waiters {
    fn register(&self, id: &str) -> oneshot::Receiver<()> {
        let (wake, woken) = oneshot::channel();
        let mut waiting = self.pending.entry(id.to_owned()).or_default();
        waiting.retain(|other| !other.is_closed());
        waiting.push(wake);
        woken
    }

    pub(super) fn wake(&self, id: &str) {
        if let Some((_, waiting)) = self.pending.remove(id) {
            for wake in waiting {
                // The other side may have left; the row keeps the answer for it.
                let _ = wake.send(());
            }
        }
    }

    fn tidy(&self) {
        self.pending.retain(|_, waiting| {
            waiting.retain(|wake| !wake.is_closed());
            !waiting.is_empty()
        });
    }
}

/// A caller that waits for its ask on a connection. When it is dropped rather than told to leave, and
/// nobody comes back for the ask within a few seconds, the ask is cancelled.
#[derive(Debug)]
pub struct Attendance {
    gate: Arc<Gate>,
    ask: String,
    answered: bool,
}

impl Attendance {
    /// The caller got its response; it may come back whenever it likes.
    pub fn leave(mut self) {
        self.answered = true;
    }
}

impl Gate {
    /// Waits until the ask is closed, or as long as told, and returns it as it stands then.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn wait(&self, id: &str, longest: Duration) -> Result<Option<Ask>, StoreError> {
        let until = tokio::time::Instant::now() + longest;
        loop {
            // INVARIANT: registered first, read second: a press in between is never missed.
            let woken = self.waiters.register(id);
            let Some(ask) = self.store.ask(id).await? else { return Ok(None) };
            if !ask.is_open() {
                return Ok(Some(ask));
            }
            let left = ask.deadline_at.map(|at| at.saturating_sub(clock::now_ms()).max(0));
            let deadline = left.and_then(|ms| u64::try_from(ms).ok()).map(Duration::from_millis);
            tokio::select! {
                _ = woken => {}
                () = self.stopping.cancelled() => return Ok(Some(ask)),
                () = tokio::time::sleep_until(until) => return self.store.ask(id).await,
                () = sleep(deadline) => self.expire(&ask).await?,
            }
        }
    }

    /// Counts a caller as waiting for this ask until the result is dropped.
    pub async fn attend(self: &Arc<Self>, ask: &Ask) -> Attendance {
        *self.waiters.attached.entry(ask.id.clone()).or_default() += 1;
        let attendance = Attendance { gate: self.clone(), ask: ask.id.clone(), answered: false };
        if ask.is_open()
            && ask.keeper != self.settings.daemon
            && let Err(error) = self.store.keep_ask(&ask.id, &self.settings.daemon).await
        {
            tracing::warn!(ask_id = %ask.id, %error, "it is not noted that its caller waits here");
        }
        attendance
    }

    /// Takes an ask back for its caller. Returns the ask as it stands now.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn cancel(&self, id: &str, why: &str) -> Result<Option<Ask>, StoreError> {
        while let Some(ask) = self.store.ask(id).await? {
            if !ask.is_open() {
                return Ok(Some(ask));
            }
            if let Closed::Won(ask) = self.take_back(&ask, why).await? {
                return Ok(Some(ask));
            }
        }
        Ok(None)
    }

    /// Takes an ask back if it stands as seen, and its caller has not been seen at another daemon since.
    async fn take_back(&self, seen: &Ask, why: &str) -> Result<Closed, StoreError> {
        let answer = Answer {
            decision: Decision::Deny,
            scope: None,
            reason: Some(why.to_owned()),
            then: Then::GoOn,
            answers: None,
            by: By::Caller,
            at: clock::now_ms(),
        };
        let closed = self.store.close_ask(seen, &State::Cancelled(answer), &[]).await?;
        if let Closed::Won(ask) = &closed {
            tracing::info!(ask_id = %ask.id, why, "ask cancelled");
            self.waiters.wake(&ask.id);
            self.changed();
        }
        Ok(closed)
    }

    /// Takes back asks whose callers died together with their daemon: nobody would read the answer.
    pub async fn reunite(&self) {
        loop {
            tokio::select! {
                () = tokio::time::sleep(REUNION) => {}
                () = self.stopping.cancelled() => return,
            }
            if let Err(error) = self.cancel_orphans().await {
                tracing::warn!(%error, "asks whose callers are gone stay open until their deadline");
            }
            // A daemon that has the store to itself can only find those of the one before it.
            if !self.store.is_shared() {
                return;
            }
        }
    }

    /// Cancels what a caller waited for at a daemon that is gone, and that no caller has come back to.
    async fn cancel_orphans(&self) -> Result<(), StoreError> {
        let silence = i64::try_from(REUNION.as_millis()).unwrap_or(i64::MAX);
        for ask in self.store.orphans(&self.settings.daemon, silence).await? {
            let _ = self.take_back(&ask, GONE).await?;
        }
        Ok(())
    }

    pub(super) fn tidy_waiters(&self) {
        self.waiters.tidy();
    }

    async fn cancel_if_left(&self, id: &str) {
        tokio::select! {
            () = tokio::time::sleep(GRACE) => {}
            () = self.stopping.cancelled() => return,
        }
        if let Err(error) = self.take_back_if_left(id).await {
            tracing::warn!(ask_id = id, %error, "an ask whose caller left stays open");
        }
    }

    async fn take_back_if_left(&self, id: &str) -> Result<(), StoreError> {
        // INVARIANT: an ask whose caller waits at another daemon is not taken back at this one.
        while !self.waiters.attached.contains_key(id)
            && let Some(ask) = self.store.ask(id).await?
            && ask.is_open()
            && ask.attended
            && ask.keeper == self.settings.daemon
        {
            if let Closed::Won(_) = self.take_back(&ask, GONE).await? {
                return Ok(());
            }
        }
        Ok(())
    }
}

impl Drop for Attendance {
    fn drop(&mut self) {
        let attached = &self.gate.waiters.attached;
        if let Some(mut count) = attached.get_mut(&self.ask) {
            *count = count.saturating_sub(1);
        }
        let left = attached.remove_if(&self.ask, |_, count| *count == 0).is_some();
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if left && !self.answered && !self.gate.stopping.is_cancelled() {
            let (gate, ask) = (self.gate.clone(), std::mem::take(&mut self.ask));
            runtime.spawn(async move { gate.cancel_if_left(&ask).await });
        }
    }
}

async fn sleep(duration: Option<Duration>) {
    match duration {
        Some(duration) => tokio::time::sleep(duration).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]
    use super::*;
    use crate::{
        gate::{Handed, OnTimeout, Policy, Settings, approvers::Approvers, call::Call},
        store::{Database, Store},
    };
    use countersign_policy::{Floors, profiles::Profile};
    use serde_json::json;

    async fn store(folder: &std::path::Path) -> Store {
        Store::open(&Database::Sqlite(folder.join("test.db"))).await.unwrap()
    }

    fn gate(store: &Store, folder: &std::path::Path, daemon: &str) -> Arc<Gate> {
        let rules = folder.join("permissions.jsonc");
        let rules =
            Policy::open(Profile::Standard, Some(&rules), None, Floors::default(), false).unwrap();
        let settings = Settings {
            timeout_ms: 300_000,
            on_timeout: OnTimeout::Deny,
            mode: None,
            home: None,
            host: "here".into(),
            daemon: daemon.into(),
            keep_ms: 1,
        };
        Gate::new(store.clone(), rules, Approvers::default(), vec![], settings)
    }

    async fn ask(gate: &Gate, command: &str, attended: bool) -> String {
        let call = json!({"agent": "a", "session": "s", "tool": "shell_exec",
            "args": {"command": command}});
        let call: Call = serde_json::from_value(call).unwrap();
        match gate.hand_in(call, attended).await.unwrap() {
            Handed::Asked(ask) => ask.id,
            Handed::Ruled(ruling) => panic!("ruled: {ruling:?}"),
        }
    }

    #[tokio::test]
    async fn only_asks_whose_waiting_callers_never_came_back_are_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path()).await;
        let before = gate(&store, folder.path(), "before");
        let gone = ask(&before, "git push one", true).await;
        let back = ask(&before, "git push two", true).await;
        let left_alone = ask(&before, "git push three", false).await;
        let now = gate(&store, folder.path(), "now");
        let read = async |id: &str| store.ask(id).await.unwrap().unwrap();
        now.attend(&read(&back).await).await.leave();
        now.cancel_orphans().await.unwrap();
        let state = async |id: &str| read(id).await.state.name();
        assert_eq!(
            [state(&gone).await, state(&back).await, state(&left_alone).await],
            ["cancelled", "open", "open"]
        );
    }

    #[tokio::test]
    async fn a_caller_that_went_to_another_daemon_has_not_left() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path()).await;
        let one = gate(&store, folder.path(), "one");
        let two = gate(&store, folder.path(), "two");
        let id = ask(&one, "git push", true).await;
        let seen = store.ask(&id).await.unwrap().unwrap();
        two.attend(&seen).await.leave();
        one.take_back_if_left(&id).await.unwrap();
        assert!(store.ask(&id).await.unwrap().unwrap().is_open());
        assert!(matches!(one.take_back(&seen, GONE).await.unwrap(), Closed::Lost(_)));
        two.take_back_if_left(&id).await.unwrap();
        assert_eq!(store.ask(&id).await.unwrap().unwrap().state.name(), "cancelled");
    }
}
