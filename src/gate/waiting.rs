//! Waiting for an answer: pending oneshots, woken when the row has changed.

use super::{
    Gate,
    ask::{Answer, Ask, By, Decision, State},
};
use crate::{
    clock,
    store::{Closed, StoreError},
};
use dashmap::{DashMap, DashSet};
use std::{sync::Arc, time::Duration};
use tokio::sync::oneshot;

/// How long a caller that lost its connection may take to come back.
const GRACE: Duration = Duration::from_secs(3);
/// How long callers of an earlier process may take; longer than the client tries.
const REUNION: Duration = Duration::from_secs(150);

/// Who waits for which ask, and how many callers stand behind it.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    pending: DashMap<String, Vec<oneshot::Sender<()>>>,
    attached: DashMap<String, usize>,
    /// Asks whose caller has been here since the start.
    met: DashSet<String>,
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
        self.met.remove(id);
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
    #[must_use]
    pub fn attend(self: &Arc<Self>, ask: &str) -> Attendance {
        *self.waiters.attached.entry(ask.to_owned()).or_default() += 1;
        self.waiters.met.insert(ask.to_owned());
        Attendance { gate: self.clone(), ask: ask.to_owned(), answered: false }
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
            let answer = Answer {
                decision: Decision::Deny,
                scope: None,
                reason: Some(why.to_owned()),
                stop: false,
                answers: None,
                by: By::Caller,
                at: clock::now_ms(),
            };
            if let Closed::Won(ask) =
                self.store.close_ask(&ask, &State::Cancelled(answer), &[]).await?
            {
                tracing::info!(ask_id = %ask.id, why, "ask cancelled");
                self.waiters.wake(id);
                self.changed();
                return Ok(Some(ask));
            }
        }
        Ok(None)
    }

    /// Takes back asks whose callers died together with an earlier process: nobody would read the answer.
    pub async fn reunite(&self) {
        let before = clock::now_ms();
        tokio::select! {
            () = tokio::time::sleep(REUNION) => {}
            () = self.stopping.cancelled() => return,
        }
        if let Err(error) = self.cancel_orphans(before).await {
            tracing::warn!(%error, "asks whose callers are gone stay open until their deadline");
        }
    }

    /// Cancels what was opened before then by a caller that waits, and has not been seen since.
    async fn cancel_orphans(&self, before: i64) -> Result<(), StoreError> {
        for ask in self.store.asks_in("open", u32::MAX).await? {
            if ask.attended && ask.created_at < before && !self.waiters.met.contains(&ask.id) {
                self.cancel(&ask.id, "the agent that asked went away").await?;
            }
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
        if self.waiters.attached.contains_key(id) {
            return;
        }
        match self.store.ask(id).await {
            Ok(Some(ask)) if ask.is_open() && ask.attended => {}
            Ok(_) => return,
            Err(error) => return tracing::warn!(ask_id = id, %error, "cannot look after an ask"),
        }
        if let Err(error) = self.cancel(id, "the agent that asked went away").await {
            tracing::warn!(ask_id = id, %error, "an ask whose caller left stays open");
        }
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
        gate::{Handed, OnTimeout, RulesFile, Settings, approvers::Approvers, call::Call},
        store::{Database, Store},
    };
    use countersign_policy::{Floors, Mode};
    use serde_json::json;

    async fn gate(folder: &std::path::Path) -> Arc<Gate> {
        let store = Store::open(&Database::Sqlite(folder.join("test.db"))).await.unwrap();
        let rules =
            RulesFile::open(&folder.join("permissions.jsonc"), None, Floors::default()).unwrap();
        let settings = Settings {
            timeout_ms: 300_000,
            on_timeout: OnTimeout::Deny,
            mode: Mode::Default,
            home: None,
            host: "here".into(),
        };
        Gate::new(store, rules, Approvers::default(), vec![], settings)
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
        let gate = gate(folder.path()).await;
        let gone = ask(&gate, "git push one", true).await;
        let back = ask(&gate, "git push two", true).await;
        let left_alone = ask(&gate, "git push three", false).await;
        gate.attend(&back).leave();
        gate.cancel_orphans(clock::now_ms() + 1).await.unwrap();
        let state = async |id: &str| gate.store.ask(id).await.unwrap().unwrap().state.name();
        assert_eq!(
            [state(&gone).await, state(&back).await, state(&left_alone).await],
            ["cancelled", "open", "open"]
        );
    }
}
