//! What people write: commands, replies, pairing codes, and `/start` or `/id` of a newcomer. A
//! pairing code comes as `/start CODE` in private, `/start@bot CODE` in a group, or alone, addressed
//! to the bot.

use crate::address::{Chat, MessageAddress};
use crate::page::{Page, Style};
use crate::press::PressReporter;
use crate::prompt::Prompt;
use crate::tell::{Audience, page, tell, topic};
use countersign_port::{
    BotCommand, Outcome, Presser, TextReply, Written, WrittenWords, hand_over, pairing_code,
};
use std::sync::Arc;
use teloxide::types::{Message, User};
use tokio::time::Instant;

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

/// A person, as Telegram vouches for them.
pub(crate) fn presser(user: &User) -> Presser {
    let name = match &user.username {
        Some(username) => format!("{} (@{username})", user.full_name()),
        None => user.full_name(),
    };
    Presser { id: user.id.0.to_string(), name, roles: Vec::new() }
}

impl PressReporter {
    pub(crate) async fn message(&mut self, message: Message, second_hand: Option<&'static str>) {
        let prompt = message.reply_to_message().and_then(|it| Prompt::read(it, &self.me));
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
        // Everything else in the chat is not for us: an ordinary message is never an answer.
        let (words, at) = match (code, addressed) {
            (Some(code), _) => (Written::Code(code.to_owned()), None),
            (None, Some(Addressed::Command { name, rest, at })) => {
                (Written::Command(name.to_owned(), rest), at)
            }
            (None, Some(Addressed::Words)) => {
                (Written::Command(String::new(), String::new()), None)
            }
            (None, Some(Addressed::Reply { at, text })) => (Written::Reply(text), Some(at)),
            (None, None) => return,
        };
        self.written(&message, words, at).await;
    }

    /// Hands to the core what somebody wrote, and tells them what came of it.
    async fn written(&mut self, message: &Message, words: Written, at: Option<MessageAddress>) {
        let Some(person) = self.writer(message) else { return };
        let chat = Chat { id: message.chat.id.0, topic: topic(message).map(|it| it.0.0) };
        let presser = match words {
            // A stranger's: nobody is asked for their roles.
            Written::Code(_) => presser(&person),
            _ => self.presser(&person).await,
        };
        let seen_at = if message.chat.is_private() {
            Vec::new()
        } else {
            vec![chat.target(), Chat { topic: None, ..chat }.target()]
        };
        let target = chat.target();
        let place = place_in_words(message, chat.topic);
        let to = at.map(MessageAddress::message_ref);
        let written = WrittenWords { presser, target, place, seen_at, to, words };
        let (reply, shown) = hand_over(&*self.presses, written).await;
        let said = page(&reply);
        match reply.is_refusal() {
            _ if said.text().is_empty() => {}
            true => self.say(message, said),
            // A list concerns who asked for it, what was done everybody.
            false if reply.outcome == Outcome::Noted => {
                self.tell(message, said, Audience::Writer);
            }
            false => self.tell(message, said, Audience::Chat),
        }
        if let (Some(at), Some((_, card))) = (at, shown) {
            self.redraw(at, Some(card));
        }
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
        self.tell(message, plain(&receipt.sentence), Audience::Chat);
        self.redraw(place, receipt.card);
    }

    /// Who wrote a message, where it is known.
    // SECURITY: a person who writes as the chat cannot be told apart from its other admins.
    fn writer(&mut self, message: &Message) -> Option<User> {
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

    /// A person with the roles that they hold, as Telegram vouches for both.
    pub(crate) async fn presser(&self, user: &User) -> Presser {
        let roles =
            self.admins.known_roles(&self.cards.api, user.id.0, &self.presses.roles()).await;
        Presser { roles, ..presser(user) }
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

    /// Answers the message of somebody whom the core has listened to.
    fn tell(&mut self, to: &Message, page: Page, audience: Audience) {
        self.telling.spawn(tell(Arc::clone(&self.cards), to.clone(), page, audience));
    }

    fn say_words(&mut self, to: &Message, words: &str) {
        self.say(to, plain(words));
    }

    /// Answers a message that anybody could have written, so not too often.
    fn say(&mut self, to: &Message, page: Page) {
        if self.reply_limit.allows(&to.chat.id.to_string(), Instant::now()) {
            self.tell(to, page, Audience::Writer);
        }
    }
}

/// The place of a message, as people know it.
fn place_in_words(message: &Message, topic: Option<i32>) -> String {
    match (message.chat.title(), topic) {
        (None, _) => "a private chat".to_owned(),
        (Some(title), None) => format!("the group “{title}”"),
        (Some(title), Some(topic)) => format!("the group “{title}”, topic {topic}"),
    }
}

fn plain(words: &str) -> Page {
    let mut page = Page::default();
    page.add(Style::Plain, words);
    page
}

/// Whether a message asks who it comes from: `/id` anywhere, `/start` in a private chat.
pub(crate) fn asks_for_id(message: &Message, bot: &str) -> bool {
    let Some(word) = message.text().and_then(|text| text.split_whitespace().next()) else {
        return false;
    };
    let (command, addressee) = word.split_once('@').unwrap_or((word, bot));
    addressee.eq_ignore_ascii_case(bot)
        && (command == "/id" || command == "/start" && message.chat.is_private())
}

/// The answer: the ids, and the lines for the config.
pub(crate) fn introduction(chat: Chat, private: bool, person: Option<&User>) -> Page {
    let mut page = Page::default();
    page.add(Style::Bold, "countersign");
    match person {
        Some(person) => {
            page.add(Style::Plain, "\nYou are ");
            page.add(Style::Code, person.id.to_string());
        }
        None => page.add(
            Style::Plain,
            "\nYou write as an anonymous admin: ask again without that, or in a private chat with \
             me, to learn your own number",
        ),
    }
    let place = if private { ", this chat is " } else { "; this group is chat " };
    page.add(Style::Plain, place);
    page.add(Style::Code, chat.id.to_string());
    if let Some(topic) = chat.topic {
        page.add(Style::Plain, ", topic ");
        page.add(Style::Code, topic.to_string());
    }
    let topic = chat.topic.map(|topic| format!(", topic = {topic}")).unwrap_or_default();
    let targets = format!("targets = [{{ chat = {}{topic} }}]", chat.id);
    let approvers = person.map(|person| format!("telegram = [{}]", person.id));
    page.add(Style::Plain, ".\n\nOn the machine of the daemon, ");
    page.add(Style::Code, "countersign connect telegram");
    page.add(Style::Plain, if private { "" } else { " --group" });
    page.add(
        Style::Plain,
        " sets all of this up. By hand: to see cards here, write into \
        countersign.toml below ",
    );
    add_key(&mut page, "[telegram]", targets);
    if let Some(approvers) = approvers {
        page.add(Style::Plain, "\nTo answer them, below ");
        add_key(&mut page, "[approvers]", approvers);
    }
    page.add(Style::Plain, "\nThen run ");
    page.add(Style::Code, "countersign reload");
    page.add(Style::Plain, ".");
    page
}

/// A key and its table. They are apart because a file that has the table already takes no second
/// one.
fn add_key(page: &mut Page, table: &str, key: String) {
    page.add(Style::Code, table);
    page.add(Style::Plain, ":\n");
    page.add(Style::Pre, key);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "tests fail by panicking")]

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
    fn a_pairing_code_names_the_place_as_people_know_it() {
        assert_eq!(place_in_words(&message("x", 42), None), "a private chat");
        assert_eq!(place_in_words(&message("x", -42), None), "the group “Team”");
        assert_eq!(place_in_words(&message("x", -42), Some(7)), "the group “Team”, topic 7");
    }

    #[test]
    fn a_topic_of_a_group_is_named_for_the_config() {
        let page = introduction(Chat { id: -1001, topic: Some(7) }, false, None);
        let wanted = "countersign\nYou write as an anonymous admin: ask again without that, or \
                      in a private chat with me, to learn your own number; this group is chat \
                      -1001, topic 7.\n\nOn the machine of the daemon, countersign connect \
                      telegram --group sets all of this up. By hand: to see cards here, write into \
                      countersign.toml below [telegram]:\ntargets = [{ chat = -1001, topic = 7 }]\n\
                      Then run countersign reload.";
        assert_eq!(page.text(), wanted);
    }
}
