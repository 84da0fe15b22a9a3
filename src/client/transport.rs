//! One request to the daemon and its reply, or what became of it instead.

mod line;

use crate::{
    config::{Client as Settings, Server},
    secret::Secret,
};
use line::Line;
use reqwest::{Method, StatusCode};
use serde_json::Value;
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

/// Where the daemons are and how they are spoken to. Clones share which one they speak to.
#[derive(Debug, Clone)]
pub(super) struct Transport {
    lines: Arc<[Line]>,
    /// The line that worked last, counted on over all of them.
    current: Arc<AtomicUsize>,
    /// Said instead of the agents' token.
    token: Option<Secret>,
}

/// One request.
struct Ask<'a> {
    method: Method,
    path: &'a [&'a str],
    query: &'a [(&'a str, String)],
    body: Option<&'a Value>,
    timeout: Duration,
}

/// What a request shows of us.
#[derive(Clone, Copy)]
enum Shows {
    Token,
    Nothing,
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

impl Transport {
    /// Sets up a client; nothing is sent yet. `connect` is how long a connection may take to stand.
    ///
    /// # Errors
    /// When the certificate authority cannot be read.
    pub(super) fn new(settings: &Settings, connect: Duration) -> Result<Self, ClientError> {
        let line = |server: &Server| Line::new(server, settings, connect);
        let lines = settings.url.iter().map(line).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { lines: lines.into(), current: Arc::default(), token: None })
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
        let ask = Ask { method, path, query, body, timeout };
        let (line, status, text) = self.exchange(&ask, Shows::Token).await?;
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
                self.turn_from(line);
                ClientError::Lost { server: self.server(), why: sentence }
            }
            _ => ClientError::Rejected(sentence),
        })
    }

    /// What a route says of the daemon, whether it is well or not.
    pub(super) async fn look(&self, path: &str, timeout: Duration) -> Result<Value, ClientError> {
        let path = &[path];
        let ask = Ask { method: Method::GET, path, query: &[], body: None, timeout };
        let (_, _, text) = self.exchange(&ask, Shows::Nothing).await?;
        serde_json::from_str(&text).map_err(|error| self.unreadable(error))
    }

    /// One request to whichever daemon is there, beginning with the one that was there last.
    /// Another one is tried only while none has heard of it.
    async fn exchange(
        &self,
        ask: &Ask<'_>,
        shows: Shows,
    ) -> Result<(usize, StatusCode, String), ClientError> {
        let first = self.current.load(Ordering::Relaxed);
        let mut failed = None;
        for turn in first..first + self.lines.len() {
            let Some(line) = self.lines.get(turn % self.lines.len()) else { break };
            let reply = match shows {
                Shows::Token => line.authorized(ask, self.token.as_ref()).await,
                Shows::Nothing => line.plain(ask).await,
            };
            match reply {
                Err(away @ ClientError::Unreachable { .. }) => failed = Some(away),
                Err(lost) => {
                    self.turn_from(turn);
                    return Err(lost);
                }
                Ok((status, text)) => {
                    self.current.store(turn % self.lines.len(), Ordering::Relaxed);
                    return Ok((turn, status, text));
                }
            }
        }
        Err(failed.unwrap_or_else(|| ClientError::SetUp("[client] url names no daemon".into())))
    }

    /// The next request goes to the next daemon.
    fn turn_from(&self, line: usize) {
        self.current.store((line + 1) % self.lines.len().max(1), Ordering::Relaxed);
    }

    fn server(&self) -> String {
        let line = self.current.load(Ordering::Relaxed) % self.lines.len().max(1);
        self.lines.get(line).map(|line| line.server.to_string()).unwrap_or_default()
    }

    pub(super) fn read<T: serde::de::DeserializeOwned>(
        &self,
        reply: Value,
    ) -> Result<T, ClientError> {
        // serde would read a list as an object whose keys it may choose.
        if !reply.is_object() {
            return Err(self.unreadable("it is no object"));
        }
        serde_json::from_value(reply).map_err(|error| self.unreadable(error))
    }

    pub(super) fn unreadable(&self, why: impl std::fmt::Display) -> ClientError {
        ClientError::Unreadable { server: self.server(), why: why.to_string() }
    }
}
