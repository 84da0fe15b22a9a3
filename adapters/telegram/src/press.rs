//! What people do: buttons, replies to prompts, questions for an id.

use crate::address::MessageAddress;
use crate::admins::Admins;
use crate::card::Menu;
use crate::prompt::ask_for_text;
use crate::send::CardSender;
use crate::tell::{answer, answer_view, topic};
use countersign_port::{Card, ChannelReplyLimit, Outcome, Press, Presses};
use serde::Deserialize as _;
use serde_json::Value;
use std::sync::Arc;
use teloxide::types::{
    CallbackQuery, CallbackQueryId, InlineKeyboardButtonKind, Message, Update, UpdateKind, User,
};
use tokio::task::JoinSet;

/// Hands what people do to the core, and tells them what came of it.
pub(crate) struct PressReporter {
    pub(crate) admins: Arc<Admins>,
    pub(crate) cards: Arc<CardSender>,
    pub(crate) presses: Arc<dyn Presses>,
    pub(crate) me: User,
    pub(crate) reply_limit: ChannelReplyLimit,
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
            let query = CallbackQueryId(query.to_owned());
            self.answer(query, "This press could not be read, so nothing changed.", true);
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
            return self.answer(query.id, refusal, true);
        }
        let Some(token) = query.data.clone() else {
            return self.answer(query.id, "This button does nothing here.", true);
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
        self.answer(query.id, &receipt.sentence, alert);
        let Some(place) = place else { return };
        if receipt.outcome == Outcome::TextWanted {
            let me = self.me.clone();
            let cards = Arc::clone(&self.cards);
            let from = query.from;
            let sentence = receipt.sentence.clone();
            self.telling.spawn(ask_for_text(cards, me, place, thread, from, token, sentence));
        }
        self.redraw(place, receipt.card);
    }

    /// Tells a presser alone.
    fn answer(&mut self, query: CallbackQueryId, words: &str, alert: bool) {
        let cards = Arc::clone(&self.cards);
        let words = words.to_owned();
        self.telling.spawn(async move { answer(&cards.api, query, words, alert).await });
    }

    /// Shows the other keyboard of a card: nothing is decided by it.
    fn open_menu(
        &mut self,
        query: CallbackQueryId,
        place: Option<MessageAddress>,
        card: String,
        menu: Menu,
    ) {
        let presses = Arc::clone(&self.presses);
        let cards = Arc::clone(&self.cards);
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
                return answer(&cards.api, query, gone, true).await;
            };
            let shown = cards.show(&place.message_ref(), &card, menu).await;
            answer_view(&cards.api, query, String::new(), shown).await;
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
        let cards = Arc::clone(&self.cards);
        self.telling.spawn(async move {
            let shown = cards.update(&place.message_ref(), &card).await;
            answer_view(&cards.api, query, sentence, shown).await;
        });
    }

    /// Redraws the message that was pressed, which the core may not know: a card whose sending
    /// seemed to fail can be there twice.
    pub(crate) fn redraw(&mut self, place: MessageAddress, card: Option<Card>) {
        let Some(card) = card else { return };
        let cards = Arc::clone(&self.cards);
        self.telling.spawn(async move {
            if let Err(error) = cards.update(&place.message_ref(), &card).await {
                tracing::debug!(%error, "a pressed card is left to the core to redraw");
            }
        });
    }
}

/// Why a press does not come from a person in front of the card; `None` where it does.
// SECURITY: a forwarded card shows what it showed when it was forwarded, to people who are not in
// its chat.
pub(crate) fn refused(query: &CallbackQuery) -> Option<&'static str> {
    if query.from.is_bot {
        return Some("A bot cannot answer, so nothing changed.");
    }
    let forwarded = query.regular_message().is_some_and(|it| it.forward_origin().is_some());
    forwarded.then_some("This is a forwarded copy, so nothing changed. Press on the card itself.")
}

/// Why a message does not hold its writer's own words, written now; `None` where it does.
// SECURITY: what is forwarded or sent for somebody has their name, and another's words.
pub(crate) fn second_hand(message: &Value) -> Option<&'static str> {
    let fields = message.as_object()?;
    let has = |names: &[&str]| {
        let is_set = |value: &Value| !matches!(value, Value::Null | Value::Bool(false));
        fields
            .iter()
            .any(|(key, value)| is_set(value) && names.iter().any(|name| key.starts_with(name)))
    };
    // Older servers name parts of the origin instead (`forward_from`, `forward_date`).
    if has(&["forward_", "is_automatic_forward"]) {
        return Some("This is a forwarded message, so nothing changed. Write it yourself.");
    }
    if has(&["via_", "sender_business_", "guest_", "is_from_offline"]) {
        return Some("This was sent for you, so nothing changed. Write it yourself.");
    }
    if has(&["external_reply", "quote", "reply_to_story"]) {
        return Some(
            "This quotes something, so nothing changed. Write it again without the quote.",
        );
    }
    has(&["edit_"]).then_some("This was edited, so nothing changed. Write it anew.")
}

/// Whether a message holds buttons of this card.
// SECURITY: data can be forged, so that a card could be opened under another one's text.
pub(crate) fn shows_card(message: Option<&Message>, card: &str) -> bool {
    let keyboard = message.and_then(Message::reply_markup);
    let mut buttons =
        keyboard.iter().flat_map(|keyboard| keyboard.inline_keyboard.iter().flatten());
    buttons.any(|button| match &button.kind {
        InlineKeyboardButtonKind::CallbackData(data) => {
            data.strip_prefix(card).is_some_and(|rest| rest.starts_with(['.', ':']))
        }
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use serde_json::json;

    fn query(is_bot: bool, forwarded: Option<Value>) -> CallbackQuery {
        let chat = json!({"id": -42, "type": "supergroup", "title": "Team"});
        // A date of 0 is that of a message which the bot cannot see any more.
        let mut message = json!({"message_id": 9, "date": 7, "chat": chat, "text": "a card"});
        if let Some(origin) = forwarded {
            message["forward_origin"] = origin;
        }
        let from = json!({"id": 42, "is_bot": is_bot, "first_name": "Ana"});
        let query = json!({"id": "1", "from": from, "message": message, "chat_instance": "7",
            "data": "token"});
        serde_json::from_value(query).unwrap()
    }

    #[test]
    fn bots_and_forwarded_cards_are_refused_with_a_sentence() {
        let bot = json!({"id": 1, "is_bot": true, "first_name": "countersign"});
        let origin = json!({"type": "user", "date": 0, "sender_user": bot});
        let forwarded = "This is a forwarded copy, so nothing changed. Press on the card itself.";
        assert_eq!(refused(&query(false, None)), None);
        assert_eq!(refused(&query(false, Some(origin))), Some(forwarded));
        let bot = "A bot cannot answer, so nothing changed.";
        assert_eq!(refused(&query(true, None)), Some(bot));
    }

    #[test]
    fn only_what_a_person_writes_now_in_their_own_name_is_theirs() {
        let plain = json!({"message_id": 9, "date": 7, "text": "/approve a7f3", "entities": [],
            "from": {"id": 42}, "chat": {"id": -42}, "reply_to_message": {"forward_origin": {}},
            "is_topic_message": true, "is_automatic_forward": false, "sender_boost_count": 2});
        assert_eq!(second_hand(&plain), None);
        for (field, word) in [
            ("forward_origin", "forwarded"),
            ("forward_from", "forwarded"),
            ("forward_date", "forwarded"),
            ("forward_sender_name", "forwarded"),
            ("is_automatic_forward", "forwarded"),
            ("via_bot", "sent for you"),
            ("sender_business_bot", "sent for you"),
            ("guest_query_id", "sent for you"),
            ("is_from_offline", "sent for you"),
            ("external_reply", "quotes"),
            ("quote", "quotes"),
            ("reply_to_story", "quotes"),
            ("edit_date", "edited"),
        ] {
            let mut message = plain.clone();
            message[field] = json!(true);
            let why = second_hand(&message).unwrap_or_default();
            assert!(why.contains(word) && why.contains("nothing changed"), "{field}: {why}");
        }
    }
}
