//! `/start` and `/id`: what a newcomer puts into the config.

use crate::address::Chat;
use crate::page::{Page, Style};
use crate::recent::Recent;
use std::time::{Duration, Instant};
use teloxide::types::{Message, User};

/// One answer a chat in this time.
const PER_CHAT: Duration = Duration::from_secs(5);
/// One answer in this time, to all together.
const OVERALL: Duration = Duration::from_millis(500);

/// Keeps strangers from making the bot talk: what it may say where nobody pressed a button.
pub(crate) struct ReplyLimit {
    chats: Recent<i64, Instant>,
    last: Option<Instant>,
}

impl ReplyLimit {
    pub(crate) fn new() -> Self {
        Self { chats: Recent::new(1_024), last: None }
    }

    /// Whether the bot may say something in this chat now; a yes is counted.
    pub(crate) fn allows(&mut self, chat: i64, now: Instant) -> bool {
        let soon =
            |last: Option<&Instant>, gap| last.is_some_and(|last| now.duration_since(*last) < gap);
        if soon(self.last.as_ref(), OVERALL) || soon(self.chats.get(&chat), PER_CHAT) {
            return false;
        }
        self.last = Some(now);
        self.chats.put(chat, now);
        true
    }
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
    use super::*;

    #[test]
    fn one_answer_per_chat_and_not_too_many_in_all() {
        let mut reply_limit = ReplyLimit::new();
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let asked = [(1, 0), (2, 100), (2, 600), (1, 2_000), (1, 5_000), (2, 5_200), (2, 5_600)];
        let spoke = asked.map(|(chat, ms)| reply_limit.allows(chat, at(ms)));
        assert_eq!(spoke, [true, false, true, false, true, false, true]);
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
