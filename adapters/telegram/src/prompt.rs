//! Free text: a prompt that is replied to.
//!
//! Telegram has no text fields. The presser gets a message that opens the reply box; the reply to
//! that very message is the text. The prompt's last line holds all that is needed to know the reply
//! again, so it works after a restart; only a message that our own bot wrote, in the shape of a
//! prompt, is read.

use crate::address::MessageAddress;
use crate::api::BotApi;
use crate::page::{Page, Style, escape};
use crate::send::{CardSender, no_preview};
use crate::tell::say;
use countersign_port::line;
use std::sync::Arc;
use teloxide::payloads::{SendMessage, SendMessageSetters as _};
use teloxide::types::{
    ChatId, ForceReply, Message, MessageId, ParseMode, ReplyMarkup, ReplyParameters, ThreadId,
    User, UserId,
};

// SECURITY: no card begins like this (they begin with their tone's sign), and a file has no text,
// so nothing that an agent writes can pass for a prompt.
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
    /// The prompt's last line.
    fn reference(&self) -> String {
        format!("ref {} {} {}", self.token, self.card, self.person)
    }

    /// The prompt that a message is, if our bot `me` wrote it as one.
    pub(crate) fn read(message: &Message, me: UserId) -> Option<Self> {
        if message.from.as_ref().map(|from| from.id) != Some(me) || message.sender_chat.is_some() {
            return None;
        }
        Self::parse(message.text()?)
    }

    fn parse(text: &str) -> Option<Self> {
        let (_, reference) = text.strip_prefix(SIGN)?.rsplit_once('\n')?;
        let mut parts = reference.strip_prefix("ref ")?.split(' ');
        let token = parts.next().filter(|token| is_token(token))?.to_owned();
        let card = parts.next()?.parse().ok()?;
        let person = parts.next()?.parse().ok()?;
        parts.next().is_none().then_some(Self { token, card, person })
    }
}

/// Asks `person` for text. Failures are logged: the person can press again.
pub(crate) async fn ask_for_text(
    api: BotApi,
    cards: Arc<CardSender>,
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
    rest.add(Style::Plain, "\n\nReply to this message with your answer.\n");
    rest.add(Style::Code, prompt.reference());
    let mut message =
        SendMessage::new(ChatId(place.chat), format!("{SIGN} {mention}{}", rest.html()))
            .parse_mode(ParseMode::Html)
            .link_preview_options(no_preview())
            .reply_parameters(
                ReplyParameters::new(MessageId(place.message)).allow_sending_without_reply(),
            )
            .reply_markup(ReplyMarkup::ForceReply(
                ForceReply::new().selective().input_field_placeholder("Your answer".to_owned()),
            ));
    message.message_thread_id = thread;
    if let Err(failure) = say(&api, &cards, &message, ChatId(place.chat)).await {
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
    use super::*;

    fn prompt() -> Prompt {
        Prompt { token: "k3J9sQ0aZ_-b4LmX7yTn2w.1.t".into(), card: 17, person: 4211 }
    }

    #[test]
    fn a_prompt_is_read_from_its_own_words_alone() {
        let text = format!("✍️ Ana: What instead?\n\nReply.\n{}", prompt().reference());
        assert_eq!(Prompt::parse(&text), Some(prompt()));
    }

    #[test]
    fn nothing_else_is_a_prompt() {
        let reference = prompt().reference();
        for text in [
            reference.clone(),
            format!("🔔 a card\n{reference}"),
            format!("✍️ x\n{reference} more"),
            format!("✍️ x\n{reference}\n"),
            format!("✍️ x {reference}"),
            "✍️ x\nref a b c".to_owned(),
            "✍️ x\nref a;b 1 2".to_owned(),
            "✍️ x\nref  1 2".to_owned(),
            "✍️ x\nref a 1 -2".to_owned(),
            String::new(),
        ] {
            assert_eq!(Prompt::parse(&text), None, "{text}");
        }
    }
}
