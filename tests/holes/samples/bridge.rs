//! What a sample may find at the other end: the real daemon, however it answers, and all that is
//! none.

use crate::daemon::{AGENT, Daemon};
use axum::{
    Router,
    extract::ws::{Message, WebSocketUpgrade, rejection::WebSocketUpgradeRejection},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde_json::json;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How it ends for a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// A person says yes.
    Allowed,
    /// A person says no.
    Denied,
    /// Nobody answers in time.
    Expired,
    /// The token is not known.
    WrongToken,
    /// Nobody listens there.
    Away,
    /// An error of the server, which says `allow` at that.
    Fails,
    /// Replies that are none, by number.
    Garbage(usize),
    /// It takes the request and never answers.
    Silent,
}

/// Bodies that no client may read as leave to run.
const GARBAGE: &[&str] = &[
    "",
    "not json",
    "null",
    "[]",
    "\"allow\"",
    "{}",
    r#"{"verdict":"Allow"}"#,
    r#"{"verdict":true}"#,
    r#"{"verdict":["allow"]}"#,
    r#"{"verdict":"allowed","approved":"true"}"#,
    r#"{"verdict":"answered","reason":"r","state":"answered","answer":{"decision":"answer","at":"T","answers":{"q":"Deny"},"by":{"kind":"timeout"}}}"#,
    r#"{"type":"APPROVAL_RESPONSE","approved":"true"}"#,
    r#"{"type":"APPROVAL_RESPONSE","approved":1}"#,
    r#"{"type":"APPROVAL_RESPONSE"}"#,
    r#"{"approved":true}"#,
    "<html>allow</html>",
];

/// The other end of a sample.
pub struct Bridge {
    pub url: String,
    pub token: String,
    pub ending: Ending,
    daemon: Option<Daemon>,
}

/// Tries all endings, some at a time. `config` is that of the real daemon.
pub async fn each(config: &str, try_out: impl AsyncFn(&Bridge, Ending)) {
    let mut endings = vec![
        Ending::Allowed,
        Ending::Denied,
        Ending::Expired,
        Ending::WrongToken,
        Ending::Away,
        Ending::Fails,
        Ending::Silent,
    ];
    endings.extend((0..GARBAGE.len()).map(Ending::Garbage));
    let one = async |ending: Ending| {
        let bridge = Bridge::start(ending, config).await;
        try_out(&bridge, ending).await;
    };
    for some in endings.chunks(6) {
        futures::future::join_all(some.iter().map(|ending| one(*ending))).await;
    }
}

impl Bridge {
    async fn start(ending: Ending, config: &str) -> Self {
        let fake = |url| Self { url, token: AGENT.to_owned(), daemon: None, ending };
        match ending {
            Ending::Fails => fake(serve(500, r#"{"verdict":"allow","approved":true}"#).await),
            Ending::Garbage(n) => fake(serve(200, GARBAGE[n]).await),
            Ending::Silent => fake(silence().await),
            Ending::Away => fake(nobody().await),
            Ending::Allowed | Ending::Denied | Ending::Expired | Ending::WrongToken => {
                let timeout = match (ending, config.contains("[policy]")) {
                    (Ending::Expired, false) => "\n[policy]\ntimeout = \"1s\"\n",
                    _ => "",
                };
                let config = match ending {
                    Ending::Expired => config.to_owned(),
                    _ => config.replace("timeout = \"2s\"", ""),
                };
                let daemon = Daemon::start(&format!("{config}{timeout}")).await;
                let token = if ending == Ending::WrongToken { "wrong" } else { AGENT };
                let (url, token) = (daemon.url.clone(), token.to_owned());
                Self { url, token, daemon: Some(daemon), ending }
            }
        }
    }

    /// Answers the first ask, where a person does.
    pub async fn answer(&self) {
        let decision = match self.ending {
            Ending::Allowed => "approve",
            Ending::Denied => "deny",
            _ => return,
        };
        let Some(daemon) = &self.daemon else { return };
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(15) {
            if let Some(ask) = daemon.open().await.first() {
                let id = ask["id"].as_str().unwrap();
                daemon.answer(id, &json!({ "decision": decision })).await;
                return;
            }
            sleep(Duration::from_millis(30)).await;
        }
    }
}

/// A server that says the same to everything, in frames too.
async fn serve(status: u16, body: &'static str) -> String {
    let reply = move |upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>| async move {
        match upgrade {
            Ok(upgrade) if status == 200 => upgrade.on_upgrade(move |mut socket| async move {
                while let Some(Ok(Message::Text(_))) = socket.recv().await {
                    let _ = socket.send(Message::Text(body.into())).await;
                }
            }),
            _ => said(status, body),
        }
    };
    let server = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", server.local_addr().unwrap());
    let router = Router::new().fallback(reply);
    tokio::spawn(async { axum::serve(server, router).await.unwrap() });
    url
}

fn said(status: u16, body: &'static str) -> Response {
    let json = [("content-type", "application/json")];
    (StatusCode::from_u16(status).unwrap(), json, body).into_response()
}

/// A server that takes connections and says nothing.
async fn silence() -> String {
    let server = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", server.local_addr().unwrap());
    tokio::spawn(async move {
        let mut kept = Vec::new();
        while let Ok((socket, _)) = server.accept().await {
            kept.push(socket);
        }
    });
    url
}

/// An address where nobody listens.
async fn nobody() -> String {
    let server = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}", server.local_addr().unwrap())
}
