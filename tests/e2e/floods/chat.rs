//! A chat on any platform, from the side of the people in it.

use crate::{
    discord_server::{CHANNEL, FakeDiscord, Fault as DiscordFault, Person},
    slack_server::{self, FakeSlack, Fault as SlackFault},
    telegram_server::{ANA, Fault, GROUP, TOKEN, Telegram},
};
use std::{collections::BTreeSet, time::Duration};
use tokio::time::timeout;

/// The longest wait: all of a flood can be answered within this.
pub const SOON: Duration = Duration::from_secs(15);

/// A chat with the limits of a real one, in which Ana is the approver.
pub enum GroupChat {
    Telegram(Telegram),
    Discord(FakeDiscord),
    Slack(FakeSlack),
}

/// A message with buttons.
#[derive(Debug, Clone)]
pub struct OpenMessage {
    /// Which message it is.
    pub place: String,
    pub text: String,
    /// The labels of its buttons, and what they carry.
    pub buttons: Vec<(String, String)>,
    /// The labels in its menu, where the platform has one.
    pub options: Vec<String>,
}

/// What the platform does to the next message.
#[derive(Debug, Clone, Copy)]
pub enum PostFault {
    /// It wants quiet for two seconds.
    Quiet,
    /// It takes the message, and its answer is lost.
    AnswerLost,
}

impl OpenMessage {
    /// The label of the button that begins like this, and what it carries.
    pub fn button(&self, label: &str) -> (&str, &str) {
        let found = self.buttons.iter().find(|(it, _)| it.starts_with(label));
        let (label, data) = found.unwrap_or_else(|| panic!("no button `{label}` on {self:?}"));
        (label, data)
    }

    /// The button that approves as much as the message lets a person approve.
    pub fn approval(&self) -> Option<&str> {
        let approves = |label: &str| label == "Approve" || label.starts_with("Approve these ");
        let found = self.buttons.iter().find(|(label, _)| approves(label));
        found.map(|(_, data)| data.as_str())
    }

    /// The numbers of the builds that it shows: `build-7`, or `build-N  (N: 1–5, 8)`.
    pub fn builds(&self) -> BTreeSet<u32> {
        let spans = self.text.split("(N: ").skip(1).filter_map(|rest| rest.split(')').next());
        let listed = spans.flat_map(|spans| spans.split(", ")).flat_map(|span| {
            let (first, last) = span.split_once('–').unwrap_or((span, span));
            first.parse().unwrap()..=last.parse().unwrap()
        });
        let single = self.text.split("build-").skip(1).filter_map(|rest| {
            let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
            digits.parse().ok()
        });
        listed.chain(single).collect()
    }
}

impl GroupChat {
    pub async fn telegram() -> Self {
        let telegram = Telegram::start().await;
        telegram.limit_as_a_group();
        Self::Telegram(telegram)
    }

    pub async fn discord() -> Self {
        Self::Discord(FakeDiscord::start().await)
    }

    pub async fn slack() -> Self {
        Self::Slack(FakeSlack::start().await)
    }

    /// The config of a daemon in this chat.
    pub fn config(&self) -> String {
        match self {
            Self::Telegram(chat) => format!(
                "[telegram]\ntoken = \"{TOKEN}\"\napi_url = \"{}\"\ntargets = [{{ chat = {GROUP} \
                 }}]\n[approvers]\ntelegram = [{}]\n",
                chat.url(),
                ANA.id
            ),
            Self::Discord(chat) => format!(
                "[discord]\ntoken = \"{}\"\napi_url = \"{}\"\ntargets = [{{ channel = \
                 \"{CHANNEL}\" }}]\n[approvers]\ndiscord = [\"{}\"]\n",
                chat.token(),
                chat.url(),
                ANA.id
            ),
            Self::Slack(chat) => crate::slack::config(chat),
        }
    }

    /// The messages with buttons that answer, oldest first.
    pub fn open(&self) -> Vec<OpenMessage> {
        match self {
            Self::Telegram(chat) => {
                let cards = chat.open_cards(GROUP).into_iter();
                let shown = |card: crate::telegram_server::Message| {
                    let labels = card.buttons.concat().into_iter();
                    // A redraw may take a button away in between.
                    let with_data = |label: String| {
                        let data = chat.standing_button(GROUP, card.id, &label)?;
                        Some((label, data))
                    };
                    let buttons = labels.filter_map(with_data).collect();
                    let (place, options) = (card.id.to_string(), Vec::new());
                    OpenMessage { place, text: card.text, buttons, options }
                };
                cards.map(shown).collect()
            }
            Self::Discord(chat) => {
                let cards = chat.messages().into_iter().filter(|card| !card.is_over());
                let shown = |card: crate::discord_server::Posted| OpenMessage {
                    place: card.reference,
                    text: card.text,
                    buttons: card.buttons.into_iter().zip(card.tokens).collect(),
                    options: card.options.into_iter().map(|(label, _)| label).collect(),
                };
                cards.map(shown).collect()
            }
            Self::Slack(chat) => {
                let cards = chat.messages().into_iter().filter(|card| !card.is_over());
                let shown = |card: slack_server::Posted| OpenMessage {
                    place: card.reference,
                    text: card.text,
                    buttons: card.buttons.into_iter().zip(card.tokens).collect(),
                    options: card.options.into_iter().map(|(label, _)| label).collect(),
                };
                cards.map(shown).collect()
            }
        }
    }

    /// Ana presses what this button of this message carries, whether it stands there or not; what
    /// she is told.
    pub async fn press(&self, place: &str, data: &str) -> String {
        match self {
            Self::Telegram(chat) => {
                let query = chat.press_data(GROUP, place.parse().unwrap(), data, ANA);
                chat.told(&query).await.text
            }
            Self::Discord(chat) => {
                let ana = Person::new(&ANA.id.to_string(), "Ana");
                chat.press_token(place, data, &ana).await.words().unwrap_or_default()
            }
            Self::Slack(chat) => {
                let told = chat.press_token(place, data, &crate::slack::ana()).await;
                told.words().unwrap_or_default()
            }
        }
    }

    /// Ana presses the button of this label, or chooses it from the menu; what she is told.
    pub async fn press_label(&self, message: &OpenMessage, label: &str) -> String {
        let place = &message.place;
        match self {
            Self::Telegram(chat) => {
                let query = chat.press(GROUP, place.parse().unwrap(), label, ANA).await;
                query.text
            }
            Self::Discord(chat) => {
                let ana = Person::new(&ANA.id.to_string(), "Ana");
                chat.press(place, label, &ana).await.words().unwrap_or_default()
            }
            Self::Slack(chat) => {
                let told = chat.press(place, label, &crate::slack::ana()).await;
                told.words().unwrap_or_default()
            }
        }
    }

    /// The platform reports the last press once more, and has what it is answered.
    pub async fn redeliver(&self) {
        match self {
            Self::Telegram(chat) => {
                let told = chat.redeliver_press().await;
                assert_eq!(told.text, "These requests are answered already.");
            }
            Self::Discord(chat) => chat.redeliver_press().await,
            Self::Slack(chat) => chat.redeliver(&crate::slack::ana()).await,
        }
    }

    /// The messages that come next have these troubles, one each.
    pub fn trouble_posts(&self, troubles: &[PostFault]) {
        for trouble in troubles {
            match (self, trouble) {
                (Self::Telegram(chat), PostFault::Quiet) => {
                    chat.fail("sendMessage", Fault::RetryAfter(2), 1);
                }
                (Self::Telegram(chat), PostFault::AnswerLost) => {
                    chat.fail("sendMessage", Fault::DropAfter, 1);
                }
                (Self::Discord(chat), PostFault::Quiet) => {
                    let quiet = DiscordFault::Limited { retry_after: 2.0, global: false };
                    chat.fail("POST /channels", 1, quiet);
                }
                (Self::Discord(chat), PostFault::AnswerLost) => {
                    chat.fail("POST /channels", 1, DiscordFault::DropAfter);
                }
                (Self::Slack(chat), PostFault::Quiet) => {
                    let quiet = SlackFault::Limited { retry_after: 2 };
                    chat.fail("chat.postMessage", 1, quiet);
                }
                (Self::Slack(chat), PostFault::AnswerLost) => {
                    chat.fail("chat.postMessage", 1, SlackFault::DropAfter);
                }
            }
        }
    }

    /// The answer to the next edit is lost.
    pub fn lose_an_edit(&self) {
        match self {
            Self::Telegram(chat) => chat.fail("editMessageText", Fault::DropAfter, 1),
            Self::Discord(chat) => chat.fail("PATCH /channels", 1, DiscordFault::DropAfter),
            Self::Slack(chat) => chat.fail("chat.update", 1, SlackFault::DropAfter),
        }
    }

    /// Waits until `look` returns something; it is called after every change.
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
        found.unwrap_or_else(|_| panic!("{what}: not within {SOON:?}: {:#?}", self.open()))
    }

    /// Waits until every one of these builds is on a message with buttons.
    pub async fn until_shown(&self, builds: impl IntoIterator<Item = u32>) {
        let builds: BTreeSet<u32> = builds.into_iter().collect();
        let all = || {
            let shown: BTreeSet<u32> = self.open().iter().flat_map(OpenMessage::builds).collect();
            builds.is_subset(&shown).then_some(())
        };
        self.until("every request on a message", all).await;
    }

    /// Presses everything that approves; what each press was told.
    pub async fn approve_all(&self) -> Vec<String> {
        let mut told = Vec::new();
        for shown in self.open() {
            let Some(data) = shown.approval() else { continue };
            told.push(self.press(&shown.place, data).await);
        }
        told
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
