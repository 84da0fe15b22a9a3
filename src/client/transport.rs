//! One request to the daemon and its reply, or what became of it instead.

use crate::{
    config::{Client as Settings, Server},
    secret::Secret,
};
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

/// One daemon.
#[derive(Debug)]
struct Line {
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
        let (line, status, text) = self.exchange(method, path, query, body, timeout).await?;
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
        let (_, _, text) = self.exchange(Method::GET, &[path], &[], None, timeout).await?;
        serde_json::from_str(&text).map_err(|error| self.unreadable(error))
    }

    /// One request to whichever daemon is there, beginning with the one that was there last. Another one
    /// is tried only while none has heard of it.
    async fn exchange(
        &self,
        method: Method,
        path: &[&str],
        query: &[(&str, String)],
        body: Option<&Value>,
        timeout: Duration,
    ) -> Result<(usize, StatusCode, String), ClientError> {
        let first = self.current.load(Ordering::Relaxed);
        let mut failed = None;
        for turn in first..first + self.lines.len() {
            let Some(line) = self.lines.get(turn % self.lines.len()) else { break };
            let mut request = line.http.request(method.clone(), line.url(path)?).query(query);
            if let Some(token) = self.token.as_ref().or(line.token.as_ref()) {
                request = request.bearer_auth(token.reveal());
            }
            if let Some(body) = body {
                request = request.json(body);
            }
            match line.exchange(request.timeout(timeout)).await {
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

impl Line {
    fn new(server: &Server, settings: &Settings, connect: Duration) -> Result<Self, ClientError> {
        let set_up = |why: String| ClientError::SetUp(why);
        let mut http = reqwest::Client::builder().connect_timeout(connect).no_proxy();
        let base = match server {
            Server::Unix(path) => {
                http = http.unix_socket(path.as_path());
                "http://localhost".to_owned()
            }
            Server::Http(_) => server.to_string(),
        };
        if let Some(file) = &settings.ca_file {
            let named = |why: String| format!("[client] ca_file {}: {why}", file.display());
            let pem = std::fs::read(file).map_err(|error| set_up(named(error.to_string())))?;
            let authority = reqwest::Certificate::from_pem(&pem)
                .map_err(|_| set_up(named("this is no certificate in PEM form".into())))?;
            http = http.add_root_certificate(authority);
        }
        // The socket knows its user; a token would only be one more thing to be wrong.
        let token = match server {
            Server::Unix(_) => None,
            Server::Http(_) => settings.token.clone(),
        };
        let http = http.build().map_err(|error| set_up(error.to_string()))?;
        Ok(Self { http, base, server: server.clone(), token })
    }

    async fn exchange(
        &self,
        request: reqwest::RequestBuilder,
    ) -> Result<(StatusCode, String), ClientError> {
        let reply = request.send().await.map_err(|error| self.unreachable(&error))?;
        let status = reply.status();
        let text = reply.text().await.map_err(|error| self.unreachable(&error))?;
        Ok((status, text))
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
