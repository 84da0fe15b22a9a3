//! A chat in which each session has a thread, on any platform.

use crate::{
    discord_server::{CHANNEL, FakeDiscord, Fault as DiscordFault, Person},
    slack_server::{self, FakeSlack, Fault as SlackFault},
    telegram_server::{ANA, FORUM, Fault, TOKEN, Telegram},
};
use std::time::Duration;
use tokio::time::timeout;

/// The longest wait.
const SOON: Duration = Duration::from_secs(20);

pub enum ThreadChat {
    Telegram(Telegram),
    Discord(FakeDiscord),
    Slack(FakeSlack),
}

/// The thread of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    pub place: String,
    pub name: String,
    pub open: bool,
}

/// A card with buttons, and the thread that it is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadCard {
    pub message: String,
    pub thread: Option<String>,
    pub text: String,
}

impl ThreadChat {
    pub async fn telegram() -> Self {
        Self::Telegram(Telegram::start().await)
    }

    pub async fn discord() -> Self {
        Self::Discord(FakeDiscord::start().await)
    }

    pub async fn slack() -> Self {
        Self::Slack(FakeSlack::start().await)
    }

    /// The config of a daemon whose one target has this `per_session`.
    pub fn config(&self, per_session: &str) -> String {
        match self {
            Self::Telegram(chat) => format!(
                "[telegram]\ntoken = \"{TOKEN}\"\napi_url = \"{}\"\n\
                 targets = [{{ chat = {FORUM}, per_session = {per_session} }}]\n\
                 [approvers]\ntelegram = [{}]\n",
                chat.url(),
                ANA.id
            ),
            Self::Discord(chat) => format!(
                "[discord]\ntoken = \"{}\"\napi_url = \"{}\"\n\
                 targets = [{{ channel = \"{CHANNEL}\", per_session = {per_session} }}]\n\
                 [approvers]\ndiscord = [\"{}\"]\n",
                chat.token(),
                chat.url(),
                ANA.id
            ),
            Self::Slack(chat) => {
                let config = crate::slack::config(chat);
                let channel = format!("channel = \"{}\"", slack_server::CHANNEL);
                let with = format!("{channel}, per_session = {per_session}");
                config.replace(&channel, &with)
            }
        }
    }

    /// The threads of sessions that are there, oldest first.
    pub fn threads(&self) -> Vec<Thread> {
        match self {
            Self::Telegram(chat) => {
                let made = chat.made_topics().into_iter();
                made.map(|(id, name, open)| Thread { place: id.to_string(), name, open }).collect()
            }
            Self::Discord(chat) => {
                let threads = chat.threads().into_iter();
                let thread = |(place, name, archived): (String, String, bool)| Thread {
                    place,
                    name,
                    open: !archived,
                };
                threads.map(thread).collect()
            }
            Self::Slack(chat) => {
                let heads = chat.messages().into_iter().filter(|it| it.text.starts_with("🧵 "));
                let thread = |head: slack_server::Posted| {
                    let text = head.text.trim_start_matches("🧵 ");
                    let name = text.trim_end_matches(" · ended");
                    let open = name == text;
                    let (_, place) = head.reference.split_once('/').unwrap();
                    Thread { place: place.to_owned(), name: name.to_owned(), open }
                };
                heads.map(thread).collect()
            }
        }
    }

    /// The cards that wait, oldest first.
    pub fn cards(&self) -> Vec<ThreadCard> {
        match self {
            Self::Telegram(chat) => {
                let cards = chat.open_cards(FORUM).into_iter();
                let card = |it: crate::telegram_server::Message| ThreadCard {
                    message: it.id.to_string(),
                    thread: it.topic.map(|topic| topic.to_string()),
                    text: it.text,
                };
                cards.map(card).collect()
            }
            Self::Discord(chat) => {
                let cards = chat.messages().into_iter().filter(|it| !it.is_over());
                let card = |it: crate::discord_server::Posted| {
                    let (channel, _) = it.reference.split_once('/').unwrap();
                    let thread = (channel != CHANNEL).then(|| channel.to_owned());
                    ThreadCard { message: it.reference.clone(), thread, text: it.text }
                };
                cards.map(card).collect()
            }
            Self::Slack(chat) => {
                let cards = chat.messages().into_iter().filter(|it| !it.is_over());
                let card = |it: slack_server::Posted| ThreadCard {
                    message: it.reference,
                    thread: it.thread,
                    text: it.text,
                };
                cards.map(card).collect()
            }
        }
    }

    /// Waits for the card that waits with this text.
    pub async fn card(&self, text: &str) -> ThreadCard {
        self.until(text, || self.cards().into_iter().find(|it| it.text.contains(text))).await
    }

    /// Ana presses a button, and reads what became of it.
    pub async fn press(&self, card: &ThreadCard, label: &str) -> String {
        match self {
            Self::Telegram(chat) => {
                chat.press(FORUM, card.message.parse().unwrap(), label, ANA).await.text
            }
            Self::Discord(chat) => {
                let ana = Person::new(&ANA.id.to_string(), "Ana");
                chat.press(&card.message, label, &ana).await.words().unwrap_or_default()
            }
            Self::Slack(chat) => {
                let told = chat.press(&card.message, label, &crate::slack::ana()).await;
                told.words().unwrap_or_default()
            }
        }
    }

    /// A person deletes a thread, or its first message where that is all there is.
    pub fn delete(&self, thread: &Thread) {
        match self {
            Self::Telegram(chat) => chat.delete_topic(thread.place.parse().unwrap()),
            Self::Discord(chat) => chat.delete_thread(&thread.place),
            Self::Slack(chat) => {
                let all = chat.messages().into_iter();
                let inside = all.filter(|it| it.thread.as_ref() == Some(&thread.place));
                inside.for_each(|it| chat.delete(&it.reference));
                chat.delete(&format!("{}/{}", slack_server::CHANNEL, thread.place));
            }
        }
    }

    /// The platform makes the next thread, and its answer is lost.
    pub fn lose_the_answer(&self) {
        match self {
            Self::Telegram(chat) => chat.fail("createForumTopic", Fault::DropAfter, 1),
            Self::Discord(chat) => chat.fail("POST /channels", 2, DiscordFault::DropAfter),
            Self::Slack(chat) => chat.fail("chat.postMessage", 1, SlackFault::DropAfter),
        }
    }

    pub async fn until<T>(&self, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
        let mut changes = match self {
            Self::Telegram(chat) => chat.changes(),
            Self::Discord(chat) => chat.changes(),
            Self::Slack(chat) => chat.changes(),
        };
        let waiting = async {
            loop {
                if let Some(found) = look() {
                    return found;
                }
                changes.changed().await.unwrap();
            }
        };
        let found = timeout(SOON, waiting).await;
        found.unwrap_or_else(|_| panic!("{what}: {:#?} {:#?}", self.threads(), self.cards()))
    }

    /// Nobody broke a rule of the platform.
    pub fn is_clean(&self) {
        let violations = match self {
            Self::Telegram(chat) => chat.violations(),
            Self::Discord(chat) => chat.violations(),
            Self::Slack(chat) => chat.violations(),
        };
        assert_eq!(violations, Vec::<String>::new());
    }
}
