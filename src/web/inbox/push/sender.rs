//! Sends what is new to every subscriber, and forgets those that are gone.

use crate::inbox::push::{
    NewRequest, PushShows,
    answer::{Answers, Offer},
    message::encrypt,
    subscribers::{Subscribers, Subscription},
};
use countersign_tokens::clock;
use futures::future::join_all;
use reqwest::{Client, RequestBuilder, StatusCode, header::RETRY_AFTER, redirect};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::sync::mpsc;

/// How long the first of several requests waits for the others, so that a burst is one message.
const GATHER: Duration = Duration::from_millis(300);
/// The pause between two messages. Browsers drop the subscription of a site that sends many.
pub(super) const PAUSE: Duration = Duration::from_secs(3);
const TIMEOUT: Duration = Duration::from_secs(10);
/// How often a message is tried, and the longest pause between.
pub(super) const TRIES: usize = 3;
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// How long a push service keeps a message for a browser that is away, without a deadline of the
/// request, in seconds.
const KEPT: i64 = 60 * 60;
/// The longest first line, in characters. A message has less than 4 kB.
const LINE: usize = 300;

pub(super) struct Sender {
    pub(super) subscribers: Arc<Subscribers>,
    pub(super) answers: Arc<Answers>,
    pub(super) shows: PushShows,
    pub(super) contact: String,
    pub(super) client: Client,
}

/// What is sent, before it is encrypted or worded for its receiver.
pub(super) struct Note {
    pub(super) title: String,
    pub(super) body: String,
    /// The request; `None` for several.
    pub(super) card: Option<String>,
    /// What it can answer.
    pub(super) offers: Vec<Offer>,
    /// Whether it tells of a critical request.
    pub(super) critical: bool,
    /// Seconds.
    kept: i64,
}

/// How a push service or an ntfy server answered.
pub(super) enum PushReply {
    Taken,
    Gone,
    Again(Duration),
    Refused(String),
}

impl Sender {
    /// Sends until the inbox is gone.
    pub(super) async fn run(self, mut coming: mpsc::UnboundedReceiver<NewRequest>) {
        while let Some(news) = burst(&mut coming).await {
            let note = note(&news, self.shows, clock::machine_ms());
            let all = self.subscribers.all();
            join_all(all.iter().map(|browser| self.send(browser, &note))).await;
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn send(&self, browser: &Subscription, note: &Note) {
        let Ok((address, keys)) = browser.parts() else { return };
        let host = address.host_str().unwrap_or_default().to_owned();
        let mut text = note.for_worker();
        if let (Some(told), false) = (text.as_object_mut(), note.offers.is_empty()) {
            let answers = self.answers.of_browser(&note.offers, &browser.endpoint);
            told.insert("answers".to_owned(), answers);
        }
        let text = text.to_string();
        let Ok(body) = encrypt(&keys, text.as_bytes()) else {
            return self.forget(browser, &host, "its key is not valid");
        };
        let audience = address.origin().ascii_serialization();
        let now = clock::machine_ms() / 1000;
        let Ok(signed) = self.subscribers.key.authorization(&audience, &self.contact, now) else {
            tracing::warn!(%host, "no push: this system has no randomness");
            return;
        };
        let request = self.client.post(address).body(body);
        let request = request.header("authorization", signed).header("ttl", note.kept);
        let request = request.header("content-encoding", "aes128gcm").header("urgency", "high");
        match PushReply::to(request).await {
            PushReply::Taken => {}
            PushReply::Gone => self.forget(browser, &host, "it has unsubscribed"),
            PushReply::Again(_) => {
                tracing::warn!(%host, "a push service took no message after {TRIES} tries");
            }
            PushReply::Refused(why) => {
                tracing::warn!(%host, %why, "a push service refused a message");
            }
        }
    }

    fn forget(&self, browser: &Subscription, host: &str, why: &str) {
        match self.subscribers.remove(&browser.endpoint) {
            Ok(()) => tracing::info!(%host, why, "a browser is no longer told"),
            Err(error) => tracing::error!(%error, "the subscribers of the push cannot be written"),
        }
    }
}

impl Note {
    /// As `assets/worker.js` reads it.
    fn for_worker(&self) -> Value {
        json!({ "title": self.title, "body": self.body, "card": self.card })
    }
}

impl PushReply {
    /// What comes of a message, which is tried some times with the pauses that the server asks for.
    pub(super) async fn to(message: RequestBuilder) -> Self {
        for _ in 1..TRIES {
            let Some(request) = message.try_clone() else { break };
            match Self::of(request.send().await) {
                Self::Again(pause) => tokio::time::sleep(pause.min(LONGEST_PAUSE)).await,
                reply => return reply,
            }
        }
        Self::of(message.send().await)
    }

    fn of(reply: Result<reqwest::Response, reqwest::Error>) -> Self {
        let reply = match reply {
            Ok(reply) => reply,
            // SECURITY: without its URL, which is a secret of the browser.
            Err(error) if error.is_builder() => {
                return Self::Refused(error.without_url().to_string());
            }
            Err(_) => return Self::Again(PAUSE),
        };
        match reply.status() {
            status if status.is_success() => Self::Taken,
            StatusCode::NOT_FOUND | StatusCode::GONE => Self::Gone,
            status if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() => {
                let after = reply.headers().get(RETRY_AFTER);
                let seconds = after.and_then(|value| value.to_str().ok()?.parse().ok());
                Self::Again(seconds.map_or(PAUSE, Duration::from_secs))
            }
            status => Self::Refused(status.to_string()),
        }
    }
}

/// `None` if this system has no TLS, which is logged.
pub(super) fn client() -> Option<Client> {
    let client = Client::builder().timeout(TIMEOUT).redirect(redirect::Policy::none()).build();
    client.map_err(|error| tracing::error!(%error, "no push")).ok()
}

/// The next request with those that come at about the same time; `None` once no more can come.
pub(super) async fn burst(
    coming: &mut mpsc::UnboundedReceiver<NewRequest>,
) -> Option<Vec<NewRequest>> {
    let mut news = vec![coming.recv().await?];
    tokio::time::sleep(GATHER).await;
    while let Ok(more) = coming.try_recv() {
        news.push(more);
    }
    Some(news)
}

/// What a notification says of what has come.
pub(super) fn note(news: &[NewRequest], shows: PushShows, now: i64) -> Note {
    let critical = news.iter().filter(|one| one.critical).count();
    let (title, body) = match (news, shows) {
        ([one], PushShows::Line) => {
            let line: String = one.line.chars().take(LINE).collect();
            let sign = if one.critical { "🛑 CRITICAL " } else { "" };
            (format!("{sign}{line}"), one.about.clone())
        }
        (_, PushShows::Line | PushShows::Count) => {
            let count = match news.len() {
                1 => "1 request waits".to_owned(),
                many => format!("{many} requests wait"),
            };
            let body = if critical > 0 { format!("{critical} critical") } else { String::new() };
            (count, body)
        }
    };
    let latest = news.iter().map(|one| one.deadline).max_by_key(|at| at.unwrap_or(i64::MAX));
    let kept = latest.flatten().map_or(KEPT, |at| ((at - now) / 1000).clamp(1, KEPT * 24));
    let card = if let [one] = news { Some(one.card.clone()) } else { None };
    let offers = match (news, shows) {
        // Nobody answers what they were not told of.
        ([one], PushShows::Line) => one.offers.clone(),
        _ => Vec::new(),
    };
    Note { title, body, card, offers, critical: critical > 0, kept }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing, reason = "tests fail by panicking")]

    use super::*;

    fn news(line: &str, critical: bool, deadline: Option<i64>) -> NewRequest {
        let card = format!("c-{line}");
        let about = "codex · shop".to_owned();
        let offers = vec![];
        NewRequest { card, line: line.to_owned(), about, critical, deadline, offers }
    }

    fn told(news: &[NewRequest], shows: PushShows) -> (Value, i64) {
        let note = note(news, shows, 1_000_000);
        (note.for_worker(), note.kept)
    }

    #[test]
    fn one_request_shows_its_first_line_and_several_their_number() {
        let one = [news("make all", false, Some(1_090_000))];
        let line = json!({ "title": "make all", "body": "codex · shop", "card": "c-make all" });
        assert_eq!(told(&one, PushShows::Line), (line, 90));
        let two = [news("make all", false, Some(1_090_000)), news("rm -rf /", true, None)];
        let both = json!({ "title": "2 requests wait", "body": "1 critical", "card": null });
        assert_eq!(told(&two, PushShows::Line), (both, KEPT));
        let critical = [news("rm -rf /", true, None)];
        assert_eq!(told(&critical, PushShows::Line).0["title"], "🛑 CRITICAL rm -rf /");
    }

    #[test]
    fn a_count_shows_nothing_of_the_request() {
        let one = [news("make all", false, Some(900_000))];
        let count = json!({ "title": "1 request waits", "body": "", "card": "c-make all" });
        assert_eq!(told(&one, PushShows::Count), (count, 1));
    }

    #[test]
    fn the_longest_line_fits_into_a_message() {
        let card = "c".repeat(22);
        let long = [NewRequest { card, ..news(&"𝔘".repeat(5000), true, None) }];
        assert!(told(&long, PushShows::Line).0.to_string().len() < 3000);
    }
}
