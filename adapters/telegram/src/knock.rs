//! Pairing codes in messages: `/start CODE` in private, `/start@bot CODE` in a group, or the code
//! alone, addressed to the bot.

use crate::address::Chat;
use crate::telling::topic;
use countersign_port::{Knock, Presser, pairing_code};
use teloxide::types::{Message, User};

/// The pairing code that a message holds for the bot of this name.
pub(crate) fn code_in<'m>(message: &'m Message, bot: &str) -> Option<&'m str> {
    let text = message.text()?;
    let mention = format!("@{bot}").to_lowercase();
    let is_addressed = match text.split_whitespace().next()?.split_once('@') {
        Some(("/start", name)) => name.eq_ignore_ascii_case(bot),
        _ => text.starts_with("/start ") || text.to_lowercase().contains(&mention),
    };
    (message.chat.is_private() || is_addressed).then(|| pairing_code(text))?
}

/// The code with who sent it and where.
pub(crate) fn knock(message: &Message, presser: Presser, code: &str) -> Knock {
    let chat = Chat { id: message.chat.id.0, topic: topic(message).map(|it| it.0.0) };
    let place = match (message.chat.title(), chat.topic) {
        (None, _) => "a private chat".to_owned(),
        (Some(title), None) => format!("the group “{title}”"),
        (Some(title), Some(topic)) => format!("the group “{title}”, topic {topic}"),
    };
    Knock { presser, target: chat.target(), place, code: code.to_owned() }
}

/// A person, as Telegram vouches for them.
pub(crate) fn presser(user: &User) -> Presser {
    let name = match &user.username {
        Some(username) => format!("{} (@{username})", user.full_name()),
        None => user.full_name(),
    };
    Presser { id: user.id.0.to_string(), name, roles: Vec::new() }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use serde_json::json;

    fn message(text: &str, chat: i64) -> Message {
        let kind = if chat > 0 { "private" } else { "supergroup" };
        let chat = json!({"id": chat, "type": kind, "title": "Team", "first_name": "Ana"});
        let from = json!({"id": 42, "is_bot": false, "first_name": "Ana"});
        let message = json!({"message_id": 9, "date": 0, "chat": chat, "from": from, "text": text});
        serde_json::from_value(message).unwrap()
    }

    #[test]
    fn a_code_counts_where_it_is_addressed_to_the_bot() {
        let read = |text: &str, chat| code_in(&message(text, chat), "our_bot").map(str::to_owned);
        let code = Some("pair-7x".to_owned());
        for (text, in_private, in_group) in [
            ("/start pair-7x", true, true),
            ("/start@Our_bot pair-7x", true, true),
            ("/start@other_bot pair-7x", true, false),
            ("pair-7x", true, false),
            ("@our_bot pair-7x", true, true),
            ("/start", false, false),
            ("/started pair-7x", true, false),
        ] {
            assert_eq!(read(text, 42), code.clone().filter(|_| in_private), "{text}");
            assert_eq!(read(text, -42), code.clone().filter(|_| in_group), "{text}");
        }
    }

    #[test]
    fn a_knock_names_the_place_as_people_know_it() {
        let ana = Presser { id: "42".to_owned(), name: "Ana".to_owned(), roles: Vec::new() };
        let of = |chat| knock(&message("x", chat), ana.clone(), "pair-7x");
        assert_eq!((of(42).target.0.as_str(), of(42).place.as_str()), ("42", "a private chat"));
        let group = of(-42);
        assert_eq!((group.target.0.as_str(), group.place.as_str()), ("-42", "the group “Team”"));
    }
}
