//! Whether a press is that of a person on the card itself.

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
    use serde_json::{Value, json};

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
}
