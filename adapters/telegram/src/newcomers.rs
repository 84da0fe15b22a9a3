//! Newcomers: people who send a pairing code, or greet the bot.

use crate::address::Chat;
use crate::hello::introduction;
use crate::knock::{knock, presser};
use crate::press::PressReporter;
use crate::telling::topic;
use countersign_port::{Outcome, Presser};
use teloxide::types::{Message, User};

impl PressReporter {
    /// A person with the roles that they hold, as Telegram vouches for both.
    pub(crate) async fn presser(&self, user: &User) -> Presser {
        let roles = self.admins.known_roles(&self.api, user.id.0, &self.presses.roles()).await;
        Presser { roles, ..presser(user) }
    }

    /// Hands a pairing code to the core.
    pub(crate) async fn pairing_code(&mut self, message: &Message, code: &str) {
        let Some(person) = self.writer(message) else { return };
        let receipt = self.presses.knock(knock(message, presser(&person), code)).await;
        match receipt.outcome {
            Outcome::Unknown => self.say_words(message, &receipt.sentence),
            _ => self.tell_words(message, &receipt.sentence),
        }
    }

    /// Tells somebody who greets the bot what to put into the config; an approver, that all is set
    /// up.
    pub(crate) fn introduce_chat(&mut self, message: &Message) {
        let chat = Chat { id: message.chat.id.0, topic: topic(message).map(|it| it.0.0) };
        let person = message.from.as_ref().filter(|_| message.sender_chat.is_none());
        let known = person.and_then(|it| self.presses.greeting(&presser(it), &chat.target()));
        match known {
            Some(words) => self.say_words(message, &words),
            None => self.say(message, introduction(chat, message.chat.is_private(), person)),
        }
    }
}
