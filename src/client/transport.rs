//! Sends one request to a daemon, and returns its reply or an error.

mod connection;
use crate::settings::{ClientSettings, Server};
use connection::{ApiRequest, DaemonConnection};
use countersign_tokens::secret::Secret;
use reqwest::{Method, Response, StatusCode};
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

/// The credentials of a request.
#[derive(Clone, Copy)]
enum Shows {
    Token,
    Nothing,
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

    pub(super) async fn send(
        &self,
        method: Method,
        path: &[&str],
        query: &[(&str, String)],
        body: Option<&Value>,
        timeout: Duration,
    ) -> Result<Value, ClientError> {
        let request = ApiRequest { method, path, query, body, timeout };
        let (turn, status, text) = self.exchange(&request, Shows::Token).await?;
        if status.is_success() {
            return serde_json::from_str(&text).map_err(|error| self.unreadable(error));
        }
        Err(self.refusal(turn, status, &text))
    }

    /// Opens a stream of events, after the one with this id.
    pub(super) async fn stream(
        &self,
        path: &[&str],
        query: &[(&str, String)],
        after: Option<i64>,
    ) -> Result<Response, ClientError> {
        let (method, timeout) = (Method::GET, Duration::MAX);
        let request = ApiRequest { method, path, query, body: None, timeout };
        let mut away = None;
        for (turn, connection) in self.in_turn() {
            let reply = connection.stream(&request, self.token.as_ref(), after).await;
            let Some(reply) = self.reached(turn, reply, &mut away)? else { continue };
            let status = reply.status();
            if status.is_success() {
                return Ok(reply);
            }
            return Err(self.refusal(turn, status, &reply.text().await.unwrap_or_default()));
        }
        Err(away.unwrap_or_else(no_daemon))
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
    pub(super) async fn look(&self, path: &str, timeout: Duration) -> Result<Value, ClientError> {
        let path = &[path];
        let request = ApiRequest { method: Method::GET, path, query: &[], body: None, timeout };
        let (_, _, text) = self.exchange(&request, Shows::Nothing).await?;
        serde_json::from_str(&text).map_err(|error| self.unreadable(error))
    }

    async fn exchange(
        &self,
        request: &ApiRequest<'_>,
        shows: Shows,
    ) -> Result<(usize, StatusCode, String), ClientError> {
        let mut away = None;
        for (turn, connection) in self.in_turn() {
            let reply = match shows {
                Shows::Token => connection.authorized(request, self.token.as_ref()).await,
                Shows::Nothing => connection.plain(request).await,
            };
            if let Some((status, text)) = self.reached(turn, reply, &mut away)? {
                return Ok((turn, status, text));
            }
        }
        Err(away.unwrap_or_else(no_daemon))
    }

    /// The daemon that answered last, then the others.
    fn in_turn(&self) -> impl Iterator<Item = (usize, &DaemonConnection)> {
        let (first, count) = (self.current.load(Ordering::Relaxed), self.connections.len());
        let of = move |turn: usize| Some((turn, self.connections.get(turn % count)?));
        (first..first + count).filter_map(of)
    }

    /// The reply of a daemon, which is the current one then; `None` if no connection to it could be
    /// made, and only then another one is tried: a daemon that received the request may have acted
    /// on it.
    fn reached<T>(
        &self,
        turn: usize,
        reply: Result<T, ClientError>,
        away: &mut Option<ClientError>,
    ) -> Result<Option<T>, ClientError> {
        match reply {
            Err(error @ ClientError::Unreachable { .. }) => {
                *away = Some(error);
                Ok(None)
            }
            // Only its caller can decide to repeat the request.
            Err(lost) => {
                self.turn_from(turn);
                Err(lost)
            }
            Ok(reply) => {
                self.current.store(turn % self.connections.len(), Ordering::Relaxed);
                Ok(Some(reply))
            }
        }
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

    pub(super) fn read<T: serde::de::DeserializeOwned>(
        &self,
        reply: Value,
    ) -> Result<T, ClientError> {
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
fn no_daemon() -> ClientError {
    ClientError::SetUp("[client] url names no daemon".into())
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
