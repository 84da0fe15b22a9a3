//! Calls that policy allows, for the log. They are noted in memory and written together: an allowed
//! call waits for no commit, and a crash loses those of the last moment.

use super::{SubmitError, call::Call};
use countersign_policy::Decision;
use countersign_store::{NewEvent, Store, StoreError};
use countersign_tokens::clock;
use serde_json::json;
use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// How long calls are gathered before they are written: what a crash may lose.
const TOGETHER: Duration = Duration::from_millis(200);
/// How many wait at most. A caller that finds more writes them and waits.
const MOST: usize = 4_096;

/// Notes allowed calls.
#[derive(Debug)]
pub(super) struct AllowedCalls {
    store: Store,
    waiting: Mutex<Vec<NewEvent>>,
    news: Notify,
}

impl AllowedCalls {
    pub(super) fn new(store: Store) -> Self {
        Self { store, waiting: Mutex::default(), news: Notify::new() }
    }

    /// Notes an allowed call.
    ///
    /// # Errors
    /// When too many wait and the store fails.
    // FAIL-CLOSED: a call that cannot be noted any more is not allowed.
    pub(super) async fn note(
        &self,
        call: &Call,
        decision: &Decision,
        digest: &str,
    ) -> Result<(), SubmitError> {
        let mut data = json!({"agent": call.agent, "session": call.session, "tool": call.tool,
            "digest": digest, "rule": decision.rule, "reason": decision.reason});
        // With a token of its own, its agent reads it and other agents do not.
        if let Some(data) = data.as_object_mut()
            && call.owner.as_ref().is_some_and(|owner| owner.token().is_some())
        {
            data.insert("token".to_owned(), json!(call.agent));
        }
        let event = NewEvent { at: clock::now_ms(), kind: "allowed".to_owned(), ask: None, data };
        let waiting = {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.push(event);
            waiting.len()
        };
        self.news.notify_one();
        if waiting > MOST {
            self.write().await?;
        }
        Ok(())
    }

    /// Writes what was noted.
    ///
    /// # Errors
    /// When the store fails; then it is written later.
    pub(super) async fn write(&self) -> Result<(), StoreError> {
        let taken =
            || std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        let events = taken();
        if events.is_empty() {
            return Ok(());
        }
        let written = self.store.note_all(events.clone()).await;
        // One that may have been committed is not written again: the log would count it twice.
        if let Err(error) = &written
            && !matches!(error, StoreError::Uncertain(_))
        {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            let since = std::mem::replace(&mut *waiting, events);
            waiting.extend(since);
        }
        written
    }

    /// Writes what is noted, until told to stop.
    pub(super) async fn keep_written(&self, stop: CancellationToken) {
        while stop.run_until_cancelled(self.news.notified()).await.is_some() {
            let _ = stop.run_until_cancelled(tokio::time::sleep(TOGETHER)).await;
            if let Err(error) = self.write().await {
                tracing::debug!(%error, "allowed calls are written to the log later");
                self.news.notify_one();
            }
        }
        if let Err(error) = self.write().await {
            tracing::warn!(%error, "the latest allowed calls are not in the log");
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]
    use super::*;
    use countersign_policy::{Layers, Mode, Rules, decide};
    use countersign_store::engines::on_both;

    fn allowed(call: &Call) -> Decision {
        let all = Rules::parse(r#"{"*": "allow"}"#, "rules", None).unwrap();
        let (none, guardrail) = (Rules::default(), countersign_policy::Guardrail::default());
        let layers =
            Layers { agent: None, rules: &all, grants: &none, guardrail: &guardrail, now_ms: 0 };
        decide(&call.for_policy(None), &layers, Mode::Default)
    }

    #[tokio::test]
    async fn allowed_calls_are_written_once_and_in_their_order() {
        on_both(async |store| {
            let calls = AllowedCalls::new(store.clone());
            for n in 0..MOST + 3 {
                let call = Call::new("a", "s", "t", json!({ "n": n }));
                calls.note(&call, &allowed(&call), &n.to_string()).await.unwrap();
            }
            calls.write().await.unwrap();
            calls.write().await.unwrap();
            let mut digests = Vec::new();
            let mut last = 0;
            loop {
                let events = store.events_after(last, 500).await.unwrap();
                let Some(newest) = events.last() else { break };
                last = newest.id;
                digests.extend(events.into_iter().map(|event| {
                    assert_eq!(
                        (event.kind.as_str(), &event.data["tool"]),
                        ("allowed", &json!("t"))
                    );
                    event.data["digest"].as_str().unwrap().to_owned()
                }));
            }
            assert!(digests.into_iter().eq((0..MOST + 3).map(|n| n.to_string())));
        })
        .await;
    }
}
