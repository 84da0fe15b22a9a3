//! The client side of the HTTP API: what hook, ask, run and the rest talk to the daemon with.

mod decided;
mod wire;

pub use decided::{Answer, Decided, Ending};

use crate::{
    config::{Client as Settings, Server},
    gate::call::Call,
    secret::Secret,
};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::{Instant, sleep};
use wire::{Handed, Standing};

/// How long a wait goes on while the daemon is away, such as over its restart.
const OUTAGE: Duration = Duration::from_secs(120);

/// How long one request is held by the daemon; a longer wait is repeated.
const HELD: Duration = Duration::from_secs(55);

/// How long an answer that is not held may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Talks to one daemon.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    base: String,
    server: Server,
    token: Option<Secret>,
}

/// Why the daemon gave no answer. None of these ever permits anything.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody is there.
    #[error("no countersign daemon at {server}: {why}; start one with `countersign serve`")]
    Unreachable {
        /// Where it was looked for.
        server: String,
        /// What the system said.
        why: String,
    },
    /// It was there, and went away.
    #[error("the daemon at {server} went away: {why}")]
    Lost {
        /// Where it was.
        server: String,
        /// What the system said.
        why: String,
    },
    /// The token is missing, wrong, or not good enough.
    #[error("{0}")]
    Refused(String),
    /// The request was not taken.
    #[error("{0}")]
    Rejected(String),
    /// The reply makes no sense; it is never taken for a yes.
    #[error("the daemon at {server} gave an answer that this version cannot read: {why}")]
    Unreadable {
        /// Where it is.
        server: String,
        /// What is wrong with it.
        why: String,
    },
    /// The client itself could not be set up.
    #[error("{0}")]
    SetUp(String),
}

/// A call that was handed in.
#[derive(Debug, Clone, PartialEq)]
pub enum Opened {
    /// It is decided already.
    Decided(Decided),
    /// It waits for a person, under this id.
    Ask(String),
}

impl Client {
    /// Sets up a client; nothing is sent yet. `connect` is how long a connection may take to stand.
    ///
    /// # Errors
    /// When the certificate authority cannot be read.
    pub fn new(settings: &Settings, connect: Duration) -> Result<Self, ClientError> {
        let set_up = |why: String| ClientError::SetUp(why);
        let mut http = reqwest::Client::builder().connect_timeout(connect).no_proxy();
        let base = match &settings.url {
            Server::Unix(path) => {
                http = http.unix_socket(path.as_path());
                "http://localhost".to_owned()
            }
            Server::Http(_) => settings.url.to_string(),
        };
        if let Some(file) = &settings.ca_file {
            let named = |why: String| format!("[client] ca_file {}: {why}", file.display());
            let pem = std::fs::read(file).map_err(|error| set_up(named(error.to_string())))?;
            let authority = reqwest::Certificate::from_pem(&pem)
                .map_err(|_| set_up(named("this is no certificate in PEM form".into())))?;
            http = http.add_root_certificate(authority);
        }
        // The socket knows its user; a token would only be one more thing to be wrong.
        let token = match &settings.url {
            Server::Unix(_) => None,
            Server::Http(_) => settings.token.clone(),
        };
        let http = http.build().map_err(|error| set_up(error.to_string()))?;
        Ok(Self { http, base, server: settings.url.clone(), token })
    }

    /// The same client with an approver's token, which may answer.
    #[must_use]
    pub fn with_token(self, token: Secret) -> Self {
        Self { token: Some(token), ..self }
    }

    /// Hands a call in as its waiting caller: if it leaves without an answer the ask is cancelled.
    ///
    /// # Errors
    /// [`ClientError`]; an ask may be open all the same, its caller counts as gone then.
    pub async fn open(&self, call: &Call) -> Result<Opened, ClientError> {
        // Held for a second only: the id is wanted soon, so that an interrupted wait can be taken back.
        match self.hand_in(call, Duration::from_secs(1)).await {
            Err(ClientError::Lost { .. }) => self.open_again(call).await,
            handed => handed,
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
                Ok(Some(decided)) => return Ok(decided),
                Ok(None) => {}
                Err(ClientError::Unreachable { .. } | ClientError::Lost { .. }) => {
                    if let Opened::Decided(decided) = self.open_again(call).await? {
                        return Ok(decided);
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
        self.send(Method::GET, &["v1", "asks", id], &[], None, PATIENCE).await
    }

    /// The open asks as the API shows them, oldest first.
    ///
    /// # Errors
    /// [`ClientError`]
    pub async fn pending(&self) -> Result<Vec<Value>, ClientError> {
        let query = [("state", "open".to_owned())];
        let reply = self.send(Method::GET, &["v1", "asks"], &query, None, PATIENCE).await?;
        self.list(reply, "asks")
    }

    /// Answers an ask; the body is that of the API.
    ///
    /// # Errors
    /// [`ClientError`]; [`ClientError::Refused`] without an approver's token.
    pub async fn answer(&self, id: &str, body: &Value) -> Result<Value, ClientError> {
        let path = ["v1", "asks", id, "answer"];
        self.send(Method::POST, &path, &[], Some(body), PATIENCE).await
    }

    /// Takes an ask back.
    ///
    /// # Errors
    /// [`ClientError`]
    pub async fn cancel(&self, id: &str, reason: &str) -> Result<(), ClientError> {
        let (path, body) = (["v1", "asks", id, "cancel"], json!({ "reason": reason }));
        self.send(Method::POST, &path, &[], Some(&body), PATIENCE).await.map(drop)
    }

    /// Ends a session: its open asks are cancelled.
    ///
    /// # Errors
    /// [`ClientError`]
    pub async fn end_session(&self, agent: &str, session: &str) -> Result<(), ClientError> {
        let (path, body) = (["v1", "sessions", session, "end"], json!({ "agent": agent }));
        self.send(Method::POST, &path, &[], Some(&body), PATIENCE).await.map(drop)
    }

    /// The grants in force as the API shows them.
    ///
    /// # Errors
    /// [`ClientError`]
    pub async fn grants(&self) -> Result<Vec<Value>, ClientError> {
        let reply = self.send(Method::GET, &["v1", "grants"], &[], None, PATIENCE).await?;
        self.list(reply, "grants")
    }

    /// Revokes a grant.
    ///
    /// # Errors
    /// [`ClientError`]; [`ClientError::Refused`] without an approver's token.
    pub async fn revoke(&self, id: &str) -> Result<Value, ClientError> {
        self.send(Method::DELETE, &["v1", "grants", id], &[], None, PATIENCE).await
    }

    /// How the daemon is: its store, its rules and its adapters.
    ///
    /// # Errors
    /// [`ClientError`]
    pub async fn ready(&self) -> Result<Value, ClientError> {
        self.send(Method::GET, &["readyz"], &[], None, PATIENCE).await
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
        let body = serde_json::to_value(call).map_err(|error| self.unreadable(error))?;
        let query = wait_query(held);
        let path = ["v1", "calls"];
        let reply = self.send(Method::POST, &path, &query, Some(&body), held + PATIENCE).await?;
        let handed: Handed = self.read(reply)?;
        handed.opened().map_err(|why| self.unreadable(why))
    }

    async fn wait(&self, id: &str, held: Duration) -> Result<Option<Decided>, ClientError> {
        let (path, query) = (["v1", "asks", id], wait_query(held));
        let reply = self.send(Method::GET, &path, &query, None, held + PATIENCE).await?;
        let standing: Standing = self.read(reply)?;
        standing.decided().map_err(|why| self.unreadable(why))
    }

    async fn send(
        &self,
        method: Method,
        path: &[&str],
        query: &[(&str, String)],
        body: Option<&Value>,
        timeout: Duration,
    ) -> Result<Value, ClientError> {
        let url = self.url(path)?;
        let mut request = self.http.request(method, url).query(query).timeout(timeout);
        if let Some(token) = &self.token {
            request = request.bearer_auth(token.reveal());
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        let reply = request.send().await.map_err(|error| self.unreachable(&error))?;
        let status = reply.status();
        let text = reply.text().await.map_err(|error| self.unreachable(&error))?;
        if status.is_success() {
            return serde_json::from_str(&text).map_err(|error| self.unreadable(error));
        }
        let said = serde_json::from_str::<Value>(&text).ok();
        let said = said.as_ref().and_then(|said| said.get("error")?.as_str());
        let sentence = said.map_or_else(|| format!("the daemon answered {status}"), str::to_owned);
        Err(match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => ClientError::Refused(sentence),
            // A daemon that stops, or a proxy before one that starts.
            StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT => {
                ClientError::Lost { server: self.server.to_string(), why: sentence }
            }
            _ => ClientError::Rejected(sentence),
        })
    }

    /// Ids come from people and agents: each is one segment of the path, whatever it holds.
    fn url(&self, path: &[&str]) -> Result<reqwest::Url, ClientError> {
        let mut url = reqwest::Url::parse(&self.base)
            .map_err(|error| ClientError::SetUp(format!("{}: {error}", self.base)))?;
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        Ok(url)
    }

    fn read<T: serde::de::DeserializeOwned>(&self, reply: Value) -> Result<T, ClientError> {
        // serde would read a list as an object whose keys it may choose.
        if !reply.is_object() {
            return Err(self.unreadable("it is no object"));
        }
        serde_json::from_value(reply).map_err(|error| self.unreadable(error))
    }

    fn list(&self, mut reply: Value, key: &str) -> Result<Vec<Value>, ClientError> {
        match reply.get_mut(key).map(Value::take) {
            Some(Value::Array(list)) => Ok(list),
            _ => Err(self.unreadable(format!("there is no list `{key}`"))),
        }
    }

    fn unreadable(&self, why: impl std::fmt::Display) -> ClientError {
        ClientError::Unreadable { server: self.server.to_string(), why: why.to_string() }
    }

    fn unreachable(&self, error: &reqwest::Error) -> ClientError {
        let mut cause: &dyn std::error::Error = error;
        while let Some(deeper) = cause.source() {
            cause = deeper;
        }
        let (server, why) = (self.server.to_string(), cause.to_string());
        match error.is_connect() {
            true => ClientError::Unreachable { server, why },
            false => ClientError::Lost { server, why },
        }
    }
}

fn wait_query(held: Duration) -> Vec<(&'static str, String)> {
    if held.is_zero() { Vec::new() } else { vec![("wait", held.as_secs().to_string())] }
}
