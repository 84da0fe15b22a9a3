//! Sends one request to a daemon, and returns its reply or an error.

mod connection;
use crate::settings::{ClientSettings, Server};
use connection::{ApiRequest, DaemonConnection};
use countersign_tokens::secret::Secret;
use reqwest::{Method, Response, StatusCode};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

/// The connections to the daemons. Clones share which one is current.
#[derive(Debug, Clone)]
pub(super) struct Transport {
    connections: Arc<[DaemonConnection]>,
    /// The index of the connection that worked last. It counts on, and is taken modulo their
    /// number.
    current: Arc<AtomicUsize>,
    /// Used instead of the agents' token.
    token: Option<Secret>,
}

impl Transport {
    /// Sets up a client without sending anything. `connect` is the connection timeout.
    ///
    /// # Errors
    /// When the certificate authority cannot be read.
    pub(super) fn new(settings: &ClientSettings, connect: Duration) -> Result<Self, ClientError> {
        let one = |server: &Server| DaemonConnection::new(server, settings, connect);
        let connections = settings.url.iter().map(one).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { connections: connections.into(), current: Arc::default(), token: None })
    }

    pub(super) fn with_token(self, token: Secret) -> Self {
        Self { token: Some(token), ..self }
    }

    /// Sends a request; returns its reply.
    pub(super) async fn send<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &[&str],
        query: &[(&str, String)],
        body: Option<&Value>,
        timeout: Duration,
    ) -> Result<T, ClientError> {
        let request = &ApiRequest { method, path, query, body, timeout };
        let ask = |daemon| DaemonConnection::authorized(daemon, request, self.token.as_ref());
        let (turn, (status, text)) = self.first(ask).await?;
        if status.is_success() { self.read(&text) } else { Err(self.refusal(turn, status, &text)) }
    }

    /// Opens a stream of events, after the one with this id.
    pub(super) async fn stream(
        &self,
        path: &[&str],
        query: &[(&str, String)],
        after: Option<i64>,
    ) -> Result<Response, ClientError> {
        let request =
            &ApiRequest { method: Method::GET, path, query, body: None, timeout: Duration::MAX };
        let ask = |daemon| DaemonConnection::stream(daemon, request, self.token.as_ref(), after);
        let (turn, reply) = self.first(ask).await?;
        let status = reply.status();
        if status.is_success() {
            return Ok(reply);
        }
        Err(self.refusal(turn, status, &reply.text().await.unwrap_or_default()))
    }

    /// The error of a stream that broke.
    pub(super) fn lost(&self, error: &reqwest::Error) -> ClientError {
        ClientError::Lost { server: self.server(), why: error.to_string() }
    }

    /// The error of a reply that is no success.
    fn refusal(&self, turn: usize, status: StatusCode, text: &str) -> ClientError {
        let body = serde_json::from_str::<Value>(text).ok();
        let error = body.as_ref().and_then(|body| body.get("error")?.as_str());
        let sentence = error.map_or_else(|| format!("the daemon answered {status}"), str::to_owned);
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => ClientError::Refused(sentence),
            // A daemon that is stopping, or a proxy in front of one that is starting.
            StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT => {
                self.turn_from(turn);
                ClientError::Lost { server: self.server(), why: sentence }
            }
            StatusCode::TOO_MANY_REQUESTS => ClientError::TooMuch(sentence),
            _ => ClientError::Rejected(sentence),
        }
    }

    /// Reads a status route, whether its status code is good or not.
    pub(super) async fn look<T: DeserializeOwned>(
        &self,
        path: &str,
        timeout: Duration,
    ) -> Result<T, ClientError> {
        let path = &[path];
        let request = &ApiRequest { method: Method::GET, path, query: &[], body: None, timeout };
        let (_, (_, text)) = self.first(|daemon| DaemonConnection::plain(daemon, request)).await?;
        self.read(&text)
    }

    /// The reply of the daemon that answered last, which is the current one then, with its turn.
    /// Only where no connection to it can be made, another one is tried: a daemon that received the
    /// request may have acted on it.
    async fn first<'c, T, F: Future<Output = Result<T, ClientError>>>(
        &'c self,
        ask: impl Fn(&'c DaemonConnection) -> F,
    ) -> Result<(usize, T), ClientError> {
        let mut away = None;
        for (turn, connection) in self.in_turn() {
            match ask(connection).await {
                Err(error @ ClientError::Unreachable { .. }) => away = Some(error),
                // Only its caller can decide to repeat the request.
                Err(lost) => {
                    self.turn_from(turn);
                    return Err(lost);
                }
                Ok(reply) => {
                    self.current.store(turn % self.connections.len(), Ordering::Relaxed);
                    return Ok((turn, reply));
                }
            }
        }
        Err(away.unwrap_or_else(|| ClientError::SetUp("[client] url names no daemon".into())))
    }

    /// The daemon that answered last, then the others.
    fn in_turn(&self) -> impl Iterator<Item = (usize, &DaemonConnection)> {
        let first = self.current.load(Ordering::Relaxed);
        let count = self.connections.len();
        let of = move |turn: usize| Some((turn, self.connections.get(turn % count)?));
        (first..first + count).filter_map(of)
    }

    /// Makes the next daemon the current one.
    fn turn_from(&self, turn: usize) {
        self.current.store((turn + 1) % self.connections.len().max(1), Ordering::Relaxed);
    }

    fn server(&self) -> String {
        let turn = self.current.load(Ordering::Relaxed) % self.connections.len().max(1);
        let connection = self.connections.get(turn);
        connection.map(|connection| connection.server.to_string()).unwrap_or_default()
    }

    fn read<T: DeserializeOwned>(&self, text: &str) -> Result<T, ClientError> {
        let reply: Value = serde_json::from_str(text).map_err(|error| self.unreadable(error))?;
        // serde would read a JSON array as a struct by position, so an array could supply any
        // field.
        if !reply.is_object() {
            return Err(self.unreadable("it is no object"));
        }
        serde_json::from_value(reply).map_err(|error| self.unreadable(error))
    }

    pub(super) fn unreadable(&self, why: impl std::fmt::Display) -> ClientError {
        ClientError::Unreadable { server: self.server(), why: why.to_string() }
    }
}
/// The daemon gave no answer. None of these errors ever permits a call.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No connection could be made.
    #[error("no countersign daemon at {server}: {why}; start one with `countersign serve`")]
    Unreachable {
        /// The daemon's address.
        server: String,
        /// The system's error.
        why: String,
    },
    /// The connection was lost after the request was sent.
    #[error("no answer from the daemon at {server}: {why}")]
    Lost {
        /// The daemon's address.
        server: String,
        /// The system's error.
        why: String,
    },
    /// The token is missing, wrong, or insufficient.
    #[error("{0}")]
    Refused(String),
    /// The daemon refused the request.
    #[error("{0}")]
    Rejected(String),
    /// The agent or session is over a limit of the daemon, so nobody was asked.
    #[error("{0}")]
    TooMuch(String),
    /// The reply cannot be understood; it never counts as an approval.
    #[error("the daemon at {server} gave an answer that this version cannot read: {why}")]
    Unreadable {
        /// The daemon's address.
        server: String,
        /// What is wrong with the reply.
        why: String,
    },
    /// The client could not be set up.
    #[error("{0}")]
    SetUp(String),
}
