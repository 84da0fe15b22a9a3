//! Free text: a prompt that is replied to.
//!
//! Telegram has no text fields. The presser gets a message that opens the reply box; the reply to
//! that very message is the text. The link of the prompt's sign, which leads to the bot, holds all
//! that is needed to know the reply again, so it works after a restart; only a message that our own
//! bot wrote, in the shape of a prompt, is read.

use crate::address::{Chat, MessageAddress};
use crate::page::{Page, Style, escape};
use crate::send::{CardSender, html_message, reply_to};
use crate::tell::say;
use countersign_port::line;
use std::sync::Arc;
use teloxide::types::{
    ChatId, ForceReply, Message, MessageEntity, MessageEntityKind, ReplyMarkup, ThreadId, User,
};

// SECURITY: no card begins like this (they begin with their tone's sign) or with a link, and a file
// has no text, so nothing that an agent writes can pass for a prompt.
const SIGN: &str = "✍️";

/// What a prompt asks for, and of whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Prompt {
    /// The button that asked for text.
    pub(crate) token: String,
    /// The card's message, in the prompt's chat.
    pub(crate) card: i32,
    /// Who pressed; nobody else may answer.
    pub(crate) person: u64,
}

impl Prompt {
    /// What the prompt's sign links to.
    fn link(&self, bot: &str) -> String {
        format!("https://t.me/{bot}?reply={}~{}~{}", self.token, self.card, self.person)
    }

    /// The prompt that a message is, if our bot `me` wrote it as one.
    pub(crate) fn read(message: &Message, me: &User) -> Option<Self> {
        if message.from.as_ref().map(|from| from.id) != Some(me.id) || message.sender_chat.is_some()
        {
            return None;
        }
        Self::parse(message.text()?, message.entities()?.first()?)
    }

    fn parse(text: &str, first: &MessageEntity) -> Option<Self> {
        let sign = (0, SIGN.encode_utf16().count());
        let is_sign = text.starts_with(SIGN) && (first.offset, first.length) == sign;
        let MessageEntityKind::TextLink { url } = &first.kind else { return None };
        if !is_sign || url.host_str() != Some("t.me") {
            return None;
        }
        let (_, reference) = url.query_pairs().find(|(name, _)| name == "reply")?;
        let mut parts = reference.split('~');
        let token = parts.next().filter(|token| is_token(token))?.to_owned();
        let card = parts.next()?.parse().ok()?;
        let person = parts.next()?.parse().ok()?;
        parts.next().is_none().then_some(Self { token, card, person })
    }
}

/// Asks `person` for text. Failures are logged: the person can press again.
pub(crate) async fn ask_for_text(
    cards: Arc<CardSender>,
    me: User,
    place: MessageAddress,
    thread: Option<ThreadId>,
    person: User,
    token: String,
    sentence: String,
) {
    if !is_token(&token) {
        tracing::warn!("a button that asks for text has a token that cannot be put in a prompt");
        return;
    }
    let prompt = Prompt { token, card: place.message, person: person.id.0 };
    let name: String = line(&person.full_name()).chars().take(64).collect();
    let name = if name.trim().is_empty() { person.id.to_string() } else { name };
    let mention = format!("<a href=\"tg://user?id={}\">{}</a>", person.id, escape(&name));
    let mut rest = Page::default();
    // SECURITY: the sentence may be an agent's question; as code it pings nobody and links nowhere.
    rest.add(Style::Plain, ": ");
    rest.add(Style::Code, sentence);
    rest.add(Style::Plain, "\n\nReply to this message with your answer.");
    let link = prompt.link(me.username.as_deref().unwrap_or_default());
    let sign = format!("<a href=\"{}\">{SIGN}</a>", escape(&link));
    let chat = Chat { id: place.chat, topic: thread.map(|thread| thread.0.0) };
    let mut message = html_message(chat, format!("{sign} {mention}{}", rest.html()));
    message.reply_parameters = Some(reply_to(place.message));
    let field = ForceReply::new().selective().input_field_placeholder("Your answer".to_owned());
    message.reply_markup = Some(ReplyMarkup::ForceReply(field));
    if let Err(failure) = say(&cards, &message, ChatId(place.chat)).await {
        tracing::warn!(?failure, chat = place.chat, "a prompt for text could not be sent");
    }
}

/// As the port pins it.
fn is_token(token: &str) -> bool {
    (1..=40).contains(&token.len())
        && token.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;

    const TEXT: &str = "✍️ Ana: What instead?\n\nReply.";

    fn prompt() -> Prompt {
        Prompt { token: "k3J9sQ0aZ_-b4LmX7yTn2w.1.t".into(), card: 17, person: 4211 }
    }

    fn linked(url: &str, offset: usize, length: usize) -> MessageEntity {
        MessageEntity::text_link(url.parse().unwrap(), offset, length)
    }

    #[test]
    fn a_prompt_is_read_from_the_link_of_its_sign_alone() {
        let link = prompt().link("our_bot");
        assert_eq!(Prompt::parse(TEXT, &linked(&link, 0, 2)), Some(prompt()));
        assert!(!TEXT.contains(&prompt().token));
    }

    #[test]
    fn nothing_else_is_a_prompt() {
        let link = prompt().link("our_bot");
        for (text, entity) in [
            ("🔔 a card", linked(&link, 0, 2)),
            (TEXT, linked(&link, 3, 3)),
            (TEXT, linked(&link.replace("t.me", "t.example"), 0, 2)),
            (TEXT, linked(&format!("{link}~9"), 0, 2)),
            (TEXT, linked("https://t.me/our_bot?reply=a~1~-2", 0, 2)),
            (TEXT, linked("https://t.me/our_bot?reply=a;b~1~2", 0, 2)),
            (TEXT, linked("https://t.me/our_bot?reply=~1~2", 0, 2)),
            (TEXT, MessageEntity::bold(0, 2)),
        ] {
            assert_eq!(Prompt::parse(text, &entity), None, "{text} {entity:?}");
        }
    }
}
