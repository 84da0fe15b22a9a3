//! Requests that wait for a decision out of band, each identified by its own secret.
//!
//! The model may know the public id, which works in this process only. An answer over the wire
//! needs the secret, which only the host receives.

use super::{Clock, DEFAULT_APPROVAL_TTL, every, wire::ResumeToken};
use serde_json::Value;
use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use tokio::{sync::oneshot, task::JoinHandle};

/// Replaces a secret in output that the model or others may read.
const REDACTED: &str = "[REDACTED]";

/// The open requests of a session that the host decides.
pub struct ApprovalBridge {
    ttl: Duration,
    now: Clock,
    state: Mutex<BridgeState>,
}

/// An open request: the secret for the host, and the receiver of its answer.
#[derive(Debug)]
pub struct Suspended {
    /// The secret, for the host only.
    pub token: ResumeToken,
    /// The answer.
    pub outcome: oneshot::Receiver<ApprovalOutcome>,
}

/// The outcome of a request.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub enum ApprovalOutcome {
    /// It was approved.
    Approved {
        /// The host's changes or additions, unchanged.
        modifications: Option<Value>,
    },
    /// It was denied.
    Denied {
        /// The host's changes or additions, unchanged.
        modifications: Option<Value>,
    },
    /// Nobody decided.
    Cancelled(CancelCause),
}

/// The reason why nobody decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelCause {
    /// Nobody answered in time.
    Expired,
    /// The host is gone, so nobody can answer any more.
    HostGone,
}

#[derive(Default)]
struct BridgeState {
    by_secret: HashMap<String, PendingRequest>,
    /// The newest secret for each public id.
    newest: HashMap<String, String>,
}

struct PendingRequest {
    sender: oneshot::Sender<ApprovalOutcome>,
    public: String,
    expires_at: Instant,
}

impl Default for ApprovalBridge {
    fn default() -> Self {
        Self::new(DEFAULT_APPROVAL_TTL, Arc::new(Instant::now))
    }
}

impl ApprovalBridge {
    /// A bridge whose requests expire after `ttl`, measured with this clock.
    #[must_use]
    pub fn new(ttl: Duration, now: Clock) -> Self {
        Self { ttl, now, state: Mutex::default() }
    }

    /// Opens a request under a public id; an id refers to its newest request.
    pub fn request(&self, public: &str) -> Suspended {
        self.request_for(public, self.ttl)
    }

    /// As [`Self::request`], with a time to live of its own.
    // SECURITY: the secret is random, and not derived from anything that the model can see.
    pub fn request_for(&self, public: &str, ttl: Duration) -> Suspended {
        let (sender, outcome) = oneshot::channel();
        let secret = format!("apr-{}", uuid::Uuid::new_v4());
        let expires_at = (self.now)() + ttl;
        let mut state = self.state();
        state.newest.insert(public.to_owned(), secret.clone());
        let pending = PendingRequest { sender, public: public.to_owned(), expires_at };
        state.by_secret.insert(secret.clone(), pending);
        Suspended { token: ResumeToken::new(secret), outcome }
    }

    /// Delivers an answer from the wire, by the secret; `false` if no request has it.
    #[must_use]
    pub fn resume(&self, token: &str, outcome: ApprovalOutcome) -> bool {
        match self.state().take(token) {
            Some(pending) => {
                // A waiter that has gone needs no answer.
                let _ = pending.sender.send(outcome);
                true
            }
            None => false,
        }
    }

    /// Delivers an answer from this process, by the public id; `false` if no request has it.
    #[must_use]
    pub fn resume_here(&self, public: &str, outcome: ApprovalOutcome) -> bool {
        let secret = self.state().newest.get(public).cloned();
        secret.is_some_and(|secret| self.resume(&secret, outcome))
    }

    /// The secret for a public id, for the frame that is sent to the host; `None` for an ordinary
    /// call, which is answered by its id.
    #[must_use]
    pub fn token(&self, public: &str) -> Option<ResumeToken> {
        self.state().newest.get(public).cloned().map(ResumeToken::new)
    }

    /// Removes the secrets of open requests from a text.
    // SECURITY: a tool that read a secret somewhere must not pass it to the model.
    #[must_use]
    pub fn redact(&self, text: &str) -> String {
        let state = self.state();
        state.by_secret.keys().fold(text.to_owned(), |text, secret| text.replace(secret, REDACTED))
    }

    /// The number of open requests.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.state().by_secret.len()
    }

    /// Cancels expired requests, and removes those whose waiter is gone; returns how many.
    pub fn reap_now(&self) -> usize {
        let now = (self.now)();
        let over =
            |pending: &PendingRequest| pending.expires_at <= now || pending.sender.is_closed();
        self.cancel_where(over, CancelCause::Expired)
    }

    /// Cancels all requests, for example when the host is gone; returns how many.
    pub fn cancel_all(&self) -> usize {
        self.cancel_where(|_| true, CancelCause::HostGone)
    }

    /// Runs [`Self::reap_now`] at each `interval`, for as long as the task runs.
    pub fn spawn_reaper(self: &Arc<Self>, interval: Duration) -> JoinHandle<()> {
        let bridge = Arc::clone(self);
        every(interval, move || bridge.reap_now())
    }

    fn cancel_where(&self, over: impl Fn(&PendingRequest) -> bool, cause: CancelCause) -> usize {
        let mut state = self.state();
        let BridgeState { by_secret, newest } = &mut *state;
        let cancelled: Vec<_> =
            by_secret.extract_if(|_, pending| over(pending)).map(|(_, pending)| pending).collect();
        newest.retain(|_, secret| by_secret.contains_key(secret));
        drop(state);
        let count = cancelled.len();
        for pending in cancelled {
            let _ = pending.sender.send(ApprovalOutcome::Cancelled(cause));
        }
        count
    }

    fn state(&self) -> MutexGuard<'_, BridgeState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BridgeState {
    /// Removes a request, and its public id unless a newer request has taken it over.
    fn take(&mut self, secret: &str) -> Option<PendingRequest> {
        let pending = self.by_secret.remove(secret)?;
        if self.newest.get(&pending.public).is_some_and(|newest| newest == secret) {
            self.newest.remove(&pending.public);
        }
        Some(pending)
    }
}

impl fmt::Display for CancelCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Expired => "nobody answered in time",
            Self::HostGone => "the host went away while this waited",
        })
    }
}

impl fmt::Debug for ApprovalBridge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApprovalBridge").field("pending", &self.pending()).finish_non_exhaustive()
    }
}
