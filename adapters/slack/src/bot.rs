//! What sending and receiving share: one app's bot, and how it shows a card.

use crate::api::WebApi;
use crate::card::{SlackMessage, draw};
use crate::ids::{self, MemberChannels};
use crate::people::SlackPeople;
use crate::platform::SlackConfig;
use crate::problem::ApiProblem;
use crate::rich::RichText;
use crate::threads::Threads;
use countersign_port::{
    Card, ChannelReplyLimit, MessageRef, Recent, SendError, Signals, Turns, locked,
};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Mutex;
use std::time::Duration;
use tokio::time::Instant;
use tracing::debug;

/// The kind of our messages' metadata.
const CARD: &str = "countersign_card";
/// More of what came in is not remembered; Slack repeats within minutes.
const SEEN: usize = 4096;
/// How many messages of a channel are looked through for one of ours.
const LOOKED_THROUGH: &str = "200";

/// One bot: its API, and what is known of its messages.
pub(crate) struct SlackBot {
    pub(crate) api: WebApi,
    /// For what only reads: a daemon that does not lead counts votes too.
    pub(crate) reader: WebApi,
    pub(crate) signals: Signals,
    pub(crate) turns: Turns,
    pub(crate) people: SlackPeople,
    pub(crate) reply_limit: ChannelReplyLimit,
    /// What has come in already: Slack delivers events at least once.
    seen: Mutex<Recent<String, ()>>,
    pub(crate) threads: Threads,
    pub(crate) last_drawn: LastDrawn,
    pub(crate) direct: MemberChannels,
}

impl SlackBot {
    /// One that has sent and received nothing yet.
    pub(crate) fn new(config: &SlackConfig) -> Self {
        Self {
            api: WebApi::new(config),
            reader: WebApi::new(config),
            signals: Signals::default(),
            turns: Turns::default(),
            people: SlackPeople::default(),
            reply_limit: ChannelReplyLimit::default(),
            seen: Mutex::new(Recent::new(SEEN)),
            threads: Threads::default(),
            last_drawn: LastDrawn::default(),
            direct: MemberChannels::default(),
        }
    }

    /// Whether what came in under this id of Slack's comes for the first time.
    pub(crate) fn is_new(&self, id: &str) -> bool {
        locked(&self.seen).put(id.to_owned(), ())
    }

    /// Posts a card and the files that belong to it.
    pub(crate) async fn post(
        &self,
        (channel, thread): (&str, Option<&str>),
        card: &Card,
    ) -> Result<MessageRef, ApiProblem> {
        let drawn = draw(card);
        let mut body = body(channel, &drawn);
        if let Some(thread) = thread {
            put(&mut body, "thread_ts", thread.into());
        }
        let payload = json!({"id": card.id});
        put(&mut body, "metadata", json!({"event_type": CARD, "event_payload": payload}));
        put(&mut body, "unfurl_links", false.into());
        put(&mut body, "unfurl_media", false.into());
        let posted = self.api.write("chat.postMessage", &body).await?;
        let at = |key| posted.get(key).and_then(Value::as_str);
        // A direct message has a channel of its own.
        let (Some(channel), Some(ts)) = (at("channel"), at("ts")) else {
            return Err(ApiProblem::Unreachable("its answer names no message".to_owned()));
        };
        let message = ids::reference_in(channel, ts, thread);
        self.threads.started(&message);
        self.attach(&message, &drawn).await?;
        Ok(message)
    }

    /// Posts a text that is no card; a notification shows what it is.
    pub(crate) async fn say(
        &self,
        (channel, thread): (&str, Option<&str>),
        text: RichText,
        what: &str,
    ) -> Result<(), SendError> {
        let blocks: Vec<Value> = text.block().into_iter().collect();
        let mut body = json!({"channel": channel, "blocks": blocks, "text": what,
            "unfurl_links": false, "unfurl_media": false});
        if let Some(thread) = thread {
            put(&mut body, "thread_ts", thread.into());
        }
        let sent = self.api.write("chat.postMessage", &body).await;
        sent.map(drop).map_err(|problem| problem.send_error(channel))
    }

    /// The card where an earlier try has posted it.
    // Slack knows no key against a second message, but keeps our metadata with the first one.
    pub(crate) async fn find(
        &self,
        (channel, thread): (&str, Option<&str>),
        card: &Card,
    ) -> Result<Option<MessageRef>, ApiProblem> {
        let found = match self.look((channel, thread), CARD, &card.id).await {
            Ok(found) => found,
            // May write but not read: then it may be posted twice.
            Err(ApiProblem::Scope(_) | ApiProblem::Refused { .. }) => None,
            Err(problem) => return Err(problem),
        };
        let Some(ts) = found else { return Ok(None) };
        let message = ids::reference_in(channel, &ts, thread);
        self.attach(&message, &draw(card)).await?;
        Ok(Some(message))
    }

    /// The message in a channel or thread whose metadata has this kind and id.
    pub(crate) async fn look(
        &self,
        (channel, thread): (&str, Option<&str>),
        kind: &str,
        id: &str,
    ) -> Result<Option<String>, ApiProblem> {
        let mut arguments =
            vec![("channel", channel), ("limit", LOOKED_THROUGH), ("include_all_metadata", "true")];
        arguments.extend(thread.map(|ts| ("ts", ts)));
        let method = thread.map_or("conversations.history", |_| "conversations.replies");
        let history = self.api.read(method, &arguments).await?;
        let messages = history.get("messages").and_then(Value::as_array);
        let is_it = |message: &&Value| {
            let text = |path| message.pointer(path).and_then(Value::as_str);
            text("/metadata/event_type") == Some(kind)
                && text("/metadata/event_payload/id") == Some(id)
        };
        let found = messages.into_iter().flatten().find(is_it);
        Ok(found.and_then(|it| it.get("ts")).and_then(Value::as_str).map(str::to_owned))
    }

    /// Redraws a message, unless it shows a later revision of the card already.
    pub(crate) async fn update(&self, message: &MessageRef, card: &Card) -> Result<(), SendError> {
        let (channel, ts) = ids::parts(message).map_err(SendError::Refused)?;
        let mut newest = self.turns.wait(message).await;
        if card.revision < *newest {
            return Ok(());
        }
        let drawn = draw(card);
        if self.last_drawn.shows(message, &drawn) {
            *newest = card.revision;
            return Ok(());
        }
        match self.edit(message, (channel, ts), &drawn).await {
            // Deleted, and with it its buttons.
            Err(problem) if problem.word() == "message_not_found" => Ok(()),
            Err(problem) => Err(problem.send_error(channel)),
            Ok(()) => {
                self.last_drawn.note(message, &drawn);
                *newest = card.revision;
                Ok(())
            }
        }
    }

    /// Redraws a pressed message. Where that fails now, the core's own edit will do it.
    pub(crate) async fn redraw(&self, message: &MessageRef, card: Option<Card>) {
        if let Some(card) = card
            && let Err(error) = self.update(message, &card).await
        {
            debug!(ask = card.ask, %error, "a pressed card is left to the core to redraw");
        }
    }

    async fn edit(
        &self,
        message: &MessageRef,
        (channel, ts): (&str, &str),
        drawn: &SlackMessage,
    ) -> Result<(), ApiProblem> {
        let mut body = body(channel, drawn);
        put(&mut body, "ts", ts.into());
        self.api.write("chat.update", &body).await?;
        // The card is right without them, and a later redraw tries again.
        if let Err(problem) = self.attach(message, drawn).await {
            debug!(%problem, "the files of a card are not in its thread yet");
        }
        Ok(())
    }

    /// Puts those of a card's files into its thread that are not there yet.
    async fn attach(&self, message: &MessageRef, drawn: &SlackMessage) -> Result<(), ApiProblem> {
        self.threads.attach(&self.api, message, &drawn.files).await
    }
}

/// A message's text and blocks. Nothing in it is looked through for names and links.
// SECURITY: `parse` is `client` for edits where it is not said.
fn body(channel: &str, drawn: &SlackMessage) -> Value {
    json!({"channel": channel, "text": drawn.text, "blocks": drawn.blocks, "parse": "none"})
}

pub(crate) fn put(body: &mut Value, key: &str, value: Value) {
    if let Some(body) = body.as_object_mut() {
        body.insert(key.to_owned(), value);
    }
}

/// A pressed card is drawn by the press and by the core that answered it, at about the same time.
const MOMENT: Duration = Duration::from_secs(5);

/// The last drawing of each message. Slack takes 50 edits a minute of all messages together, so the
/// same is not drawn twice; only for a moment, because another daemon may draw it meanwhile.
#[derive(Debug, Default)]
pub(crate) struct LastDrawn(Mutex<HashMap<MessageRef, (Instant, u64)>>);

impl LastDrawn {
    /// Whether the message shows this already.
    pub(crate) fn shows(&self, message: &MessageRef, drawn: &SlackMessage) -> bool {
        let mut last = locked(&self.0);
        last.retain(|_, (at, _)| at.elapsed() < MOMENT);
        last.get(message).is_some_and(|(_, hash)| *hash == hashed(drawn))
    }

    /// The message was just drawn.
    pub(crate) fn note(&self, message: &MessageRef, drawn: &SlackMessage) {
        let mut last = locked(&self.0);
        last.insert(message.clone(), (Instant::now(), hashed(drawn)));
    }
}

fn hashed(drawn: &SlackMessage) -> u64 {
    let mut hasher = DefaultHasher::new();
    drawn.text.hash(&mut hasher);
    drawn.blocks.iter().for_each(|block| block.to_string().hash(&mut hasher));
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::card::draw;
    use countersign_port_testkit::{closed, sample_card};

    #[tokio::test(start_paused = true)]
    async fn the_same_drawing_is_known_again_for_a_moment_and_another_one_is_not() {
        let last = LastDrawn::default();
        let message = MessageRef("C1/1.2".to_owned());
        let open = draw(&sample_card("ls"));
        let over = draw(&closed(&sample_card("ls")));
        assert!(!last.shows(&message, &open));
        last.note(&message, &open);
        assert!(last.shows(&message, &open) && !last.shows(&message, &over));
        last.note(&message, &over);
        assert!(last.shows(&message, &over) && !last.shows(&message, &open));
        tokio::time::advance(MOMENT).await;
        assert!(!last.shows(&message, &over));
    }
}
