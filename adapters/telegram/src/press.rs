//! What people do: buttons, replies to prompts, questions for an id.

use crate::address::{Chat, MessageAddress};
use crate::addressed::Addressed;
use crate::admins::Admins;
use crate::api::BotApi;
use crate::commands::page;
use crate::genuine::{refused, second_hand, shows_card};
use crate::hello::{ReplyLimit, asks_for_id};
use crate::keyboard::Menu;
use crate::knock::code_in;
use crate::page::{Page, Style};
use crate::prompt::{Prompt, ask_for_text};
use crate::send::CardSender;
use crate::telling::{answer, answer_view, tell, topic};
use countersign_port::{Card, CommandCall, Outcome, Press, Presses, Receipt, TextReply};
use serde::Deserialize as _;
use serde_json::Value;
use std::sync::Arc;
use std::time::Instant;
use teloxide::types::{CallbackQuery, CallbackQueryId, Message, Update, UpdateKind, User};
use tokio::task::JoinSet;

/// Hands what people do to the core, and tells them what came of it.
pub(crate) struct PressReporter {
    pub(crate) admins: Arc<Admins>,
    pub(crate) api: BotApi,
    pub(crate) cards: Arc<CardSender>,
    pub(crate) presses: Arc<dyn Presses>,
    pub(crate) me: User,
    pub(crate) reply_limit: ReplyLimit,
    /// What is being told to people; the next update does not wait for it.
    pub(crate) telling: JoinSet<()>,
}

impl PressReporter {
    /// Returns once the core has committed or refused what the update holds.
    pub(crate) async fn handle(&mut self, update: Value) {
        while self.telling.try_join_next().is_some() {}
        match Update::deserialize(&update).map(|update| update.kind) {
            Ok(UpdateKind::CallbackQuery(query)) => self.button(query).await,
            Ok(UpdateKind::Message(message)) => {
                self.message(message, update.get("message").and_then(second_hand)).await;
            }
            Ok(UpdateKind::Error(_)) | Err(_) => self.unreadable(&update),
            Ok(_) => {}
        }
    }

    /// FAIL-CLOSED: a press that cannot be read is refused, and its presser is told so.
    fn unreadable(&mut self, update: &Value) {
        tracing::warn!(update = ?update.get("update_id"), "telegram sent an update that cannot be \
         read");
        let query = update.pointer("/callback_query/id").and_then(Value::as_str);
        if let Some(query) = query {
            let words = "This press could not be read, so nothing changed.".to_owned();
            let query = CallbackQueryId(query.to_owned());
            self.telling.spawn(answer(self.api.clone(), query, words, true));
        }
    }

    async fn button(&mut self, query: CallbackQuery) {
        // An inaccessible message still has its chat and number.
        let place = query
            .message
            .as_ref()
            .map(|message| MessageAddress::of(message.chat().id, message.id()));
        let thread = query.regular_message().and_then(topic);
        if let Some(refusal) = refused(&query) {
            tracing::warn!(person = query.from.id.0, refusal, "a press is refused");
            let words = refusal.to_owned();
            self.telling.spawn(answer(self.api.clone(), query.id, words, true));
            return;
        }
        let Some(token) = query.data.clone() else {
            let nothing = "This button does nothing here.".to_owned();
            self.telling.spawn(answer(self.api.clone(), query.id, nothing, true));
            return;
        };
        if let Some((card, menu)) = Menu::opened(&token) {
            let (card, shown) = (card.to_owned(), shows_card(query.regular_message(), card));
            return self.open_menu(query.id, place.filter(|_| shown), card, menu);
        }
        let receipt = self
            .presses
            .press(Press {
                presser: self.presser(&query.from).await,
                message: place.map(MessageAddress::message_ref),
                token: token.clone(),
            })
            .await;
        if let (Outcome::Noted, Some(place), Some(card)) = (receipt.outcome, place, &receipt.card) {
            return self.show_view(query.id, place, card.clone(), receipt.sentence);
        }
        let alert =
            !matches!(receipt.outcome, Outcome::Applied | Outcome::Noted | Outcome::TextWanted);
        self.telling.spawn(answer(self.api.clone(), query.id, receipt.sentence.clone(), alert));
        let Some(place) = place else { return };
        if receipt.outcome == Outcome::TextWanted {
            let (api, cards) = (self.api.clone(), Arc::clone(&self.cards));
            let (from, sentence) = (query.from, receipt.sentence.clone());
            self.telling.spawn(ask_for_text(api, cards, place, thread, from, token, sentence));
        }
        self.redraw(place, receipt);
    }

    /// Shows the other keyboard of a card: nothing is decided by it.
    fn open_menu(
        &mut self,
        query: CallbackQueryId,
        place: Option<MessageAddress>,
        card: String,
        menu: Menu,
    ) {
        let (api, presses, cards) =
            (self.api.clone(), Arc::clone(&self.presses), Arc::clone(&self.cards));
        self.telling.spawn(async move {
            let card = match place {
                Some(place) => {
                    let shown = presses.card(&card, Some(&place.message_ref())).await;
                    shown.map(|card| (place, card))
                }
                None => None,
            };
            let Some((place, card)) = card else {
                let gone = "This card is no longer pending.".to_owned();
                return answer(api, query, gone, true).await;
            };
            let shown = cards.show(&place.message_ref(), &card, menu).await;
            answer_view(api, query, String::new(), shown).await;
        });
    }

    /// Shows a view of a card, such as the choice behind *Always…*.
    fn show_view(
        &mut self,
        query: CallbackQueryId,
        place: MessageAddress,
        card: Card,
        sentence: String,
    ) {
        let (api, cards) = (self.api.clone(), Arc::clone(&self.cards));
        self.telling.spawn(async move {
            let shown = cards.update(&place.message_ref(), &card).await;
            answer_view(api, query, sentence, shown).await;
        });
    }

    async fn message(&mut self, message: Message, second_hand: Option<&'static str>) {
        let prompt = message.reply_to_message().and_then(|it| Prompt::read(it, self.me.id));
        let bot = self.me.username.clone().unwrap_or_default();
        let code = code_in(&message, &bot);
        if prompt.is_none() && code.is_none() && asks_for_id(&message, &bot) {
            return self.introduce_chat(&message);
        }
        let addressed = Addressed::read(&message, &self.me, self.presses.commands());
        if let Some(why) = second_hand {
            if prompt.is_some() || code.is_some() || addressed.is_some() {
                tracing::warn!(chat = message.chat.id.0, why, "a message is refused");
                self.say_words(&message, why);
            }
            return;
        }
        if let Some(prompt) = prompt {
            return self.reply(&message, prompt).await;
        }
        if let Some(code) = code {
            return self.pairing_code(&message, code).await;
        }
        // Everything else in the chat is not for us: an ordinary message is never an answer.
        match addressed {
            Some(Addressed::Command { name, rest, at }) => {
                self.command(&message, name, rest, at).await;
            }
            Some(Addressed::Words) => self.command(&message, "", String::new(), None).await,
            Some(Addressed::Reply { at, text }) => self.plain_reply(&message, at, text).await,
            None => {}
        }
    }

    /// A command, or words without one.
    async fn command(
        &mut self,
        message: &Message,
        name: &str,
        rest: String,
        at: Option<MessageAddress>,
    ) {
        let Some(person) = self.writer(message) else { return };
        let chat = Chat { id: message.chat.id.0, topic: topic(message).map(|t| t.0.0) };
        let targets = match message.chat.is_private() {
            true => Vec::new(),
            false => vec![chat.target(), Chat { topic: None, ..chat }.target()],
        };
        let call = CommandCall {
            presser: self.presser(&person).await,
            targets,
            message: at.map(MessageAddress::message_ref),
            name: name.to_owned(),
            rest,
        };
        let reply = self.presses.command(call).await;
        if reply.lines.is_empty() {
            return;
        }
        let said = page(&reply);
        match reply.is_refusal() {
            true => self.say(message, said),
            false => {
                self.telling.spawn(tell(
                    self.api.clone(),
                    Arc::clone(&self.cards),
                    message.clone(),
                    said,
                ));
            }
        }
    }

    /// A reply to a message of ours for which nobody was asked.
    async fn plain_reply(&mut self, message: &Message, at: MessageAddress, text: String) {
        let Some(person) = self.writer(message) else { return };
        let receipt = self
            .presses
            .reply(TextReply {
                presser: self.presser(&person).await,
                message: Some(at.message_ref()),
                token: None,
                text,
            })
            .await;
        match receipt.outcome {
            Outcome::NotAllowed | Outcome::Unknown => self.say_words(message, &receipt.sentence),
            _ => self.tell_words(message, &receipt.sentence),
        }
        self.redraw(at, receipt);
    }

    /// Who wrote a message, where it is known.
    // SECURITY: a person who writes as the chat cannot be told apart from its other admins.
    pub(crate) fn writer(&mut self, message: &Message) -> Option<User> {
        let is_person = |from: &User| !from.is_bot && message.sender_chat.is_none();
        let person = message.from.clone().filter(is_person);
        if person.is_none() {
            tracing::warn!(chat = message.chat.id.0, "an anonymous message is refused");
            self.say_words(
                message,
                "This cannot be attributed to a person: write under your own name, not as the \
                 group or a channel.",
            );
        }
        person
    }

    /// A reply to one of our prompts.
    async fn reply(&mut self, message: &Message, prompt: Prompt) {
        let Some(person) = self.writer(message) else { return };
        if person.id.0 != prompt.person {
            tracing::warn!(person = person.id.0, "a reply to somebody else's prompt is refused");
            return self.say_words(
                message,
                "Only the person who pressed the button can answer here: press the button \
                 yourself.",
            );
        }
        let Some(text) = message.text() else {
            return self.say_words(message, "Please reply with a text.");
        };
        let place = MessageAddress { chat: message.chat.id.0, message: prompt.card };
        let receipt = self
            .presses
            .reply(TextReply {
                presser: self.presser(&person).await,
                message: Some(place.message_ref()),
                token: Some(prompt.token),
                text: text.to_owned(),
            })
            .await;
        self.tell_words(message, &receipt.sentence);
        self.redraw(place, receipt);
    }

    /// Redraws the message that was pressed, which the core may not know: a card whose sending
    /// seemed to fail can be there twice.
    fn redraw(&mut self, place: MessageAddress, receipt: Receipt) {
        let Some(card) = receipt.card else { return };
        let cards = Arc::clone(&self.cards);
        self.telling.spawn(async move {
            if let Err(error) = cards.update(&place.message_ref(), &card).await {
                tracing::debug!(%error, "a pressed card is left to the core to redraw");
            }
        });
    }

    /// Answers the message of somebody whom the core has listened to.
    pub(crate) fn tell_words(&mut self, to: &Message, words: &str) {
        let mut page = Page::default();
        page.add(Style::Plain, words);
        self.telling.spawn(tell(self.api.clone(), Arc::clone(&self.cards), to.clone(), page));
    }

    pub(crate) fn say_words(&mut self, to: &Message, words: &str) {
        let mut page = Page::default();
        page.add(Style::Plain, words);
        self.say(to, page);
    }

    /// Answers a message that anybody could have written, so not too often.
    pub(crate) fn say(&mut self, to: &Message, page: Page) {
        if self.reply_limit.allows(to.chat.id.0, Instant::now()) {
            self.telling.spawn(tell(self.api.clone(), Arc::clone(&self.cards), to.clone(), page));
        }
    }
}
