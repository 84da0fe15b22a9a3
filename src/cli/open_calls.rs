//! The open calls of a program at the daemon.

use countersign_client::{Client, ClientError, Decided, Submitted};
use countersign_domain::wire::CancelReason;
use countersign_gate::call::Call;
use std::{collections::HashMap, pin::pin, time::Duration};
use tokio::{
    sync::{
        mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
        oneshot,
    },
    task::{JoinError, JoinSet},
    time::{Instant, timeout, timeout_at},
};

/// The time for cancelling a call. After that the daemon notices by itself.
const BACK: Duration = Duration::from_secs(5);

/// A call's key with its decision; `None` if it was cancelled.
type FinishedCall = (String, Option<Result<Decided, ClientError>>);

/// All open calls of the program.
pub(super) struct OpenCalls {
    client: Client,
    without_daemon: WithoutDaemon,
    waiting: JoinSet<FinishedCall>,
    back: HashMap<String, oneshot::Sender<CancelReason>>,
    /// Calls that were over while their decision had not been taken in yet.
    over: HashMap<String, CancelReason>,
    /// The asks of decided calls, by key.
    answered: HashMap<String, String>,
    opening: UnboundedSender<(String, String)>,
    opened: UnboundedReceiver<(String, String)>,
}

/// What a call does that finds no daemon. One that was submitted always outlives a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WithoutDaemon {
    /// It waits for one to start, up to two minutes.
    Waits,
    /// It fails at once.
    Fails,
}

/// News about a call, by its key.
pub(super) enum CallNews {
    /// A person is asked, under this ask id.
    Opened(String, String),
    /// It is decided, or it cannot be.
    Decided(String, Box<Result<Decided, ClientError>>),
}

impl OpenCalls {
    pub(super) fn new(client: Client, without_daemon: WithoutDaemon) -> Self {
        let (opening, opened) = unbounded_channel();
        let (waiting, back) = (JoinSet::new(), HashMap::new());
        let (over, answered) = (HashMap::new(), HashMap::new());
        Self { client, without_daemon, waiting, back, over, answered, opening, opened }
    }

    /// Submits a call.
    pub(super) fn open(&mut self, key: String, call: Call) {
        let (back, taken) = oneshot::channel();
        self.back.insert(key.clone(), back);
        let (client, opening) = (self.client.clone(), self.opening.clone());
        let without_daemon = self.without_daemon;
        self.waiting.spawn(async move {
            // The receiver lives as long as this task.
            let opened = |id: &str| drop(opening.send((key.clone(), id.to_owned())));
            let done = ask(&client, &call, without_daemon, opened, taken).await;
            (key, done)
        });
    }

    /// Cancels a call. One that is answered keeps its answer, and its card says that it came too
    /// late if it was answered elsewhere.
    pub(super) fn take_back(&mut self, key: &str, why: CancelReason) {
        if let Some(back) = self.back.remove(key) {
            if back.send(why).is_err() {
                self.over.insert(key.to_owned(), why);
            }
        } else if let Some(ask) = self.answered.remove(key) {
            self.report(ask, key, why);
        }
    }

    fn report(&mut self, ask: String, key: &str, why: CancelReason) {
        let (client, key) = (self.client.clone(), key.to_owned());
        self.waiting.spawn(async move {
            let _ = client.cancel(&ask, why).await;
            (key, None)
        });
    }

    /// Waits for the next news.
    pub(super) async fn next(&mut self) -> CallNews {
        loop {
            tokio::select! {
                biased;
                Some((key, id)) = self.opened.recv() => return CallNews::Opened(key, id),
                // Not while it is empty: the select would spin.
                Some(done) = self.waiting.join_next(), if !self.waiting.is_empty() => {
                    if let Some(news) = self.finished(done) {
                        return news;
                    }
                }
            }
        }
    }

    /// Takes in the end of a call's task. A decision on a call that is over is told to have come
    /// too late.
    fn finished(&mut self, done: Result<FinishedCall, JoinError>) -> Option<CallNews> {
        // A task that panicked makes no decision.
        let (key, decided) = done.ok()?;
        self.back.remove(&key);
        let decided = decided?;
        let ask = decided.as_ref().ok().and_then(|decided| decided.ask.clone());
        match (self.over.remove(&key), ask) {
            (None, ask) => {
                self.answered.extend(ask.map(|ask| (key.clone(), ask)));
                Some(CallNews::Decided(key, Box::new(decided)))
            }
            (Some(why), Some(ask)) => {
                self.report(ask, &key, why);
                None
            }
            (Some(_), None) => None,
        }
    }

    /// Cancels every call that is still open, and waits until they are.
    pub(super) async fn close(&mut self, why: CancelReason) {
        for (_, back) in self.back.drain() {
            let _ = back.send(why);
        }
        self.finish(Instant::now() + BACK).await;
    }

    /// Waits until every call is cancelled, and ends the session.
    pub(super) async fn leave(mut self, agent: &str, session: &str) {
        let until = Instant::now() + BACK;
        self.finish(until).await;
        // If this fails, the daemon still notices that its callers are gone.
        let _ = timeout_at(until, self.client.end_session(agent, session)).await;
    }

    async fn finish(&mut self, until: Instant) {
        while let Ok(Some(done)) = timeout_at(until, self.waiting.join_next()).await {
            // Nobody takes a decision any more.
            let _ = self.finished(done);
        }
    }
}

async fn ask(
    client: &Client,
    call: &Call,
    without_daemon: WithoutDaemon,
    opened: impl FnOnce(&str),
    mut taken: oneshot::Receiver<CancelReason>,
) -> Option<Result<Decided, ClientError>> {
    let mut submitting = pin!(async {
        match without_daemon {
            WithoutDaemon::Waits => client.submit_patiently(call).await,
            WithoutDaemon::Fails => client.submit_in_turn(call).await,
        }
    });
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
        // A person answered at the same moment; nobody takes the answer any more.
        (Ok(Submitted::Decided(decided)), Some(why)) => {
            if let Some(id) = decided.ask {
                let _ = client.cancel(&id, why).await;
            }
            return None;
        }
        (Err(_), Some(_)) => return None,
        (Ok(Submitted::Decided(decided)), None) => return Some(Ok(*decided)),
        (Err(error), None) => return Some(Err(error)),
    };
    opened(&id);
    tokio::select! {
        // First: once it was answered elsewhere, nobody takes this answer.
        biased;
        why = taken => {
            let _ = client.cancel(&id, why.unwrap_or(CancelReason::Aborted)).await;
            None
        }
        decided = client.decided(call, &id) => Some(decided),
    }
}

#[cfg(test)]
mod tests;
