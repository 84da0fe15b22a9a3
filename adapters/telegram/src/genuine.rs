//! Whether a press is that of a person on the card itself.

use serde_json::Value;
use teloxide::types::{CallbackQuery, InlineKeyboardButtonKind, Message};

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
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]
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
