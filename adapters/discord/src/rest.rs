//! Requests to Discord's API.
//!
//! The bodies are built from serenity's types; why its client is not used stands in `lib.rs`.
//! Discord's buckets are known here, so that most limits are met before they are hit.

use crate::errors::Problem;
use crate::message::{AttachedFile, InteractionResponse, MessageBody};
use countersign_port::{RetryScope, SendGuard, TextFile, locked};
use reqwest::header::{AUTHORIZATION, HeaderMap, USER_AGENT};
use reqwest::{Client, Method, RequestBuilder, Response, multipart};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;
use tokio::time::Instant;

/// Discord asks bots to name themselves in this form.
const AGENT: &str =
    concat!("DiscordBot (https://crates.io/crates/countersign, ", env!("CARGO_PKG_VERSION"), ")");
/// The longest that a request may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a refused token is left alone: 60 refusals in the ten minutes in which 10,000 ban an
/// address.
const REFUSED: Duration = Duration::from_secs(10);
/// The longest that a first answer to a press may take: Discord gives up after 3 s.
pub(crate) const ANSWER_WITHIN: Duration = Duration::from_millis(2500);

/// A connection to Discord's API for one token.
pub(crate) struct Rest {
    client: Result<Client, String>,
    base: String,
    token: String,
    pace: Mutex<RateLimits>,
    /// Until then nothing is sent with the token, because Discord refused it: refused requests are
    /// counted, and get the address banned. After that one request tries whether it is accepted
    /// again.
    refused_until: Mutex<Option<Instant>>,
    pub(crate) guard: SendGuard,
}

/// What to ask of Discord.
struct RestRequest<'a> {
    method: Method,
    path: String,
    /// Which of Discord's buckets it falls into; none for interactions, which have their own token.
    bucket: Option<String>,
    body: Option<Value>,
    files: &'a [TextFile],
    within: Duration,
}

impl Rest {
    pub(crate) fn new(api_url: &str, token: &str) -> Self {
        let client = Client::builder().timeout(PATIENCE).build();
        Self {
            client: client.map_err(|error| error.to_string()),
            base: format!("{}/api/v10", api_url.trim_end_matches('/')),
            token: token.to_owned(),
            pace: Mutex::default(),
            refused_until: Mutex::default(),
            guard: SendGuard::default(),
        }
    }

    /// Whether Discord has refused the token a moment ago.
    pub(crate) fn is_refused(&self) -> bool {
        let until = *locked(&self.refused_until);
        until.is_some_and(|until| Instant::now() < until)
    }

    /// Reads from a path of the API, such as `/users/@me`.
    pub(crate) async fn get(&self, path: &str) -> Result<Value, Problem> {
        let bucket = Some(format!("GET {path}"));
        self.send(RestRequest::new(Method::GET, path.to_owned(), bucket)).await
    }

    /// Sends a message and returns its id.
    pub(crate) async fn post(&self, channel: &str, body: &MessageBody) -> Result<String, Problem> {
        let path = format!("/channels/{channel}/messages");
        let bucket = Some(format!("POST {channel}"));
        let call = RestRequest::new(Method::POST, path, bucket).with(json!(body), &body.files);
        let message = self.send(call).await?;
        let id = message.get("id").and_then(Value::as_str).map(str::to_owned);
        id.ok_or_else(|| Problem::Unreachable("its answer names no message".to_owned()))
    }

    /// Shows for some seconds that the bot is typing: what sending needs, and nothing that stays.
    pub(crate) async fn typing(&self, channel: &str) -> Result<(), Problem> {
        let bucket = Some(format!("POST typing {channel}"));
        let call = RestRequest::new(Method::POST, format!("/channels/{channel}/typing"), bucket);
        self.send(call).await.map(drop)
    }

    /// Changes a message of ours.
    pub(crate) async fn edit(
        &self,
        channel: &str,
        message: &str,
        body: &MessageBody,
    ) -> Result<(), Problem> {
        let path = format!("/channels/{channel}/messages/{message}");
        let bucket = Some(format!("PATCH {channel}"));
        let call = RestRequest::new(Method::PATCH, path, bucket).with(json!(body), &body.files);
        self.send(call).await.map(drop)
    }

    /// The id of the channel of direct messages with a person.
    pub(crate) async fn direct(&self, person: &str) -> Result<String, Problem> {
        let path = "/users/@me/channels";
        let call = RestRequest::new(Method::POST, path.to_owned(), Some("POST direct".to_owned()));
        let channel = self.send(call.with(json!({"recipient_id": person}), &[])).await?;
        let id = channel.get("id").and_then(Value::as_str).map(str::to_owned);
        id.ok_or_else(|| Problem::Unreachable("its answer names no channel".to_owned()))
    }

    /// Makes something at a path of the API, such as a command.
    pub(crate) async fn create(&self, path: &str, body: Value) -> Result<(), Problem> {
        let bucket = Some(format!("POST {path}"));
        let call = RestRequest::new(Method::POST, path.to_owned(), bucket).with(body, &[]);
        self.send(call).await.map(drop)
    }

    /// The files of a message.
    pub(crate) async fn files(
        &self,
        channel: &str,
        message: &str,
    ) -> Result<Vec<AttachedFile>, Problem> {
        let path = format!("/channels/{channel}/messages/{message}");
        let call = RestRequest::new(Method::GET, path, Some(format!("GET {channel}")));
        let message = self.send(call).await?;
        let files = message.get("attachments").cloned().unwrap_or_default();
        Ok(serde_json::from_value(files).unwrap_or_default())
    }

    /// Opens an archived thread, as anybody may who writes into it, unless it is locked; or
    /// archives it.
    pub(crate) async fn archive(&self, thread: &str, archived: bool) -> Result<(), Problem> {
        let bucket = Some(format!("PATCH channel {thread}"));
        let call = RestRequest::new(Method::PATCH, format!("/channels/{thread}"), bucket);
        self.send(call.with(json!({"archived": archived}), &[])).await.map(drop)
    }

    /// Makes a thread at a message. It has the message's id.
    pub(crate) async fn start_thread(
        &self,
        channel: &str,
        message: &str,
        body: Value,
    ) -> Result<(), Problem> {
        let path = format!("/channels/{channel}/messages/{message}/threads");
        let call = RestRequest::new(Method::POST, path, Some(format!("POST threads {channel}")));
        self.send(call.with(body, &[])).await.map(drop)
    }

    /// Deletes a message of ours.
    pub(crate) async fn delete(&self, channel: &str, message: &str) -> Result<(), Problem> {
        let path = format!("/channels/{channel}/messages/{message}");
        let call = RestRequest::new(Method::DELETE, path, Some(format!("DELETE {channel}")));
        self.send(call).await.map(drop)
    }

    /// Answers an interaction for the first time.
    pub(crate) async fn reply(
        &self,
        id: &str,
        token: &str,
        reply: &InteractionResponse,
    ) -> Result<(), Problem> {
        let path = format!("/interactions/{id}/{token}/callback");
        let (body, files) = reply.parts();
        let mut call = RestRequest::new(Method::POST, path, None).with(body, files);
        call.within = ANSWER_WITHIN;
        self.send(call).await.map(drop)
    }

    /// Says something more to the presser of an answered interaction.
    pub(crate) async fn follow_up(
        &self,
        application: &str,
        token: &str,
        body: &MessageBody,
    ) -> Result<(), Problem> {
        let path = format!("/webhooks/{application}/{token}");
        let call = RestRequest::new(Method::POST, path, None).with(json!(body), &body.files);
        self.send(call).await.map(drop)
    }

    async fn send(&self, call: RestRequest<'_>) -> Result<Value, Problem> {
        if self.is_refused() {
            return Err(Problem::Unauthorized);
        }
        if let Some(bucket) = &call.bucket {
            locked(&self.pace).take(bucket, Instant::now())?;
        }
        // INVARIANT: every call goes through here, and none goes out without leading.
        if !self.guard.is_open() {
            return Err(Problem::Deposed);
        }
        let response = self.request(&call)?.send().await.map_err(unreachable)?;
        self.learn(&call, &response);
        let status = response.status();
        let retry_after = number(response.headers(), "retry-after");
        let body = response.text().await.map_err(unreachable)?;
        if status.is_success() {
            return if body.is_empty() {
                Ok(Value::Null)
            } else {
                serde_json::from_str(&body).map_err(|error| {
                    Problem::Unreachable(format!("its answer is unreadable: {error}"))
                })
            };
        }
        let problem = Problem::read(status.as_u16(), retry_after, &body);
        self.remember_limit(&call, &problem);
        Err(problem)
    }

    fn request(&self, call: &RestRequest<'_>) -> Result<RequestBuilder, Problem> {
        let client = self.client.as_ref().map_err(|why| Problem::Unreachable(why.clone()))?;
        let request = client
            .request(call.method.clone(), format!("{}{}", self.base, call.path))
            .header(USER_AGENT, AGENT)
            .timeout(call.within);
        // An interaction is answered with its own token.
        let request = if call.bucket.is_some() {
            request.header(AUTHORIZATION, format!("Bot {}", self.token))
        } else {
            request
        };
        let Some(body) = &call.body else { return Ok(request) };
        if call.files.is_empty() {
            return Ok(request.json(body));
        }
        let mut form = multipart::Form::new().text("payload_json", body.to_string());
        for (n, file) in call.files.iter().enumerate() {
            let part = multipart::Part::text(file.text.clone()).file_name(file.name.clone());
            let part = part.mime_str("text/plain; charset=utf-8").map_err(unreachable)?;
            form = form.part(format!("files[{n}]"), part);
        }
        Ok(request.multipart(form))
    }

    fn learn(&self, call: &RestRequest<'_>, response: &Response) {
        let header = |name| number(response.headers(), name);
        let (Some(bucket), Some(limit), Some(left), Some(reset_after)) = (
            &call.bucket,
            header("x-ratelimit-limit"),
            header("x-ratelimit-remaining"),
            header("x-ratelimit-reset-after"),
        ) else {
            return;
        };
        let Ok(reset_after) = Duration::try_from_secs_f64(reset_after) else { return };
        let says = BucketState { limit: limit as u32, left: left as u32, reset_after };
        locked(&self.pace).learn(bucket, says, Instant::now());
    }

    fn remember_limit(&self, call: &RestRequest<'_>, problem: &Problem) {
        let Some(bucket) = &call.bucket else { return };
        match problem {
            Problem::Unauthorized => {
                let mut until = locked(&self.refused_until);
                *until = Some(Instant::now() + REFUSED);
            }
            Problem::Wait { after, scope } => {
                locked(&self.pace).refused(bucket, *after, *scope, Instant::now());
            }
            _ => {}
        }
    }
}

impl<'a> RestRequest<'a> {
    fn new(method: Method, path: String, bucket: Option<String>) -> Self {
        Self { method, path, bucket, body: None, files: &[], within: PATIENCE }
    }

    fn with(mut self, body: Value, files: &'a [TextFile]) -> Self {
        (self.body, self.files) = (Some(body), files);
        self
    }
}

/// SECURITY: without the URL, which holds the token of an interaction.
fn unreachable(error: reqwest::Error) -> Problem {
    let error = error.without_url();
    let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
    Problem::Unreachable(format!("{error}{}", cause.unwrap_or_default()))
}

fn number(headers: &HeaderMap, name: &str) -> Option<f64> {
    headers.get(name)?.to_str().ok()?.trim().parse().ok()
}

/// What is known of Discord's rate limits.
#[derive(Debug, Default)]
pub(crate) struct RateLimits {
    buckets: HashMap<String, Bucket>,
    /// Nothing may be sent before this.
    closed_until: Option<Instant>,
}

#[derive(Debug)]
struct Bucket {
    limit: u32,
    left: u32,
    window: Duration,
    reset: Instant,
}

/// What an answer's headers say about its bucket.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct BucketState {
    /// Requests in a window.
    pub limit: u32,
    /// Requests left in this one.
    pub left: u32,
    /// Until the next window.
    pub reset_after: Duration,
}

impl RateLimits {
    /// Takes one request out of a bucket.
    ///
    /// # Errors
    /// How long to wait where it is empty.
    pub(crate) fn take(&mut self, bucket: &str, now: Instant) -> Result<(), Problem> {
        let wait = |until, scope| Err(Problem::Wait { after: until - now, scope });
        if let Some(until) = self.closed_until.filter(|until| *until > now) {
            return wait(until, RetryScope::Account);
        }
        let Some(bucket) = self.buckets.get_mut(bucket) else { return Ok(()) };
        if bucket.reset <= now {
            bucket.left = bucket.limit;
            bucket.reset = now + bucket.window;
        }
        match bucket.left.checked_sub(1) {
            Some(left) => bucket.left = left,
            None => return wait(bucket.reset, RetryScope::Target),
        }
        Ok(())
    }

    /// Learns from an answer. Requests still on their way are not counted by it, so within a window
    /// the smaller figure holds.
    pub(crate) fn learn(&mut self, bucket: &str, says: BucketState, now: Instant) {
        let reset = now + says.reset_after;
        let known = self.buckets.entry(bucket.to_owned()).or_insert(Bucket {
            limit: says.limit,
            left: says.left,
            window: says.reset_after,
            reset,
        });
        let same_window = known.reset > now;
        known.left = if same_window { known.left.min(says.left) } else { says.left };
        known.limit = says.limit;
        known.window = known.window.max(says.reset_after);
        known.reset = reset;
    }

    /// Discord refused a request for having come too soon.
    pub(crate) fn refused(
        &mut self,
        bucket: &str,
        wait: Duration,
        scope: RetryScope,
        now: Instant,
    ) {
        if scope == RetryScope::Account {
            self.closed_until = Some(now + wait);
            return;
        }
        let unknown = Bucket { limit: u32::MAX, left: 0, window: wait, reset: now };
        let bucket = self.buckets.entry(bucket.to_owned()).or_insert(unknown);
        (bucket.left, bucket.reset) = (0, now + wait);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn wait<T>(after: Duration, scope: RetryScope) -> Result<T, Problem> {
        Err(Problem::Wait { after, scope })
    }

    #[test]
    fn an_empty_bucket_says_how_long_to_wait_and_fills_again() {
        let mut pace = RateLimits::default();
        let now = Instant::now();
        pace.take("a", now).unwrap();
        pace.learn("a", BucketState { limit: 2, left: 1, reset_after: 5 * SECOND }, now);
        pace.take("a", now).unwrap();
        assert_eq!(pace.take("a", now + SECOND), wait(4 * SECOND, RetryScope::Target));
        assert_eq!(pace.take("b", now + SECOND), Ok(()), "another channel has its own bucket");
        assert_eq!(pace.take("a", now + 5 * SECOND), Ok(()));
        assert_eq!(pace.take("a", now + 5 * SECOND), Ok(()));
        assert_eq!(pace.take("a", now + 5 * SECOND), wait(5 * SECOND, RetryScope::Target));
    }

    #[test]
    fn a_late_answer_does_not_give_back_what_was_taken_since() {
        let mut pace = RateLimits::default();
        let now = Instant::now();
        pace.learn("a", BucketState { limit: 5, left: 1, reset_after: SECOND }, now);
        pace.take("a", now).unwrap();
        pace.learn("a", BucketState { limit: 5, left: 2, reset_after: SECOND }, now);
        assert_eq!(pace.take("a", now), wait(SECOND, RetryScope::Target));
    }

    #[test]
    fn a_refusal_empties_its_bucket_for_its_time_only() {
        let mut pace = RateLimits::default();
        let now = Instant::now();
        pace.refused("a", SECOND, RetryScope::Target, now);
        assert_eq!(pace.take("a", now), wait(SECOND, RetryScope::Target));
        assert_eq!(pace.take("b", now), Ok(()));
        assert_eq!(pace.take("a", now + SECOND), Ok(()));
        assert_eq!(pace.take("a", now + SECOND), Ok(()));
    }

    #[test]
    fn a_global_limit_closes_everything_for_its_time() {
        let mut pace = RateLimits::default();
        let now = Instant::now();
        pace.refused("a", 2 * SECOND, RetryScope::Account, now);
        assert_eq!(pace.take("b", now + SECOND), wait(SECOND, RetryScope::Account));
        assert_eq!(pace.take("b", now + 2 * SECOND), Ok(()));
    }
}
