//! The client side of the HTTP API, used by hook, ask, run and the other commands.

#![warn(missing_docs)]

mod approver;
mod decided;
mod events;
mod parked;
mod records;
pub mod session;
mod settings;
mod transport;
mod wire;

// What its functions take and give: who asks needs no other room.
pub use countersign_domain::{By, Decision, call::Call, wire::AnswerView};
pub use countersign_tokens::{ids, secret::Secret};
pub use decided::{Decided, Ending, Submitted};
pub use events::{Events, Happened};
pub use settings::{ClientSettings, NoHome, Places, Server};
pub use transport::ClientError;

use countersign_domain::wire::{
    AheadReply, AskView, CallReply, CancelReason, CancelRequest, ReadyReply, SessionRequest,
    SubmitRequest,
};
use reqwest::Method;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::time::Duration;
use tokio::time::{Instant, sleep};
use transport::Transport;

/// The longest outage of the daemon that a wait survives, for example a restart.
const OUTAGE: Duration = Duration::from_secs(120);

/// The pause before a call is submitted again that a limit of the daemon refused.
const FULL: Duration = Duration::from_secs(5);

/// The wait of one request; longer waits repeat it. The daemon holds a request for 60 s at most.
const HELD: Duration = Duration::from_secs(55);

/// The timeout of a request that does not wait for a person.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// A client of one daemon, or of several that share a store.
#[derive(Debug, Clone)]
pub struct Client {
    pub(crate) transport: Transport,
}

impl Client {
    /// Sets up a client without sending anything. `connect` is the connection timeout.
    ///
    /// # Errors
    /// When the certificate authority cannot be read.
    pub fn new(settings: &ClientSettings, connect: Duration) -> Result<Self, ClientError> {
        Ok(Self { transport: Transport::new(settings, connect)? })
    }

    /// The same client with an approver's token, which may answer asks.
    #[must_use]
    pub fn with_token(self, token: Secret) -> Self {
        Self { transport: self.transport.with_token(token) }
    }

    /// Submits a call as its waiting caller: if it disconnects without an answer, the ask is
    /// cancelled.
    ///
    /// # Errors
    /// [`ClientError`]; an ask may be open then, and counts as left by its caller.
    pub async fn submit(&self, call: &Call) -> Result<Submitted, ClientError> {
        // Waits for one second only: the id is needed soon, so that an interrupted wait can cancel
        // the ask.
        // A lost connection may have delivered the call. Its key makes it safe to submit it again.
        match self.send_call(call, Duration::from_secs(1)).await {
            Err(ClientError::Lost { .. }) => self.submit_again(call).await,
            submitted => submitted,
        }
    }

    /// As [`Self::submit`], and waits for a daemon that does not run yet.
    ///
    /// # Errors
    /// [`ClientError`]
    pub async fn submit_patiently(&self, call: &Call) -> Result<Submitted, ClientError> {
        match self.submit(call).await {
            Err(ClientError::Unreachable { .. }) => self.submit_again(call).await,
            submitted => submitted,
        }
    }

    /// As [`Self::submit`], but waits up to two minutes while a limit of the daemon refuses the
    /// call.
    ///
    /// # Errors
    /// [`ClientError`]; [`ClientError::TooMuch`] if the limit still refuses it then.
    pub async fn submit_in_turn(&self, call: &Call) -> Result<Submitted, ClientError> {
        let since = Instant::now();
        loop {
            match self.submit(call).await {
                Err(ClientError::TooMuch(_)) if since.elapsed() < OUTAGE => sleep(FULL).await,
                submitted => return submitted,
            }
        }
    }

    /// Submits a call without waiting for its answer.
    ///
    /// # Errors
    /// [`ClientError`]
    pub async fn submit_and_leave(&self, call: &Call) -> Result<Submitted, ClientError> {
        self.send_call(call, Duration::ZERO).await
    }

    /// Submits a call, and waits until it is decided.
    ///
    /// # Errors
    /// [`ClientError`]
    pub async fn submit_and_wait(&self, call: &Call) -> Result<Decided, ClientError> {
        match self.submit(call).await? {
            Submitted::Decided(decided) => Ok(*decided),
            Submitted::Ask(id) => self.decided(call, &id).await,
        }
    }

    /// Waits until the ask of this call is decided, also across restarts of the daemon.
    ///
    /// # Errors
    /// [`ClientError`]
    pub async fn decided(&self, call: &Call, id: &str) -> Result<Decided, ClientError> {
        loop {
            match self.wait(id, HELD).await {
                Ok(Some(decided)) => {
                    return decided.of(call).map_err(|why| self.transport.unreadable(why));
                }
                Ok(None) => {}
                Err(ClientError::Unreachable { .. } | ClientError::Lost { .. }) => {
                    // Submitted again, rather than only asked for: the daemon counts us as its
                    // caller once more, and a key that it already knows gives the same ask.
                    if let Submitted::Decided(decided) = self.submit_again(call).await? {
                        return Ok(*decided);
                    }
                }
                Err(other) => return Err(other),
            }
        }
    }

    /// Who approved exactly this call ahead, such as the retry of one that a machine had blocked;
    /// `None` decides nothing. With `spend` the call runs now, and its approval is used up.
    ///
    /// # Errors
    /// [`ClientError`]
    pub async fn ahead(&self, call: &Call, spend: bool) -> Result<Option<String>, ClientError> {
        let body = submission(call);
        let query = [("spend", spend.to_string())];
        let reply: AheadReply =
            self.post(&["v1", "calls", "ahead"], &query, &body, PATIENCE).await?;
        Ok(reply.approved)
    }

    /// An ask.
    ///
    /// # Errors
    /// [`ClientError`]
    pub async fn ask(&self, id: &str) -> Result<AskView, ClientError> {
        self.get(&["v1", "asks", id], &[]).await
    }

    /// An ask with the card that people see.
    ///
    /// # Errors
    /// [`ClientError`]
    pub async fn card(&self, id: &str) -> Result<AskView, ClientError> {
        self.get(&["v1", "asks", id], &[("card", "true".to_owned())]).await
    }

    /// Cancels an ask.
    ///
    /// # Errors
    /// [`ClientError`]
    pub async fn cancel(&self, id: &str, reason: CancelReason) -> Result<(), ClientError> {
        self.cancel_as(id, reason, None).await
    }

    /// Reports that the agent does not let run what a person released by this ask, and why.
    ///
    /// # Errors
    /// [`ClientError`]
    pub async fn refuse(&self, id: &str, why: &str) -> Result<(), ClientError> {
        self.cancel_as(id, CancelReason::Refused, Some(why.to_owned())).await
    }

    async fn cancel_as(
        &self,
        id: &str,
        reason: CancelReason,
        why: Option<String>,
    ) -> Result<(), ClientError> {
        let body = CancelRequest { reason: Some(reason.word().to_owned()), why };
        let path = ["v1", "asks", id, "cancel"];
        self.post::<Value>(&path, &[], &body, PATIENCE).await.map(drop)
    }

    /// Ends a session, which cancels its open asks.
    ///
    /// # Errors
    /// [`ClientError`]
    pub async fn end_session(&self, agent: &str, session: &str) -> Result<(), ClientError> {
        let body = SessionRequest { agent: agent.to_owned() };
        let path = ["v1", "sessions", session, "end"];
        self.post::<Value>(&path, &[], &body, PATIENCE).await.map(drop)
    }

    /// The state of the daemon, its store, its rules and its adapters, whether healthy or not.
    ///
    /// # Errors
    /// [`ClientError`]
    pub async fn ready(&self) -> Result<ReadyReply, ClientError> {
        self.transport.look("readyz", PATIENCE).await
    }

    /// Submits a call again after the connection was lost: the same key means the same ask.
    async fn submit_again(&self, call: &Call) -> Result<Submitted, ClientError> {
        let since = Instant::now();
        let mut pause = Duration::from_millis(100);
        loop {
            sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(2));
            match self.send_call(call, Duration::from_secs(1)).await {
                Err(ClientError::Unreachable { .. } | ClientError::Lost { .. })
                    if since.elapsed() < OUTAGE => {}
                // `Lost` for the caller, because the daemon had the call before: an ask may be
                // open.
                Err(ClientError::Unreachable { server, why }) => {
                    return Err(ClientError::Lost { server, why });
                }
                submitted => return submitted,
            }
        }
    }

    async fn send_call(&self, call: &Call, held: Duration) -> Result<Submitted, ClientError> {
        let body = submission(call);
        let path = ["v1", "calls"];
        let query = wait_query(held);
        let reply: CallReply = self.post(&path, &query, &body, held + PATIENCE).await?;
        Submitted::read(reply, call).map_err(|why| self.transport.unreadable(why))
    }

    async fn wait(&self, id: &str, held: Duration) -> Result<Option<Decided>, ClientError> {
        let path = ["v1", "asks", id];
        let query = wait_query(held);
        let ask: AskView =
            self.transport.send(Method::GET, &path, &query, None, held + PATIENCE).await?;
        wire::decided(ask).map_err(|why| self.transport.unreadable(why))
    }

    /// Reads from the API.
    pub(crate) async fn get<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &[(&str, String)],
    ) -> Result<T, ClientError> {
        self.transport.send(Method::GET, path, query, None, PATIENCE).await
    }

    /// Deletes in the API.
    async fn delete<T: DeserializeOwned>(&self, path: &[&str]) -> Result<T, ClientError> {
        self.transport.send(Method::DELETE, path, &[], None, PATIENCE).await
    }

    /// Sends to the API.
    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &[(&str, String)],
        body: &impl Serialize,
        timeout: Duration,
    ) -> Result<T, ClientError> {
        let body = serde_json::to_value(body).map_err(|error| self.transport.unreadable(error))?;
        self.transport.send(Method::POST, path, query, Some(&body), timeout).await
    }
}

/// A call as it is submitted.
fn submission(call: &Call) -> SubmitRequest {
    let session_secret = session::secret(&call.agent, &call.session);
    SubmitRequest { call: call.clone(), session_secret }
}

fn wait_query(held: Duration) -> Vec<(&'static str, String)> {
    if held.is_zero() { Vec::new() } else { vec![("wait", held.as_secs().to_string())] }
}
