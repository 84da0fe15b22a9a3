//! The client side of the HTTP API: what hook, ask, run and the rest talk to the daemon with.

mod decided;
mod error;
mod places;
pub mod session;
mod settings;
mod transport;
mod wire;

pub use decided::{Answer, Decided, Ending, Opened};
pub use error::ClientError;
pub use places::{NoHome, Places};
pub use settings::{ClientSettings, Server};

use countersign_ask::call::Call;
use countersign_tokens::secret::Secret;
use reqwest::Method;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::{Instant, sleep};
use transport::Transport;
use wire::{Handed, Standing};

/// How long a wait goes on while the daemon is away, such as over its restart.
const OUTAGE: Duration = Duration::from_secs(120);

/// How long one request is held by the daemon; a longer wait is repeated.
const HELD: Duration = Duration::from_secs(55);

/// How long an answer that is not held may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Talks to a daemon, or to any of several that share a store.
#[derive(Debug, Clone)]
pub struct Client {
    transport: Transport,
}

impl Client {
    /// Sets up a client; nothing is sent yet. `connect` is how long a connection may take to stand.
    ///
    /// # Errors
    /// When the certificate authority cannot be read.
    pub fn new(settings: &ClientSettings, connect: Duration) -> Result<Self, ClientError> {
        Ok(Self { transport: Transport::new(settings, connect)? })
    }

    /// The same client with an approver's token, which may answer.
    #[must_use]
    pub fn with_token(self, token: Secret) -> Self {
        Self { transport: self.transport.with_token(token) }
    }

    /// Hands a call in as its waiting caller: if it leaves without an answer the ask is cancelled.
    ///
    /// # Errors
    /// [`ClientError`]; an ask may be open all the same, its caller counts as gone then.
    pub async fn open(&self, call: &Call) -> Result<Opened, ClientError> {
        // Held for a second only: the id is wanted soon, so that an interrupted wait can be taken
        // back.
        match self.hand_in(call, Duration::from_secs(1)).await {
            Err(ClientError::Lost { .. }) => self.open_again(call).await,
            handed => handed,
        }
    }

    /// As [`Self::open`], by somebody who can wait for a daemon that is not there yet.
    ///
    /// # Errors
    /// [`ClientError`]
    pub async fn open_patiently(&self, call: &Call) -> Result<Opened, ClientError> {
        match self.open(call).await {
            Err(ClientError::Unreachable { .. }) => self.open_again(call).await,
            opened => opened,
        }
    }

    /// Hands a call in and leaves it there, to be asked for later.
    ///
    /// # Errors
    /// [`ClientError`]
    pub async fn leave(&self, call: &Call) -> Result<Opened, ClientError> {
        self.hand_in(call, Duration::ZERO).await
    }

    /// Waits until the ask of this call is decided, over restarts of the daemon.
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
                    if let Opened::Decided(decided) = self.open_again(call).await? {
                        return Ok(*decided);
                    }
                }
                Err(other) => return Err(other),
            }
        }
    }

    /// An ask as the API shows it.
    ///
    /// # Errors
    /// [`ClientError`]
    pub async fn ask(&self, id: &str) -> Result<Value, ClientError> {
        self.transport.send(Method::GET, &["v1", "asks", id], &[], None, PATIENCE).await
    }

    /// An ask with its card as people see it.
    ///
    /// # Errors
    /// [`ClientError`]
    pub async fn card(&self, id: &str) -> Result<Value, ClientError> {
        let query = [("card", "true".to_owned())];
        self.transport.send(Method::GET, &["v1", "asks", id], &query, None, PATIENCE).await
    }

    /// The open asks as the API shows them, oldest first.
    ///
    /// # Errors
    /// [`ClientError`]
    pub async fn pending(&self) -> Result<Vec<Value>, ClientError> {
        self.open_asks(vec![("state", "open".to_owned())]).await
    }

    /// The open asks with their cards as people see them, oldest first.
    ///
    /// # Errors
    /// [`ClientError`]
    pub async fn cards(&self) -> Result<Vec<Value>, ClientError> {
        self.open_asks(vec![("state", "open".to_owned()), ("card", "true".to_owned())]).await
    }

    async fn open_asks(
        &self,
        mut query: Vec<(&'static str, String)>,
    ) -> Result<Vec<Value>, ClientError> {
        let (mut asks, first) = (Vec::new(), query.len());
        loop {
            let page =
                self.transport.send(Method::GET, &["v1", "asks"], &query, None, PATIENCE).await?;
            let next = page.get("next").and_then(Value::as_str).map(str::to_owned);
            asks.extend(self.list(page, "asks")?);
            let Some(next) = next else { return Ok(asks) };
            query.truncate(first);
            query.push(("after", next));
        }
    }

    /// Answers an ask; the body is that of the API.
    ///
    /// # Errors
    /// [`ClientError`]; [`ClientError::Refused`] without an approver's token.
    pub async fn answer(&self, id: &str, body: &Value) -> Result<Value, ClientError> {
        let path = ["v1", "asks", id, "answer"];
        self.transport.send(Method::POST, &path, &[], Some(body), PATIENCE).await
    }

    /// Takes an ask back.
    ///
    /// # Errors
    /// [`ClientError`]
    pub async fn cancel(&self, id: &str, reason: &str) -> Result<(), ClientError> {
        let (path, body) = (["v1", "asks", id, "cancel"], json!({ "reason": reason }));
        self.transport.send(Method::POST, &path, &[], Some(&body), PATIENCE).await.map(drop)
    }

    /// Ends a session: its open asks are cancelled.
    ///
    /// # Errors
    /// [`ClientError`]
    pub async fn end_session(&self, agent: &str, session: &str) -> Result<(), ClientError> {
        let (path, body) = (["v1", "sessions", session, "end"], json!({ "agent": agent }));
        self.transport.send(Method::POST, &path, &[], Some(&body), PATIENCE).await.map(drop)
    }

    /// The grants in force as the API shows them.
    ///
    /// # Errors
    /// [`ClientError`]
    pub async fn grants(&self) -> Result<Vec<Value>, ClientError> {
        let reply =
            self.transport.send(Method::GET, &["v1", "grants"], &[], None, PATIENCE).await?;
        self.list(reply, "grants")
    }

    /// Revokes a grant.
    ///
    /// # Errors
    /// [`ClientError`]; [`ClientError::Refused`] without an approver's token.
    pub async fn revoke(&self, id: &str) -> Result<Value, ClientError> {
        self.transport.send(Method::DELETE, &["v1", "grants", id], &[], None, PATIENCE).await
    }

    /// How the daemon is: its store, its rules and its adapters, well or not.
    ///
    /// # Errors
    /// [`ClientError`]
    pub async fn ready(&self) -> Result<Value, ClientError> {
        self.transport.look("readyz", PATIENCE).await
    }

    /// Comes back to a daemon that went away: the same call with the same key is the same ask.
    async fn open_again(&self, call: &Call) -> Result<Opened, ClientError> {
        let since = Instant::now();
        let mut pause = Duration::from_millis(100);
        loop {
            sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(2));
            match self.hand_in(call, Duration::from_secs(1)).await {
                Err(ClientError::Unreachable { .. } | ClientError::Lost { .. })
                    if since.elapsed() < OUTAGE => {}
                Err(ClientError::Unreachable { server, why }) => {
                    return Err(ClientError::Lost { server, why });
                }
                handed => return handed,
            }
        }
    }

    async fn hand_in(&self, call: &Call, held: Duration) -> Result<Opened, ClientError> {
        let body = serde_json::to_value(call);
        let mut body = body.map_err(|error| self.transport.unreadable(error))?;
        let secret = session::secret(&call.agent, &call.session);
        if let (Some(body), Some(secret)) = (body.as_object_mut(), secret) {
            body.insert("session_secret".to_owned(), secret.into());
        }
        let query = wait_query(held);
        let path = ["v1", "calls"];
        let reply =
            self.transport.send(Method::POST, &path, &query, Some(&body), held + PATIENCE).await?;
        let handed: Handed = self.transport.read(reply)?;
        match handed.opened().map_err(|why| self.transport.unreadable(why))? {
            Opened::Decided(decided) => {
                let decided = decided.of(call).map_err(|why| self.transport.unreadable(why))?;
                Ok(Opened::Decided(Box::new(decided)))
            }
            open => Ok(open),
        }
    }

    async fn wait(&self, id: &str, held: Duration) -> Result<Option<Decided>, ClientError> {
        let (path, query) = (["v1", "asks", id], wait_query(held));
        let reply = self.transport.send(Method::GET, &path, &query, None, held + PATIENCE).await?;
        let standing: Standing = self.transport.read(reply)?;
        standing.decided().map_err(|why| self.transport.unreadable(why))
    }

    fn list(&self, mut reply: Value, key: &str) -> Result<Vec<Value>, ClientError> {
        match reply.get_mut(key).map(Value::take) {
            Some(Value::Array(list)) => Ok(list),
            _ => Err(self.transport.unreadable(format!("there is no list `{key}`"))),
        }
    }
}

fn wait_query(held: Duration) -> Vec<(&'static str, String)> {
    if held.is_zero() { Vec::new() } else { vec![("wait", held.as_secs().to_string())] }
}
