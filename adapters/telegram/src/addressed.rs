//! What of the messages in a chat is meant for the bot.

use crate::address::MessageAddress;
use countersign_port::BotCommand;
use teloxide::types::{Message, User};

/// What a message wants of the bot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Addressed {
    /// A command of the core's, what follows it, and the message of ours that it replies to.
    Command { name: &'static str, rest: String, at: Option<MessageAddress> },
    /// A reply to a message of ours that is no prompt.
    Reply { at: MessageAddress, text: String },
    /// Words for the bot that are neither.
    Words,
}

impl Addressed {
    /// Reads a message; `None` where it is not meant for the bot. An ordinary message in a group
    /// never is.
    pub(crate) fn read(message: &Message, me: &User, commands: &[BotCommand]) -> Option<Self> {
        let text = message.text()?;
        let ours = message.reply_to_message().filter(|to| {
            to.from.as_ref().is_some_and(|from| from.id == me.id) && to.sender_chat.is_none()
        });
        let at = ours.map(|to| MessageAddress::of(to.chat.id, to.id));
        let bot = me.username.as_deref().unwrap_or_default();
        let private = message.chat.is_private();
        if let Some(slashed) = text.strip_prefix('/') {
            let end = slashed.find(char::is_whitespace).unwrap_or(slashed.len());
            let (word, rest) = slashed.split_at_checked(end)?;
            let (name, addressee) = match word.split_once('@') {
                Some((name, addressee)) => (name, Some(addressee)),
                None => (word, None),
            };
            // Another bot's.
            if addressee.is_some_and(|addressee| !addressee.eq_ignore_ascii_case(bot)) {
                return None;
            }
            let known = commands.iter().find(|it| it.name.eq_ignore_ascii_case(name));
            return match known {
                Some(it) => Some(Self::Command { name: it.name, rest: rest.trim().to_owned(), at }),
                None => (private || addressee.is_some() || at.is_some()).then_some(Self::Words),
            };
        }
        let mentioned = || {
            let mention = format!("@{bot}").to_lowercase();
            !bot.is_empty() && text.to_lowercase().contains(&mention)
        };
        match at {
            Some(at) => Some(Self::Reply { at, text: text.to_owned() }),
            None => (private || mentioned()).then_some(Self::Words),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

    use super::*;
    use serde_json::{Value, json};

    const DENY: BotCommand = BotCommand { name: "deny", description: "No.", parameters: &[] };

    fn read(text: &str, chat: i64, to: Value) -> Option<Addressed> {
        let bot = json!({"id": 7, "is_bot": true, "first_name": "b", "username": "Our_bot"});
        let kind = if chat > 0 { "private" } else { "supergroup" };
        let chat = json!({"id": chat, "type": kind, "title": "Team", "first_name": "Ana"});
        let from = json!({"id": 42, "is_bot": false, "first_name": "Ana"});
        let mut message = json!({"message_id": 9, "date": 0, "chat": chat, "from": from,
            "text": text});
        if !to.is_null() {
            let writer = if to == "us" { bot.clone() } else { from };
            message["reply_to_message"] = json!({"message_id": 5, "date": 0, "chat": chat,
                "from": writer, "text": "a card"});
        }
        let message = serde_json::from_value(message).unwrap();
        Addressed::read(&message, &serde_json::from_value(bot).unwrap(), &[DENY])
    }

    #[test]
    fn in_a_group_only_commands_replies_and_mentions_are_for_the_bot() {
        let place = MessageAddress { chat: -1, message: 5 };
        let deny =
            |rest: &str, at| Some(Addressed::Command { name: "deny", rest: rest.to_owned(), at });
        let rows = [
            ("/deny a7f3 not now", json!(null), deny("a7f3 not now", None)),
            ("/DENY@our_BOT a7f3", json!(null), deny("a7f3", None)),
            ("/deny@other_bot a7f3", json!(null), None),
            ("/deny not\nnow", json!("us"), deny("not\nnow", Some(place))),
            ("/deny", json!("them"), deny("", None)),
            ("/start", json!(null), None),
            ("/start@our_bot", json!(null), Some(Addressed::Words)),
            ("hello", json!(null), None),
            ("hello @our_bot", json!(null), Some(Addressed::Words)),
            ("no", json!("us"), Some(Addressed::Reply { at: place, text: "no".to_owned() })),
            ("no", json!("them"), None),
        ];
        for (text, to, wanted) in rows {
            assert_eq!(read(text, -1, to), wanted, "{text}");
        }
        assert_eq!(read("hello", 42, json!(null)), Some(Addressed::Words));
        assert_eq!(read("/nothing", 42, json!(null)), Some(Addressed::Words));
    }
}
