//! The connection to one daemon, and how it authenticates.

use crate::{
    settings::{ClientSettings, Server},
    transport::ClientError,
};
use countersign_domain::wire::NonceReply;
use countersign_tokens::{
    proof::{self, SCHEME},
    secret::{Secret, TokenHash},
};
use reqwest::{Method, Request, Response, StatusCode, header::AUTHORIZATION, redirect::Policy};
use serde_json::Value;
use std::time::Duration;

/// The timeout for a nonce.
const NONCE: Duration = Duration::from_secs(10);

/// One request.
pub(super) struct ApiRequest<'a> {
    pub(super) method: Method,
    pub(super) path: &'a [&'a str],
    pub(super) query: &'a [(&'a str, String)],
    pub(super) body: Option<&'a Value>,
    pub(super) timeout: Duration,
}

/// The connection to one daemon.
#[derive(Debug)]
pub(super) struct DaemonConnection {
    http: reqwest::Client,
    base: String,
    pub(super) server: Server,
    token: Option<Secret>,
}

type RawReply = (StatusCode, String);

impl DaemonConnection {
    pub(super) fn new(
        server: &Server,
        settings: &ClientSettings,
        connect: Duration,
    ) -> Result<Self, ClientError> {
        let set_up = |why: String| ClientError::SetUp(why);
        // SECURITY: redirects are not followed, so that a server cannot send our request to another
        // one.
        let http = reqwest::Client::builder().connect_timeout(connect).no_proxy();
        let mut http = http.redirect(Policy::none());
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
                .map_err(|_| set_up(named("this is not a PEM certificate".into())))?;
            http = http.add_root_certificate(authority);
        }
        // The socket's peer is this user, so a token adds nothing, and a wrong one would be
        // refused.
        let token = match server {
            Server::Unix(_) => None,
            Server::Http(_) => settings.token.clone(),
        };
        let http = http.build().map_err(|error| set_up(error.to_string()))?;
        Ok(Self { http, base, server: server.clone(), token })
    }

    /// Sends a request with a token: `special`, or else the agents' token.
    // SECURITY: only TLS authenticates the server. Elsewhere, also on the socket, the token is
    // proved without being sent, and the reply needs a proof too: a program that took the place of
    // a stopped daemon learns nothing and is not believed.
    pub(super) async fn authorized(
        &self,
        asked: &ApiRequest<'_>,
        special: Option<&Secret>,
    ) -> Result<RawReply, ClientError> {
        let mut request = self.request(asked)?;
        match (special.or(self.token.as_ref()), &self.server) {
            (None, Server::Http(url)) if url.scheme() != "https" => Err(ClientError::Refused(
                format!("{} needs a token; set [client] token", self.server),
            )),
            (None, _) => self.exchange(request).await.map(|(status, text, _)| (status, text)),
            (Some(token), Server::Http(url)) if url.scheme() == "https" => {
                self.set(&mut request, &format!("Bearer {}", token.reveal()))?;
                self.exchange(request).await.map(|(status, text, _)| (status, text))
            }
            (Some(token), _) => self.proven(request, token).await,
        }
    }

    /// Sends a request without credentials.
    pub(super) async fn plain(&self, asked: &ApiRequest<'_>) -> Result<RawReply, ClientError> {
        let request = self.request(asked)?;
        self.exchange(request).await.map(|(status, text, _)| (status, text))
    }

    async fn proven(&self, mut request: Request, token: &Secret) -> Result<RawReply, ClientError> {
        let nonce = match self.nonce().await? {
            Ok(nonce) => nonce,
            Err(refused) => return Ok(refused),
        };
        let parts = SignedParts::of(&request);
        let about = parts.under(&nonce);
        self.sign(&mut request, &about, token)?;
        let (status, text, proof) = self.exchange(request).await?;
        let right = about.reply(&TokenHash::of(token.reveal()), status.as_u16(), text.as_bytes());
        match right.is_some() && right == proof {
            true => Ok((status, text)),
            // A refusal has no proof if no known token fitted the request. It grants nothing, so it
            // is accepted.
            false if status == StatusCode::UNAUTHORIZED || status.is_server_error() => {
                Ok((status, text))
            }
            false => Err(self.stranger("its reply is not proved")),
        }
    }

    /// Opens a stream of events.
    // SECURITY: a stream has no end that could be proved, so it is read only where something else
    // proves the server: TLS, or the socket, which only the daemon's user can make. The socket
    // gives an agent's handle, which reads its own asks: a token that reads more is shown there.
    pub(super) async fn stream(
        &self,
        asked: &ApiRequest<'_>,
        special: Option<&Secret>,
        after: Option<i64>,
    ) -> Result<Response, ClientError> {
        let mut request = self.request(asked)?;
        *request.timeout_mut() = None;
        match (special.or(self.token.as_ref()), &self.server) {
            (None, Server::Unix(_)) => {}
            (Some(token), Server::Unix(_)) => {
                let nonce = self.nonce().await?.map_err(|(status, _)| ClientError::Lost {
                    server: self.server.to_string(),
                    why: format!("the daemon answered {status}"),
                })?;
                let parts = SignedParts::of(&request);
                self.sign(&mut request, &parts.under(&nonce), token)?;
            }
            (Some(token), Server::Http(url)) if url.scheme() == "https" => {
                self.set(&mut request, &format!("Bearer {}", token.reveal()))?;
            }
            (_, Server::Http(_)) => {
                return Err(ClientError::Refused(format!(
                    "{} proves no stream of events; read it over the daemon's socket or https",
                    self.server
                )));
            }
        }
        if let Some(after) = after {
            request.headers_mut().insert("last-event-id", after.into());
        }
        self.http.execute(request).await.map_err(|error| self.unreachable(&error))
    }

    /// A nonce; or the reply of a daemon that is stopping, or of a proxy in front of one that is
    /// starting.
    async fn nonce(&self) -> Result<Result<String, RawReply>, ClientError> {
        let ask = ApiRequest {
            method: Method::GET,
            path: &["v1", "nonce"],
            query: &[],
            body: None,
            timeout: NONCE,
        };
        let (status, text) = self.plain(&ask).await?;
        if status.is_server_error() {
            return Ok(Err((status, text)));
        }
        match serde_json::from_str::<NonceReply>(&text) {
            Ok(NonceReply { nonce }) if status.is_success() && is_plain(&nonce) => Ok(Ok(nonce)),
            _ => Err(self.stranger("it gives no nonce to show the token with")),
        }
    }

    fn request(&self, asked: &ApiRequest<'_>) -> Result<Request, ClientError> {
        let request =
            self.http.request(asked.method.clone(), self.url(asked.path)?).query(asked.query);
        let request = match asked.body {
            Some(body) => request.json(body),
            None => request,
        };
        let request = request.timeout(asked.timeout).build();
        request.map_err(|error| ClientError::SetUp(error.to_string()))
    }

    /// Shows a token without sending it.
    fn sign(
        &self,
        request: &mut Request,
        about: &proof::ProvenRequest<'_>,
        token: &Secret,
    ) -> Result<(), ClientError> {
        let masked = about.mask(token).ok_or_else(|| self.stranger("the token cannot be shown"))?;
        self.set(request, &format!("{SCHEME}{}:{masked}", about.nonce))
    }

    fn set(&self, request: &mut Request, value: &str) -> Result<(), ClientError> {
        let value = reqwest::header::HeaderValue::try_from(value);
        let mut value = value.map_err(|_| {
            ClientError::SetUp("the token holds characters that no header can carry".into())
        })?;
        // Keeps the token out of reqwest's debug output.
        value.set_sensitive(true);
        request.headers_mut().insert(AUTHORIZATION, value);
        Ok(())
    }

    async fn exchange(
        &self,
        request: Request,
    ) -> Result<(StatusCode, String, Option<String>), ClientError> {
        let reply = self.http.execute(request).await.map_err(|error| self.unreachable(&error))?;
        let status = reply.status();
        let proof = reply.headers().get(proof::REPLY).and_then(|proof| proof.to_str().ok());
        let proof = proof.map(str::to_owned);
        let text = reply.text().await.map_err(|error| self.unreachable(&error))?;
        Ok((status, text, proof))
    }

    /// Ids come from people and agents: each is one path segment, with any `/` escaped.
    fn url(&self, path: &[&str]) -> Result<reqwest::Url, ClientError> {
        let mut url = reqwest::Url::parse(&self.base)
            .map_err(|error| ClientError::SetUp(format!("{}: {error}", self.base)))?;
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        Ok(url)
    }

    /// The error for a server that is not our daemon.
    fn stranger(&self, why: &str) -> ClientError {
        let why = format!("{why}; it may be another program in the daemon's place");
        ClientError::Unreadable { server: self.server.to_string(), why }
    }

    fn unreachable(&self, error: &reqwest::Error) -> ClientError {
        let mut cause: &dyn std::error::Error = error;
        while let Some(deeper) = cause.source() {
            cause = deeper;
        }
        let server = self.server.to_string();
        let why = cause.to_string();
        // Only a failed connect proves that the daemon did not receive the request.
        if error.is_connect() {
            ClientError::Unreachable { server, why }
        } else {
            ClientError::Lost { server, why }
        }
    }
}

/// What a token proof covers of a request.
struct SignedParts {
    method: Method,
    target: String,
    body: Vec<u8>,
}

impl SignedParts {
    fn of(request: &Request) -> Self {
        let target = match (request.url().path(), request.url().query()) {
            (path, Some(query)) => format!("{path}?{query}"),
            (path, None) => path.to_owned(),
        };
        let body = request.body().and_then(reqwest::Body::as_bytes).unwrap_or_default().to_vec();
        Self { method: request.method().clone(), target, body }
    }

    fn under<'a>(&'a self, nonce: &'a str) -> proof::ProvenRequest<'a> {
        let Self { method, target, body } = self;
        proof::ProvenRequest { nonce, method: method.as_str(), target, body }
    }
}

fn is_plain(nonce: &str) -> bool {
    // The nonce becomes part of a header and of the lines under the MAC, so it must not contain a
    // line break.
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
    (16..=200).contains(&nonce.len()) && nonce.bytes().all(plain)
}
