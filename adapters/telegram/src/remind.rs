//! Reminders of cards, and what answers nobody.

use crate::address::{Chat, MessageAddress};
use crate::api::PATIENCE;
use crate::commands::page;
use crate::page::escape;
use crate::send::{CardSender, no_preview};
use countersign_port::{
    CommandReply, MessageRef, Outcome, Reminder, ReplyPiece, SendError, Target,
};
use serde::de::IgnoredAny;
use teloxide::payloads::{SendMessage, SendMessageSetters as _};
use teloxide::types::{ChatId, MessageId, ParseMode, ReplyParameters};

impl CardSender {
    /// Reminds of a card, in reply to it.
    pub(crate) async fn remind(
        &self,
        target: &Target,
        message: &MessageRef,
        reminder: &Reminder,
    ) -> Result<(), SendError> {
        let (chat, card) = (Chat::parse(target)?, MessageAddress::parse(message)?);
        self.may_send(chat.id)?;
        let mut reply = SendMessage::new(ChatId(chat.id), html(reminder))
            .parse_mode(ParseMode::Html)
            .link_preview_options(no_preview())
            .reply_parameters(
                ReplyParameters::new(MessageId(card.message)).allow_sending_without_reply(),
            );
        reply.message_thread_id = chat.thread();
        let sent = self.api.call::<_, IgnoredAny>(&reply, PATIENCE).await;
        sent.map(drop).map_err(|failure| self.heeded(failure, chat))
    }
}

impl CardSender {
    /// Says something that answers nobody.
    pub(crate) async fn announce(
        &self,
        target: &Target,
        lines: &[Vec<ReplyPiece>],
    ) -> Result<(), SendError> {
        let chat = Chat::parse(target)?;
        self.may_send(chat.id)?;
        let said = CommandReply { outcome: Outcome::Noted, lines: lines.to_vec() };
        let mut message = SendMessage::new(ChatId(chat.id), page(&said).html())
            .parse_mode(ParseMode::Html)
            .link_preview_options(no_preview());
        message.message_thread_id = chat.thread();
        let sent = self.api.call::<_, IgnoredAny>(&message, PATIENCE).await;
        sent.map(drop).map_err(|failure| self.heeded(failure, chat))
    }
}

/// SECURITY: people are mentioned by their number; a name could be anybody's.
fn html(reminder: &Reminder) -> String {
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
