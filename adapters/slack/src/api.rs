//! Calls of Slack's Web API.
//!
//! Ten methods, so a client of our own: slack-morphism acknowledges a press only once its handler
//! has returned, closes a connection before it opens the next one, and retries a dead token without
//! a word.

use crate::config::SlackConfig;
use crate::limits::MethodLimits;
use crate::problem::{ApiProblem, TokenKind};
use countersign_port::SendGuard;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Client, RequestBuilder};
use serde_json::Value;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// The longest that a call may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// With a charset, because Slack warns where it is missing.
const JSON: &str = "application/json; charset=utf-8";

/// Slack's API for one app.
pub(crate) struct WebApi {
    client: Result<Client, String>,
    base: String,
    config: SlackConfig,
    limits: Mutex<MethodLimits>,
    /// Why Slack does not accept the bot's token, since the last call.
    dead: Mutex<Option<ApiProblem>>,
    pub(crate) guard: SendGuard,
}

impl WebApi {
    pub(crate) fn new(config: &SlackConfig) -> Self {
        let client = Client::builder().timeout(PATIENCE).build();
        Self {
            client: client.map_err(|error| error.to_string()),
            base: format!("{}/api", config.api_url.trim_end_matches('/')),
            config: config.clone(),
            limits: Mutex::default(),
            dead: Mutex::default(),
            guard: SendGuard::default(),
        }
    }

    /// Why Slack does not accept the bot's token now; `None` where it did at the last call.
    pub(crate) fn dead_token(&self) -> Option<ApiProblem> {
        self.dead.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Calls a method that reads. Those take no JSON.
    pub(crate) async fn read(
        &self,
        method: &str,
        arguments: &[(&str, &str)],
    ) -> Result<Value, ApiProblem> {
        let call = |request: RequestBuilder| request.form(arguments);
        self.call(method, "", TokenKind::Bot, call).await
    }

    /// Calls a method that writes.
    pub(crate) async fn write(&self, method: &str, body: &Value) -> Result<Value, ApiProblem> {
        let channel = body.get("channel").and_then(Value::as_str).unwrap_or_default();
        let text = body.to_string();
        let call = |request: RequestBuilder| request.header(CONTENT_TYPE, JSON).body(text);
        self.call(method, channel, TokenKind::Bot, call).await
    }

    /// Where to connect for presses. Asks with the app's token, so that a refused one is found.
    pub(crate) async fn socket(&self) -> Result<String, ApiProblem> {
        let call = |request: RequestBuilder| request.form(&[("", ""); 0]);
        let told = self.call("apps.connections.open", "", TokenKind::App, call).await?;
        let url = told.get("url").and_then(Value::as_str).map(str::to_owned);
        url.ok_or_else(|| ApiProblem::Unreachable("its answer names no connection".to_owned()))
    }

    /// Answers an interaction at the address that came with it, which is a secret of its own.
    pub(crate) async fn respond(&self, url: &str, body: &Value) -> Result<(), ApiProblem> {
        let request = self.client()?.post(url).header(CONTENT_TYPE, JSON).body(body.to_string());
        self.send_plainly(request).await
    }

    /// Uploads a file's text to the address that Slack gave for it.
    pub(crate) async fn upload(&self, url: &str, text: &str) -> Result<(), ApiProblem> {
        let request = self.client()?.post(url).header(CONTENT_TYPE, "application/octet-stream");
        self.send_plainly(request.body(text.to_owned())).await
    }

    async fn call(
        &self,
        method: &str,
        channel: &str,
        kind: TokenKind,
        with: impl FnOnce(RequestBuilder) -> RequestBuilder,
    ) -> Result<Value, ApiProblem> {
        self.limits().take(method, channel, Instant::now())?;
        let token = match kind {
            TokenKind::Bot => &self.config.token,
            TokenKind::App => &self.config.app_token,
        };
        let request = self.client()?.post(format!("{}/{method}", self.base));
        let request = with(request.header(AUTHORIZATION, format!("Bearer {token}")));
        self.check_lead()?;
        let response = request.send().await.map_err(unreachable)?;
        let status = response.status().as_u16();
        let header = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        let retry_after = header.and_then(|value| value.trim().parse().ok());
        let text = response.text().await.map_err(unreachable)?;
        let answer: Value = serde_json::from_str(&text).unwrap_or_default();
        let accepted = status == 200 && answer.get("ok") == Some(&Value::Bool(true));
        let result = match accepted {
            true => Ok(answer),
            false => Err(ApiProblem::read(kind, status, retry_after, &answer)),
        };
        self.learn(method, channel, kind, result.as_ref().err());
        result
    }

    fn learn(&self, method: &str, channel: &str, kind: TokenKind, problem: Option<&ApiProblem>) {
        if let Some(ApiProblem::Wait(wait)) = problem {
            self.limits().refused(method, channel, *wait, Instant::now());
        }
        let dead = match problem {
            // Neither says anything of the token.
            Some(ApiProblem::Unreachable(_) | ApiProblem::Wait(_)) => return,
            Some(dead @ ApiProblem::Token { .. }) => Some(dead.clone()),
            _ => None,
        };
        if kind == TokenKind::Bot {
            *self.dead.lock().unwrap_or_else(PoisonError::into_inner) = dead;
        }
    }

    /// Sends something to an address that is a permission by itself.
    async fn send_plainly(&self, request: RequestBuilder) -> Result<(), ApiProblem> {
        self.check_lead()?;
        let response = request.send().await.map_err(unreachable)?;
        match response.status().as_u16() {
            200 => Ok(()),
            status => Err(ApiProblem::Unreachable(format!("it answered HTTP {status}"))),
        }
    }

    // INVARIANT: every call asks here before it goes out, and none goes out without leading.
    fn check_lead(&self) -> Result<(), ApiProblem> {
        if self.guard.is_open() { Ok(()) } else { Err(ApiProblem::Deposed) }
    }

    fn client(&self) -> Result<&Client, ApiProblem> {
        self.client.as_ref().map_err(|why| ApiProblem::Unreachable(why.clone()))
    }

    fn limits(&self) -> MutexGuard<'_, MethodLimits> {
        self.limits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// SECURITY: without the URL, which is a secret where it answers an interaction.
fn unreachable(error: reqwest::Error) -> ApiProblem {
    let error = error.without_url();
    let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
    ApiProblem::Unreachable(format!("{error}{}", cause.unwrap_or_default()))
}
