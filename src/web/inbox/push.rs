//! Web Push: tells a browser of a new request while no page is open.
//!
//! A browser subscribes from its page and gets messages through the push service of its maker,
//! which sees when something comes and for whom, but cannot read it.

mod answer;
mod message;
mod ntfy;
mod sender;
mod subscribers;

use crate::{
    error::ApiError,
    inbox::{
        InboxState, Shared,
        guard::Visitor,
        push::{
            answer::{Answers, Offer},
            ntfy::Ntfy,
            sender::Sender,
            subscribers::{Subscribers, Subscription},
        },
    },
    request::{JsonReply, Sent, sent},
};
pub use ntfy::{NtfyConfig, is_topic};

use axum::{Json, Router, extract::State, routing};
use countersign_port::{Card, Tone};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{path::PathBuf, sync::Arc};
use tokio::sync::mpsc;

/// The push of one inbox.
pub(crate) struct Push {
    shows: PushShows,
    subscribers: Arc<Subscribers>,
    answers: Arc<Answers>,
    news: mpsc::UnboundedSender<NewRequest>,
    /// A topic, and what it is told.
    ntfy: Option<(NtfyConfig, mpsc::UnboundedSender<NewRequest>)>,
}

impl Push {
    /// Opens the file and begins to send; `None` if the file cannot be used, which is logged.
    // The inbox works without; an operator finds the line in the log, and the page says it.
    pub(crate) fn start(config: &PushConfig, port_is_held: bool) -> Option<Self> {
        let opened = Subscribers::open(&config.file);
        let opened = opened.map_err(|error| {
            let file = config.file.display();
            tracing::error!(%error, %file, "no push: its file cannot be used; move it away");
        });
        let subscribers = Arc::new(opened.ok()?);
        let client = sender::client()?;
        let answers = Arc::new(Answers::new(port_is_held));
        let shows = config.shows;
        // Each ends with the last handle of this inbox, and a slow topic delays no browser.
        let ntfy = config.ntfy.clone().map(|config| {
            let (news, coming) = mpsc::unbounded_channel();
            let answers = answers.clone();
            let client = client.clone();
            let topic = Ntfy { config: config.clone(), answers, shows, client };
            tokio::spawn(topic.run(coming));
            (config, news)
        });
        let (news, coming) = mpsc::unbounded_channel();
        let told = subscribers.clone();
        let proofs = answers.clone();
        let contact = config.contact.clone();
        let sender = Sender { subscribers: told, answers: proofs, shows, contact, client };
        tokio::spawn(sender.run(coming));
        Some(Self { shows, subscribers, answers, news, ntfy })
    }

    /// The passkeys with which people had signed in who are told.
    pub(crate) fn passkeys(&self) -> Vec<String> {
        self.subscribers.passkeys()
    }

    /// Ends what browsers are told that came by these passkeys.
    pub(crate) fn end_passkeys(&self, gone: &[String]) {
        if let Err(error) = self.subscribers.end_passkeys(gone) {
            tracing::error!(%error, "the subscribers of the push cannot be written");
        }
    }

    /// Tells of a request that nobody has been told of; `stays` says which people are still there.
    pub(crate) fn tell(&self, card: &Card, stays: impl Fn(&str) -> bool) {
        if !card.tone.is_open() {
            return;
        }
        if let Err(error) = self.subscribers.keep_people(&stays) {
            // FAIL-CLOSED: nobody is told rather than somebody who is gone.
            tracing::error!(%error, "no push: the subscribers cannot be written");
            return;
        }
        let news = NewRequest {
            card: card.id.clone(),
            line: card.title.clone(),
            about: [&*card.worst, "\n", &*card.origin].concat().trim_start().to_owned(),
            critical: card.tone == Tone::Critical,
            deadline: card.deadline,
            offers: self.answers.offered(card),
        };
        // A sender is gone only while the daemon stops.
        if let Some((topic, told)) = &self.ntfy
            && topic.person.as_deref().is_none_or(stays)
        {
            let _ = told.send(news.clone());
        }
        let _ = self.news.send(news);
    }
}

// The settings of the push.

/// How a closed page's browser is told.
#[derive(Debug, Clone)]
pub struct PushConfig {
    /// Where subscribers and the signing key are kept; made where it is missing.
    pub file: PathBuf,
    /// What a notification shows.
    pub shows: PushShows,
    /// An address that tells the operator of a push service who sends, such as
    /// `https://approve.example`.
    pub contact: String,
    /// A topic that is told as well.
    pub ntfy: Option<NtfyConfig>,
}

/// What a notification shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PushShows {
    /// The first line of the request, and who asks.
    #[default]
    Line,
    /// That a request waits, and nothing of it.
    Count,
}

// What a push message tells of.

/// A request that has just come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NewRequest {
    pub(super) card: String,
    pub(super) line: String,
    /// The worst of what it would do, and who asks from where.
    pub(super) about: String,
    pub(super) critical: bool,
    /// Unix milliseconds.
    pub(super) deadline: Option<i64>,
    /// What the notification can answer.
    pub(super) offers: Vec<Offer>,
}

// What the page asks of the push: the key to subscribe with, on and off.

/// For the worker, which has no page.
pub(crate) fn worker_routes() -> Router<Arc<InboxState>> {
    Router::new().route("/inbox/push/answer", routing::post(answer::answer))
}

/// To be put behind the guard of the page.
pub(crate) fn routes() -> Router<Arc<InboxState>> {
    Router::new()
        .route("/inbox/push", routing::get(about).post(subscribe))
        .route("/inbox/push/stop", routing::post(stop))
}

#[derive(Deserialize)]
struct Stopped {
    endpoint: String,
}

async fn about(State(inbox): Shared) -> JsonReply<Value> {
    let push = inbox.push.as_ref().ok_or_else(off)?;
    Ok(Json(json!({ "key": push.subscribers.key.public(), "shows": push.shows })))
}

async fn subscribe(
    State(inbox): Shared,
    visitor: Visitor,
    body: Sent<Subscription>,
) -> JsonReply<Value> {
    let push = inbox.push.as_ref().ok_or_else(off)?;
    let mut browser = sent(body, "This is not a valid push subscription.")?;
    browser.parts().map_err(ApiError::unprocessable)?;
    (browser.person, browser.passkey) = match visitor {
        Visitor::Nameless => (None, None),
        Visitor::Person(signed_in, presser) => (Some(presser.id), signed_in.passkey.clone()),
    };
    kept(push.subscribers.add(browser))
}

async fn stop(State(inbox): Shared, body: Sent<Stopped>) -> JsonReply<Value> {
    let push = inbox.push.as_ref().ok_or_else(off)?;
    let Stopped { endpoint } = sent(body, "This names no browser.")?;
    kept(push.subscribers.remove(&endpoint))
}

fn kept(done: std::io::Result<()>) -> JsonReply<Value> {
    done.map(|()| Json(json!({}))).map_err(|error| {
        tracing::error!(%error, "the subscribers of the push cannot be written");
        ApiError::failed("countersign cannot keep this just now.")
    })
}

fn off() -> ApiError {
    ApiError::not_found("Push is off here ([daemon] push, or see the daemon's log).")
}
