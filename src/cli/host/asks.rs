//! The open calls of an engine at the daemon.

use crate::{
    agents::wcore::AGENT,
    client::{Client, ClientError, Decided, Submitted},
    gate::call::Call,
    protocol::CancelReason,
};
use std::{collections::HashMap, pin::pin, time::Duration};
use tokio::{
    sync::oneshot,
    task::JoinSet,
    time::{Instant, timeout, timeout_at},
};

/// The time for cancelling a call. After that the daemon notices by itself.
const BACK: Duration = Duration::from_secs(5);

/// A call's key with its decision; `None` if it was cancelled.
type FinishedAsk = (String, Option<Result<Decided, ClientError>>);

/// All open calls of the engine.
pub(super) struct Asks {
    client: Client,
    waiting: JoinSet<FinishedAsk>,
    back: HashMap<String, oneshot::Sender<CancelReason>>,
}

impl Asks {
    pub(super) fn new(client: Client) -> Self {
        Self { client, waiting: JoinSet::new(), back: HashMap::new() }
    }

    /// Submits a call.
    pub(super) fn open(&mut self, key: String, call: Call) {
        let (back, taken) = oneshot::channel();
        self.back.insert(key.clone(), back);
        let client = self.client.clone();
        self.waiting.spawn(async move { (key, ask(&client, &call, taken).await) });
    }

    /// Cancels a call.
    pub(super) fn take_back(&mut self, key: &str, why: CancelReason) {
        if let Some(back) = self.back.remove(key) {
            let _ = back.send(why);
        }
    }

    /// Waits for the next decision.
    pub(super) async fn next(&mut self) -> (String, Result<Decided, ClientError>) {
        loop {
            match self.waiting.join_next().await {
                Some(Ok((key, done))) => {
                    self.back.remove(&key);
                    if let Some(decided) = done {
                        return (key, decided);
                    }
                }
                // A task that panicked makes no decision.
                Some(Err(_)) => {}
                // `pending` and not `None`: this runs in a `select!`, which would otherwise spin
                // without open calls.
                None => std::future::pending().await,
            }
        }
    }

    /// Waits until every call is cancelled, and ends the session.
    pub(super) async fn leave(mut self, session: &str) {
        let until = Instant::now() + BACK;
        while let Ok(Some(_)) = timeout_at(until, self.waiting.join_next()).await {}
        // If this fails, the daemon still notices that its callers are gone.
        let _ = timeout_at(until, self.client.end_session(AGENT, session)).await;
    }
}

async fn ask(
    client: &Client,
    call: &Call,
    mut taken: oneshot::Receiver<CancelReason>,
) -> Option<Result<Decided, ClientError>> {
    // Patiently, because an engine outlives a restart of the daemon.
    let mut submitting = pin!(client.submit_patiently(call));
    let (submitted, why) = tokio::select! {
        submitted = &mut submitting => (submitted, None),
        // The id is needed to cancel the ask with the right reason, so the submission is awaited.
        why = &mut taken => (timeout(BACK, submitting).await.ok()?, why.ok()),
    };
    let id = match (submitted, why) {
        (Ok(Submitted::Ask(id)), None) => id,
        (Ok(Submitted::Ask(id)), Some(why)) => {
            let _ = client.cancel(&id, why).await;
            return None;
        }
        (_, Some(_)) => return None,
        (Ok(Submitted::Decided(decided)), None) => return Some(Ok(*decided)),
        (Err(error), None) => return Some(Err(error)),
    };
    tokio::select! {
        decided = client.decided(call, &id) => Some(decided),
        why = taken => {
            let _ = client.cancel(&id, why.unwrap_or(CancelReason::Aborted)).await;
            None
        }
    }
}
