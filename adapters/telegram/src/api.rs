//! One call to the Bot API.
//!
//! The call itself is ours (see `lib.rs`) also because teloxide's does not tell apart some refusals
//! that matter here (see `errors.rs`).

use crate::errors::pause;
use crate::platform::TelegramConfig;
use countersign_port::SendGuard;
use reqwest::multipart::Form;
use reqwest::{Client, RequestBuilder, Url, redirect};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};
use teloxide::requests::Payload;

/// Enough for a call that only moves a little text.
pub(crate) const PATIENCE: Duration = Duration::from_secs(15);

/// Enough for a file on a slow line.
pub(crate) const UPLOAD_PATIENCE: Duration = Duration::from_secs(60);

/// The Bot API of one bot.
#[derive(Clone)]
pub(crate) struct BotApi {
    client: Client,
    /// SECURITY: holds the token; never shown.
    base: String,
    pub(crate) guard: SendGuard,
}

/// A method with its parameters.
pub(crate) trait Method {
    const NAME: &'static str;
}

impl<P: Payload> Method for P {
    const NAME: &'static str = P::NAME;
}

/// Why a call brought no result. Its words never hold the token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The Bot API's own refusal.
    Refused(BotApiError),
    /// Something else answered, or the answer cannot be read. What was asked for may have been
    /// done.
    Garbled(String),
    /// No answer. What was asked for may have been done.
    Network(String),
    /// No request can be made at all.
    Unusable(String),
    /// This daemon does not lead, so nothing was sent.
    Deposed,
}

/// What the Bot API says when it refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BotApiError {
    pub(crate) code: u16,
    pub(crate) description: String,
    pub(crate) parameters: Parameters,
}

/// What the Bot API adds to some refusals.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct Parameters {
    /// Seconds.
    pub(crate) retry_after: Option<u64>,
    pub(crate) migrate_to_chat_id: Option<i64>,
}

/// A message as an answer to sending it: no more is read than is needed, so that a newer Bot API
/// cannot make a posted card look like a failed one.
#[derive(Debug, Deserialize)]
pub(crate) struct Sent {
    pub(crate) message_id: i32,
}

#[derive(Deserialize)]
#[serde(bound = "T: Deserialize<'de>")]
struct BotApiResponse<T> {
    ok: bool,
    result: Option<T>,
    error_code: Option<u16>,
    #[serde(default)]
    description: String,
    #[serde(default)]
    parameters: Parameters,
}

impl BotApi {
    pub(crate) fn new(config: &TelegramConfig) -> Self {
        let mut client = Client::builder()
            .connect_timeout(Duration::from_secs(5))
            .redirect(redirect::Policy::none())
            .tcp_keepalive(Duration::from_secs(30));
        if is_loopback(&config.api_url) {
            client = client.no_proxy();
        }
        let base = format!("{}/bot{}", config.api_url.trim_end_matches('/'), config.token);
        Self { client: client.build().unwrap_or_default(), base, guard: SendGuard::default() }
    }

    /// Calls a method and reads its answer as `T`.
    pub(crate) async fn call<P, T>(&self, payload: &P, patience: Duration) -> Result<T, Failure>
    where
        P: Method + Serialize + Sync,
        T: DeserializeOwned,
    {
        self.run(self.client.post(self.url(P::NAME)).json(payload).timeout(patience)).await
    }

    /// Calls a method that carries a file.
    pub(crate) async fn upload<T: DeserializeOwned>(
        &self,
        method: &str,
        form: Form,
    ) -> Result<T, Failure> {
        self.run(self.client.post(self.url(method)).multipart(form).timeout(UPLOAD_PATIENCE)).await
    }

    /// INVARIANT: every call goes through here, and none goes out without leading.
    async fn run<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, Failure> {
        if !self.guard.is_open() {
            return Err(Failure::Deposed);
        }
        run(request).await
    }

    fn url(&self, method: &str) -> String {
        format!("{}/{method}", self.base)
    }
}

async fn run<T: DeserializeOwned>(request: RequestBuilder) -> Result<T, Failure> {
    let response = request.send().await.map_err(failure)?;
    let status = response.status();
    let body = response.bytes().await.map_err(failure)?;
    match serde_json::from_slice(&body) {
        Ok(BotApiResponse { ok: true, result: Some(result), .. }) => Ok(result),
        Ok(BotApiResponse { ok: false, error_code, description, parameters, .. }) => {
            let code = error_code.unwrap_or(status.as_u16());
            Err(Failure::Refused(BotApiError { code, description, parameters }))
        }
        _ if status.is_success() => {
            Err(Failure::Garbled("Telegram's answer cannot be read".to_owned()))
        }
        _ => Err(Failure::Garbled(format!("Telegram's server answers {status}"))),
    }
}

/// SECURITY: reqwest's words hold the URL, and the URL holds the token.
fn failure(error: reqwest::Error) -> Failure {
    if error.is_builder() {
        return Failure::Unusable(
            "`[telegram] api_url` is not a URL, or `[telegram] token` cannot be part of one"
                .to_owned(),
        );
    }
    let error = error.without_url();
    let mut words = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(inner) = cause {
        words = format!("{words}: {inner}");
        cause = inner.source();
    }
    Failure::Network(format!("Telegram cannot be reached: {words}"))
}

fn is_loopback(api_url: &str) -> bool {
    Url::parse(api_url).is_ok_and(|url| match url.host_str() {
        Some("localhost" | "[::1]") => true,
        Some(host) => host.parse().is_ok_and(|ip: std::net::Ipv4Addr| ip.is_loopback()),
        None => false,
    })
}

/// Repeats a call while that makes sense, for half a minute at most: a person waits for it.
pub(crate) async fn patiently<T, F, R>(call: F) -> Result<T, Failure>
where
    F: Fn() -> R,
    R: Future<Output = Result<T, Failure>>,
{
    let give_up = Instant::now() + Duration::from_secs(30);
    let mut backoff = Duration::from_millis(250);
    loop {
        let failure = match call().await {
            Ok(done) => return Ok(done),
            Err(failure) => failure,
        };
        match pause(&failure, backoff) {
            Some(pause) if Instant::now() + pause < give_up => tokio::time::sleep(pause).await,
            _ => return Err(failure),
        }
        backoff = (backoff * 2).min(Duration::from_secs(5));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use teloxide::payloads::GetMe;

    #[tokio::test]
    async fn no_failure_shows_the_token() {
        for api_url in ["http://127.0.0.1:1", "not a url", "http://[", ""] {
            let api =
                BotApi::new(&TelegramConfig { token: "7:SECRET".into(), api_url: api_url.into() });
            let failed = api.call::<_, Sent>(&GetMe::new(), PATIENCE).await.unwrap_err();
            assert!(!format!("{failed:?}").contains("SECRET"), "{failed:?}");
        }
    }

    #[test]
    fn only_this_machine_goes_round_the_proxy() {
        let near =
            ["http://127.0.0.1:80", "http://localhost", "http://[::1]:8081", "http://127.9.9.9"];
        assert!(near.iter().all(|url| is_loopback(url)));
        let far = ["https://api.telegram.org", "http://localhost.example.org", "127.0.0.1", ""];
        assert!(!far.iter().any(|url| is_loopback(url)));
    }
}
