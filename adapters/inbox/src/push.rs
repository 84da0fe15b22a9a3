//! Web Push: tells a browser of a new request while no page is open.
//!
//! A browser subscribes from its page and gets messages through the push service of its maker,
//! which sees when something comes and for whom, but cannot read it.

mod config;
mod message;
mod new_request;
mod routes;
mod sender;
mod subscribers;
mod vapid;

pub use config::{PushConfig, PushShows};
pub(crate) use routes::routes;

use countersign_port::{Card, Tone};
use new_request::NewRequest;
use sender::Sender;
use std::sync::Arc;
use subscribers::Subscribers;
use tokio::sync::mpsc;

/// The push of one inbox.
pub(crate) struct Push {
    shows: PushShows,
    subscribers: Arc<Subscribers>,
    news: mpsc::UnboundedSender<NewRequest>,
}

impl Push {
    /// Opens the file and begins to send; `None` if the file cannot be used, which is logged.
    // The inbox works without; an operator finds the line in the log, and the page says it.
    pub(crate) fn start(config: &PushConfig) -> Option<Self> {
        let opened = Subscribers::open(&config.file);
        let opened = opened.map_err(|error| {
            let file = config.file.display();
            tracing::error!(%error, %file, "no push: its file cannot be used; move it away");
        });
        let subscribers = Arc::new(opened.ok()?);
        let (news, coming) = mpsc::unbounded_channel();
        let sender = Sender::new(subscribers.clone(), config)?;
        // It ends with the last handle of this inbox.
        tokio::spawn(sender.run(coming));
        Some(Self { shows: config.shows, subscribers, news })
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
        if let Err(error) = self.subscribers.keep_people(stays) {
            // FAIL-CLOSED: nobody is told rather than somebody who is gone.
            tracing::error!(%error, "no push: the subscribers cannot be written");
            return;
        }
        let news = NewRequest {
            card: card.id.clone(),
            line: card.title.clone(),
            origin: card.origin.clone(),
            critical: card.tone == Tone::Critical,
            deadline: card.deadline,
        };
        // The sender is gone only while the daemon stops.
        let _ = self.news.send(news);
    }
}
