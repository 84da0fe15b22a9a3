//! The calls of an engine at the daemon: handed in, waited for, taken back.

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

/// How long taking a call back may take. After that the daemon notices by itself.
const BACK: Duration = Duration::from_secs(5);

/// A call's key, and how it was decided; `None` for one that was taken back.
type FinishedAsk = (String, Option<Result<Decided, ClientError>>);

/// All calls that wait.
pub(super) struct Asks {
    client: Client,
    waiting: JoinSet<FinishedAsk>,
    back: HashMap<String, oneshot::Sender<CancelReason>>,
}

impl Asks {
    pub(super) fn new(client: Client) -> Self {
        Self { client, waiting: JoinSet::new(), back: HashMap::new() }
    }

    /// Hands a call in.
    pub(super) fn open(&mut self, key: String, call: Call) {
        let (back, taken) = oneshot::channel();
        self.back.insert(key.clone(), back);
        let client = self.client.clone();
        self.waiting.spawn(async move { (key, ask(&client, &call, taken).await) });
    }

    /// Takes a call back.
    pub(super) fn take_back(&mut self, key: &str, why: CancelReason) {
        if let Some(back) = self.back.remove(key) {
            let _ = back.send(why);
        }
    }

    /// The next decision.
    pub(super) async fn next(&mut self) -> (String, Result<Decided, ClientError>) {
        loop {
            match self.waiting.join_next().await {
                Some(Ok((key, done))) => {
                    self.back.remove(&key);
                    if let Some(decided) = done {
                        return (key, decided);
                    }
                }
                // A task that broke decides nothing.
                Some(Err(_)) => {}
                None => std::future::pending().await,
            }
        }
    }

    /// Waits until everything is taken back, and ends the session.
    pub(super) async fn leave(mut self, session: &str) {
        let until = Instant::now() + BACK;
        while let Ok(Some(_)) = timeout_at(until, self.waiting.join_next()).await {}
        // Should this fail the daemon still notices that its callers are gone.
        let _ = timeout_at(until, self.client.end_session(AGENT, session)).await;
    }
}

async fn ask(
    client: &Client,
    call: &Call,
    mut taken: oneshot::Receiver<CancelReason>,
) -> Option<Result<Decided, ClientError>> {
    let mut submitting = pin!(client.submit_patiently(call));
    let (submitted, why) = tokio::select! {
        submitted = &mut submitting => (submitted, None),
        // Its id must be known to take it back with the right words.
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
