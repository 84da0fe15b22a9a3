//! Calls of Slack's Web API.
//!
//! Most of Slack's limits are met here before they are hit.
//!
//! Ten methods, so a client of our own: slack-morphism acknowledges a press only once its handler
//! has returned, closes a connection before it opens the next one, and retries a dead token without
//! a word.

use crate::platform::SlackConfig;
use crate::problem::{ApiProblem, TokenKind};
use countersign_port::{SendGuard, locked};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Client, RequestBuilder};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Mutex;
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
        locked(&self.dead).clone()
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
        locked(&self.limits).take(method, channel, Instant::now())?;
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
        let result = if accepted {
            Ok(answer)
        } else {
            Err(ApiProblem::read(kind, status, retry_after, &answer))
        };
        self.learn(method, channel, kind, result.as_ref().err());
        result
    }

    fn learn(&self, method: &str, channel: &str, kind: TokenKind, problem: Option<&ApiProblem>) {
        if let Some(ApiProblem::Wait(wait)) = problem {
            locked(&self.limits).refused(method, channel, *wait, Instant::now());
        }
        let dead = match problem {
            // Neither says anything of the token.
            Some(ApiProblem::Unreachable(_) | ApiProblem::Wait(_)) => return,
            Some(dead @ ApiProblem::Token { .. }) => Some(dead.clone()),
            _ => None,
        };
        if kind == TokenKind::Bot {
            *locked(&self.dead) = dead;
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
}

/// SECURITY: without the URL, which is a secret where it answers an interaction.
fn unreachable(error: reqwest::Error) -> ApiProblem {
    let error = error.without_url();
    let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
    ApiProblem::Unreachable(format!("{error}{}", cause.unwrap_or_default()))
}

/// What a limit allows: so many at once, and then one in this time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Allowance {
    at_once: u32,
    every: Duration,
}

/// New messages in one channel: one a second, and Slack tolerates short bursts.
const POSTS: Allowance = Allowance { at_once: 4, every: Duration::from_secs(1) };
/// Edits of all messages together: 50 a minute.
const EDITS: Allowance = Allowance { at_once: 20, every: Duration::from_secs(2) };
/// Other methods have limits that we do not reach, until Slack says otherwise.
const OTHERS: Allowance = Allowance { at_once: 20, every: Duration::ZERO };
/// More limits than this are not remembered.
const REMEMBERED: usize = 1024;

/// What is known of Slack's limits: by method, and for new messages by channel too.
#[derive(Debug, Default)]
pub(crate) struct MethodLimits(HashMap<String, MethodUse>);

/// When all of an allowance is there again, and until when Slack refuses.
#[derive(Debug, Clone, Copy)]
struct MethodUse {
    full_at: Instant,
    closed_until: Instant,
}

impl MethodLimits {
    /// Counts a call.
    ///
    /// # Errors
    /// How long to wait where it comes too soon.
    pub(crate) fn take(
        &mut self,
        method: &str,
        channel: &str,
        now: Instant,
    ) -> Result<(), ApiProblem> {
        if self.0.len() >= REMEMBERED {
            self.0.retain(|_, used| used.full_at > now || used.closed_until > now);
        }
        let Allowance { at_once, every } = allowance(method);
        let used = self.of(method, channel, now);
        if used.closed_until > now {
            return Err(ApiProblem::Wait(used.closed_until - now));
        }
        let next = used.full_at.max(now) + every;
        let most = now + every * at_once;
        if next > most {
            return Err(ApiProblem::Wait(next - most));
        }
        used.full_at = next;
        Ok(())
    }

    /// Slack refused a call for having come too soon.
    pub(crate) fn refused(&mut self, method: &str, channel: &str, wait: Duration, now: Instant) {
        self.of(method, channel, now).closed_until = now + wait;
    }

    fn of(&mut self, method: &str, channel: &str, now: Instant) -> &mut MethodUse {
        let key = match method {
            "chat.postMessage" => format!("{method} {channel}"),
            _ => method.to_owned(),
        };
        self.0.entry(key).or_insert(MethodUse { full_at: now, closed_until: now })
    }
}

fn allowance(method: &str) -> Allowance {
    match method {
        "chat.postMessage" => POSTS,
        "chat.update" => EDITS,
        _ => OTHERS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_channel_takes_a_few_messages_at_once_and_then_one_a_second() {
        let mut limits = MethodLimits::default();
        let now = Instant::now();
        let mut take = |channel, at| limits.take("chat.postMessage", channel, at);
        assert!((0..4).all(|_| take("C1", now).is_ok()));
        assert_eq!(take("C1", now), Err(ApiProblem::Wait(SECOND)));
        assert_eq!(take("C2", now), Ok(()), "another channel has its own limit");
        assert_eq!(take("C1", now + SECOND), Ok(()));
        assert_eq!(take("C1", now + SECOND), Err(ApiProblem::Wait(SECOND)));
        assert!((0..4).all(|_| take("C1", now + 60 * SECOND).is_ok()));
    }

    #[test]
    fn all_edits_together_stay_below_fifty_in_any_minute() {
        let mut limits = MethodLimits::default();
        let now = Instant::now();
        let edits =
            (0..600).filter(|at| limits.take("chat.update", "", now + SECOND / 10 * *at).is_ok());
        assert_eq!(edits.count(), 20 + 29);
    }

    #[test]
    fn a_refusal_holds_for_its_method_and_its_time_only() {
        let mut limits = MethodLimits::default();
        let now = Instant::now();
        limits.refused("users.info", "", 3 * SECOND, now);
        let wait = Err(ApiProblem::Wait(2 * SECOND));
        assert_eq!(limits.take("users.info", "", now + SECOND), wait);
        assert_eq!(limits.take("auth.test", "", now + SECOND), Ok(()));
        assert_eq!(limits.take("users.info", "", now + 3 * SECOND), Ok(()));
    }
}
