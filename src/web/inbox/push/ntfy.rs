//! ntfy: a topic of an ntfy server, such as your own, is told of new requests as browsers are.
//
// SECURITY: the server, and anybody who knows the topic, can read what comes there. So a message carries at
// most a proof that denies, never one that approves.

use crate::inbox::push::{
    NewRequest, PushShows,
    answer::Answers,
    sender::{Note, PAUSE, PushReply, TRIES, burst, note},
};
use countersign_tokens::{clock, secret::Secret};
use reqwest::Client;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::mpsc;

/// The longest title, in characters.
const TITLE: usize = 200;

/// The topic that is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NtfyConfig {
    /// The address of the server.
    pub url: String,
    /// The topic, which is as good as a password.
    pub topic: Secret,
    /// An access token of the server.
    pub token: Option<Secret>,
    /// Whose denials come from there: their id in the inbox, `PLATFORM:ID`.
    pub person: Option<String>,
    /// Where the phone reaches the inbox, an origin. Without it a message has no buttons.
    pub public: Option<String>,
}

impl NtfyConfig {
    /// What its proofs are bound to.
    pub(super) fn endpoint(&self) -> String {
        format!("ntfy {} {}", self.url, self.topic.reveal())
    }
}

/// Sends to the topic.
pub(super) struct Ntfy {
    pub(super) config: NtfyConfig,
    pub(super) answers: Arc<Answers>,
    pub(super) shows: PushShows,
    pub(super) client: Client,
}

impl Ntfy {
    /// Sends until the inbox is gone.
    pub(super) async fn run(self, mut coming: mpsc::UnboundedReceiver<NewRequest>) {
        while let Some(news) = burst(&mut coming).await {
            self.send(&self.message(&note(&news, self.shows, clock::machine_ms()))).await;
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn send(&self, message: &Value) {
        let request = self.client.post(&self.config.url).json(message);
        let request = match &self.config.token {
            Some(token) => request.bearer_auth(token.reveal()),
            None => request,
        };
        match PushReply::to(request).await {
            PushReply::Taken => {}
            PushReply::Again(_) => {
                tracing::warn!("the ntfy server took no message after {TRIES} tries");
            }
            PushReply::Gone => refused("404 Not Found"),
            PushReply::Refused(why) => refused(&why),
        }
    }

    /// The message, as `POST /` of the server takes it.
    fn message(&self, note: &Note) -> Value {
        let title = note.title.chars().take(TITLE).collect::<String>();
        let body = &note.body;
        let priority = if note.critical { 5 } else { 4 };
        let topic = self.config.topic.reveal();
        // Without a body the app would say "triggered".
        let mut message = if body.is_empty() {
            json!({ "topic": topic, "message": title, "priority": priority })
        } else {
            json!({ "topic": topic, "title": title, "message": body, "priority": priority })
        };
        if let (Some(public), Some(fields)) = (&self.config.public, message.as_object_mut()) {
            let page = match &note.card {
                Some(card) => format!("{public}/#/ask/{card}"),
                None => format!("{public}/"),
            };
            let open = json!({ "action": "view", "label": "Open", "url": page });
            let actions = self.deny(note, public).into_iter().chain([open]);
            fields.insert("actions".to_owned(), actions.collect());
            fields.insert("click".to_owned(), page.into());
        }
        message
    }

    fn deny(&self, note: &Note, public: &str) -> Option<Value> {
        let card = note.card.as_deref()?;
        let (label, body) = self.answers.denial(&note.offers, card, &self.config.endpoint())?;
        Some(json!({
            "action": "http",
            "label": label,
            "url": format!("{public}/inbox/push/answer"),
            "method": "POST",
            "headers": { "content-type": "application/json", "origin": public },
            "body": body.to_string(),
            "clear": true,
        }))
    }
}

fn refused(why: &str) {
    tracing::warn!(%why, "the ntfy server refused a message; check [ntfy] in the config");
}

/// Whether an ntfy server takes this for the name of a topic.
#[must_use]
pub fn is_topic(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"_-".contains(&b);
    (1..=64).contains(&name.len()) && name.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]
    use super::*;
    use countersign_port::Card;
    use countersign_port_testkit::sample_card;

    fn ntfy(public: Option<&str>) -> Ntfy {
        let config = NtfyConfig {
            url: "https://ntfy.example".to_owned(),
            topic: Secret::new("approve_7f3a"),
            token: None,
            person: None,
            public: public.map(str::to_owned),
        };
        // The port is held, so that a browser would be offered an approval.
        let answers = Arc::new(Answers::new(true));
        Ntfy { config, answers, shows: PushShows::Line, client: Client::new() }
    }

    /// The message of these cards.
    fn message(ntfy: &Ntfy, cards: &[Card], shows: PushShows) -> Value {
        let news = cards.iter().map(|card| NewRequest {
            card: card.id.clone(),
            line: card.title.clone(),
            about: "→ Publishes\ncodex · shop".to_owned(),
            critical: false,
            deadline: None,
            offers: ntfy.answers.offered(card),
        });
        ntfy.message(&note(&news.collect::<Vec<_>>(), shows, 0))
    }

    #[test]
    fn a_message_denies_or_opens_and_never_approves() {
        let card = Card { whole: true, ..sample_card("ls") };
        let mut told =
            message(&ntfy(Some("https://a.example")), std::slice::from_ref(&card), PushShows::Line);
        let deny = told["actions"][0].take();
        let page = format!("https://a.example/#/ask/{}", card.id);
        let expected = json!({ "topic": "approve_7f3a", "title": card.title, "priority": 4,
            "message": "→ Publishes\ncodex · shop", "click": page,
            "actions": [null, { "action": "view", "label": "Open", "url": page }] });
        assert_eq!(told, expected);
        assert_eq!(
            (&deny["label"], &deny["url"]),
            (&json!("Deny"), &json!("https://a.example/inbox/push/answer"))
        );
        let body: Value = serde_json::from_str(deny["body"].as_str().unwrap()).unwrap();
        assert_eq!((&body["act"], &body["card"]), (&json!("deny"), &json!(card.id)));
    }

    #[test]
    fn several_a_count_or_a_phone_that_cannot_reach_the_inbox_get_no_proof() {
        let reached = ntfy(Some("https://a.example"));
        let open = json!([{ "action": "view", "label": "Open", "url": "https://a.example/" }]);
        let several = message(&reached, &[sample_card("ls"), sample_card("id")], PushShows::Line);
        assert_eq!((&several["message"], &several["actions"]), (&json!("2 requests wait"), &open));
        let count = message(&reached, &[sample_card("ls")], PushShows::Count);
        assert_eq!(count["actions"].as_array().unwrap().len(), 1);
        let alone = message(&ntfy(None), &[sample_card("ls")], PushShows::Line);
        assert_eq!((alone.get("actions"), alone.get("click")), (None, None));
    }

    #[test]
    fn the_longest_message_is_one_that_a_server_takes() {
        let title = "𝔘".repeat(5_000);
        let card = Card { title: title.clone(), ..sample_card("ls") };
        let told = message(&ntfy(Some("https://a.example")), &[card], PushShows::Line);
        assert!(told["title"].as_str().unwrap().len() <= 4 * TITLE);
        assert!(told["message"].as_str().unwrap().len() < 4_096);
    }

    #[test]
    fn a_topic_is_what_a_server_takes_for_one_and_no_log_shows_it() {
        for (name, is) in [("a-B_9", true), ("", false), ("a b", false), ("é", false)] {
            assert_eq!(is_topic(name), is, "{name}");
        }
        assert!(!is_topic(&"x".repeat(65)));
        assert!(!format!("{:?}", ntfy(None).config).contains("approve_7f3a"));
    }
}
