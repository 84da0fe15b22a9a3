//! Cards on their way to chats.

use crate::address::{Chat, MessageAddress};
use crate::api::{BotApi, Failure, Method, PATIENCE, Sent};
use crate::card::{Keyboard, Menu, Rendered, render};
use crate::errors::{bad_formatting, edit_needless, in_chat, send_error, silence};
use crate::page::escape;
use countersign_port::{
    Bell, Card, MessageRef, Recent, Reminder, SendError, Target, TextFile, locked,
};
use jiff::Timestamp;
use reqwest::multipart::{Form, Part};
use serde::Serialize;
use serde::de::IgnoredAny;
use serde_json::json;
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::sync::{Arc, Mutex};
use teloxide::payloads::{
    EditMessageText, EditMessageTextSetters as _, SendMessage, SendMessageSetters as _,
};
use teloxide::types::{ChatId, LinkPreviewOptions, MessageId, ParseMode, ReplyParameters};
use tokio::time::Instant;

/// How many cards are remembered to keep repeated sends from showing twice. A forgotten card costs
/// a needless edit or a second message, nothing else.
const REMEMBERED: usize = 2_048;

/// Sends and redraws cards.
pub(crate) struct CardSender {
    pub(crate) api: BotApi,
    bell: Bell,
    memory: Mutex<Memory>,
}

struct Memory {
    /// Cards that were posted, by chat and card id.
    posted: Recent<(String, String), MessageRef>,
    /// Files that were sent for a card, by chat, card id and content.
    files: Recent<(i64, String, u64), i32>,
    /// What each message shows.
    drawn: Recent<MessageRef, Arc<tokio::sync::Mutex<Option<SentCard>>>>,
    /// Chats that Telegram wants nothing sent to before then.
    quiet: Recent<i64, Instant>,
}

/// The newest revision of a card that a message shows, and how: views, menus and muted cards come
/// and go without a new revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SentCard {
    revision: u32,
    look: u64,
}

impl SentCard {
    fn of(card: &Card, menu: Menu) -> Self {
        // Structs of texts and numbers are always written.
        let card_json = serde_json::to_string(card).unwrap_or_default();
        let look = BuildHasherDefault::<DefaultHasher>::default().hash_one((card_json, menu));
        Self { revision: card.revision, look }
    }
}

impl CardSender {
    pub(crate) fn new(api: BotApi) -> Self {
        let memory = Memory {
            posted: Recent::new(REMEMBERED),
            files: Recent::new(REMEMBERED),
            drawn: Recent::new(REMEMBERED),
            quiet: Recent::new(REMEMBERED),
        };
        Self { api, bell: Bell::default(), memory: Mutex::new(memory) }
    }

    /// Posts a card: first the files with what it cannot show, then the card as a reply to the last
    /// of them. So a card is never shown without what belongs to it, and a repeated post goes on
    /// where the first one failed.
    pub(crate) async fn post(&self, target: &Target, card: &Card) -> Result<MessageRef, SendError> {
        let chat = Chat::parse(target)?;
        let key = (target.0.clone(), card.id.clone());
        if let Some(message) = locked(&self.memory).posted.get(&key) {
            return Ok(message.clone());
        }
        self.may_send(chat.id)?;
        let rendered = render(card, Menu::Main, Timestamp::now());
        let mut above = None;
        for file in &rendered.files {
            above = Some(self.send_file_once(chat, card, file, None).await?);
        }
        let silent = !self.bell.notifies(target, card.tone);
        let sent = self.send(chat, &rendered, above, silent).await;
        let sent = sent.map_err(|failure| self.remembered(failure, chat))?;
        let message = MessageAddress { chat: chat.id, message: sent.message_id }.message_ref();
        let mut memory = locked(&self.memory);
        memory.posted.put(key, message.clone());
        memory.drawn.put(message.clone(), Arc::new(Some(SentCard::of(card, Menu::Main)).into()));
        Ok(message)
    }

    /// Redraws a message, unless it shows a later revision of the card already, or exactly this.
    pub(crate) async fn update(&self, message: &MessageRef, card: &Card) -> Result<(), SendError> {
        self.show(message, card, Menu::Main).await
    }

    /// The same with one of the card's keyboards.
    pub(crate) async fn show(
        &self,
        message: &MessageRef,
        card: &Card,
        menu: Menu,
    ) -> Result<(), SendError> {
        let place = MessageAddress::parse(message)?;
        let drawn = {
            let mut memory = locked(&self.memory);
            match memory.drawn.get(message) {
                Some(drawn) => drawn.clone(),
                None => {
                    let drawn = Arc::default();
                    memory.drawn.put(message.clone(), Arc::clone(&drawn));
                    drawn
                }
            }
        };
        // Held while the edit is under way: Telegram keeps no order between two edits of a message.
        let mut drawn = drawn.lock().await;
        let new = SentCard::of(card, menu);
        if drawn.is_some_and(|old| old == new || old.revision > new.revision) {
            return Ok(());
        }
        self.may_send(place.chat)?;
        let rendered = render(card, menu, Timestamp::now());
        // A change can bring a text that the message cannot show, such as the next question.
        for file in &rendered.files {
            let chat = Chat { id: place.chat, topic: None };
            self.send_file_once(chat, card, file, Some(place.message)).await?;
        }
        match self.edit(place, &rendered).await {
            Ok(()) => {}
            Err(failure) if edit_needless(&failure) => {
                tracing::debug!(message = message.0, ?failure, "nothing to edit");
            }
            Err(failure) => {
                return Err(self.remembered(failure, Chat { id: place.chat, topic: None }));
            }
        }
        *drawn = Some(new);
        Ok(())
    }

    /// Whether Telegram lets us send to this chat again: the core waits by itself, but a press
    /// brings a redraw beside it.
    pub(crate) fn may_send(&self, chat: i64) -> Result<(), SendError> {
        let until = locked(&self.memory).quiet.get(&chat).copied();
        let left = until.map(|until| until.duration_since(Instant::now()));
        match left.filter(|left| !left.is_zero()) {
            Some(left) => Err(in_chat(left)),
            None => Ok(()),
        }
    }

    /// Remembers how long Telegram wants nothing sent to a chat, where a failure says so.
    pub(crate) fn remember_silence(&self, failure: Failure, chat: i64) -> Failure {
        if let Some(after) = silence(&failure) {
            locked(&self.memory).quiet.put(chat, Instant::now() + after);
        }
        failure
    }

    /// What a failure means for the core; a time to wait is remembered for its chat.
    pub(crate) fn remembered(&self, failure: Failure, chat: Chat) -> SendError {
        let error = send_error(failure, chat);
        if let SendError::Retry { after, .. } = error {
            locked(&self.memory).quiet.put(chat.id, Instant::now() + after);
        }
        error
    }

    /// Sends a message that is no card.
    pub(crate) async fn send_text(
        &self,
        chat: Chat,
        message: &SendMessage,
    ) -> Result<(), SendError> {
        self.may_send(chat.id)?;
        let sent = self.api.call::<_, IgnoredAny>(message, PATIENCE).await;
        sent.map(drop).map_err(|failure| self.remembered(failure, chat))
    }

    async fn send_file_once(
        &self,
        chat: Chat,
        card: &Card,
        file: &TextFile,
        reply_to: Option<i32>,
    ) -> Result<i32, SendError> {
        let content = BuildHasherDefault::<DefaultHasher>::default().hash_one(file);
        let key = (chat.id, card.id.clone(), content);
        if let Some(message) = locked(&self.memory).files.get(&key) {
            return Ok(*message);
        }
        let sent = self.send_file(chat, file, reply_to).await;
        let sent = sent.map_err(|failure| self.remembered(failure, chat))?;
        locked(&self.memory).files.put(key, sent.message_id);
        Ok(sent.message_id)
    }

    async fn send_file(
        &self,
        chat: Chat,
        file: &TextFile,
        reply_to: Option<i32>,
    ) -> Result<Sent, Failure> {
        let part = Part::text(file.text.clone()).file_name(file.name.clone());
        let part = part.mime_str("text/plain; charset=utf-8");
        let part = part.map_err(|_| Failure::Unusable("text/plain is no type".to_owned()))?;
        let mut form = Form::new().text("chat_id", chat.id.to_string()).part("document", part);
        if let Some(topic) = chat.topic {
            form = form.text("message_thread_id", topic.to_string());
        }
        if let Some(id) = reply_to {
            let reply = json!({"message_id": id, "allow_sending_without_reply": true});
            form = form.text("reply_parameters", reply.to_string());
        }
        // The card rings; the file need not.
        form = form.text("disable_notification", "true");
        self.api.upload("SendDocument", form).await
    }

    async fn send(
        &self,
        chat: Chat,
        rendered: &Rendered,
        above: Option<i32>,
        silent: bool,
    ) -> Result<Sent, Failure> {
        let mut message = html_message(chat, rendered.page.html());
        message.disable_notification = silent.then_some(true);
        message.reply_parameters = above.map(reply_to);
        match self.api.call(&Keyed::new(&message, rendered), PATIENCE).await {
            Err(failure) if bad_formatting(&failure) => {
                tracing::warn!(?failure, "telegram cannot read a card's HTML");
                message.text = rendered.page.text();
                message.parse_mode = None;
                message.entities = Some(rendered.page.entities());
                self.api.call(&Keyed::new(&message, rendered), PATIENCE).await
            }
            answered => answered,
        }
    }

    /// Without a keyboard the edit takes the buttons away.
    async fn edit(&self, place: MessageAddress, rendered: &Rendered) -> Result<(), Failure> {
        let id = MessageId(place.message);
        let mut edit = EditMessageText::new(ChatId(place.chat), id, rendered.page.html())
            .parse_mode(ParseMode::Html)
            .link_preview_options(no_preview());
        let edited: Result<IgnoredAny, _> =
            match self.api.call(&Keyed::new(&edit, rendered), PATIENCE).await {
                Err(failure) if bad_formatting(&failure) => {
                    tracing::warn!(?failure, "telegram cannot read a card's HTML");
                    edit.text = rendered.page.text();
                    edit.parse_mode = None;
                    edit.entities = Some(rendered.page.entities());
                    self.api.call(&Keyed::new(&edit, rendered), PATIENCE).await
                }
                answered => answered,
            };
        edited.map(|_| ())
    }
}

/// A call with a card's buttons.
#[derive(Serialize)]
struct Keyed<'a, P> {
    #[serde(flatten)]
    call: &'a P,
    #[serde(skip_serializing_if = "Option::is_none")]
    reply_markup: Option<&'a Keyboard>,
}

impl<'a, P> Keyed<'a, P> {
    fn new(call: &'a P, rendered: &'a Rendered) -> Self {
        Self { call, reply_markup: rendered.keyboard.as_ref() }
    }
}

impl<P: Method> Method for Keyed<'_, P> {
    const NAME: &'static str = P::NAME;
}

/// A message to a chat, or to one topic of it.
pub(crate) fn html_message(chat: Chat, html: String) -> SendMessage {
    let mut message = SendMessage::new(ChatId(chat.id), html)
        .parse_mode(ParseMode::Html)
        .link_preview_options(no_preview());
    message.message_thread_id = chat.thread();
    message
}

/// In reply to a message, which may be gone.
pub(crate) fn reply_to(message: i32) -> ReplyParameters {
    ReplyParameters::new(MessageId(message)).allow_sending_without_reply()
}

/// A link in an agent's text must not fetch a picture into the chat.
fn no_preview() -> LinkPreviewOptions {
    LinkPreviewOptions {
        is_disabled: true,
        url: None,
        prefer_small_media: false,
        prefer_large_media: false,
        show_above_text: false,
    }
}

/// A reminder, before it is a reply.
// SECURITY: people are mentioned by their number; a name could be anybody's.
pub(crate) fn html(reminder: &Reminder) -> String {
    let mention = |it: &countersign_port::Mention| match it.id.parse::<i64>() {
        Ok(id) => format!(" <a href=\"tg://user?id={id}\">{}</a>", escape(&it.name)),
        Err(_) => String::new(),
    };
    let mentions: String = reminder.people.iter().map(mention).collect();
    format!("⏰ {}{mentions}", escape(&reminder.text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_port::Mention;

    #[test]
    fn a_reminder_mentions_people_by_their_numbers_and_nobody_else() {
        let person = |id: &str, name: &str| Mention { id: id.to_owned(), name: name.to_owned() };
        let people = vec![person("42", "Ana <b>"), person("@everyone", "x")];
        let reminder = Reminder { text: "2 < 3".to_owned(), people };
        let wanted = "⏰ 2 &lt; 3 <a href=\"tg://user?id=42\">Ana &lt;b&gt;</a>";
        assert_eq!(html(&reminder), wanted);
    }
}
