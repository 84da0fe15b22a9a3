//! Telegram, as the program registers it.

use crate::address::Chat;
use crate::api::BotApi;
use crate::check::{bot, room};
use crate::{Telegram, admins, check};
use countersign_port::{
    Absent, Adapter, ApproverList, CheckError, Description, Guide, IdForm, Invitation, Key, Names,
    PairingPlace, Platform, Setting, Settings, Takes, Target, async_trait,
};
use std::sync::Arc;

/// The chat platform Telegram.
#[derive(Debug, Clone, Copy)]
pub struct TelegramPlatform;

const DESCRIPTION: Description = Description {
    name: "telegram",
    keys: &[
        Key {
            name: "token",
            takes: Takes::Secret,
            absent: Absent::Wrong("@BotFather hands them out"),
        },
        Key {
            name: "api_url",
            takes: Takes::Url,
            absent: Absent::Means("https://api.telegram.org"),
        },
    ],
    account: "token",
    target: &[
        Key {
            name: "chat",
            takes: Takes::Number,
            absent: Absent::Wrong("it is the number of a chat"),
        },
        Key { name: "topic", takes: Takes::Number, absent: Absent::Nothing },
    ],
    approvers: &[
        ApproverList {
            key: "telegram",
            names: Names::People,
            form: IdForm::Digits,
            example: "[12345]",
        },
        ApproverList {
            key: "telegram_admins",
            names: Names::Roles,
            form: IdForm::Text {
                fits: admins::is_group,
                wanted: "numbers of groups such as -1001234567890",
            },
            example: "[]",
        },
    ],
    example: "\
# [telegram]
# token = \"123456:…\"                     # from @BotFather
# targets = [{ chat = -1001234567890, topic = 7 }, { chat = 12345 }]
# api_url = \"https://api.telegram.org\"
",
};

#[async_trait]
impl Platform for TelegramPlatform {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn target(&self, entry: &Settings) -> Result<Target, String> {
        let topic = entry.number("topic").map(i32::try_from).transpose();
        let topic = topic.map_err(|_| "`topic` is too large for a topic".to_owned())?;
        Ok(Chat { id: entry.number("chat").unwrap_or_default(), topic }.target())
    }

    fn threads_at(&self, target: &Target) -> Result<(), String> {
        match Chat::parse(target).map_err(|error| error.to_string())? {
            Chat { topic: Some(_), .. } => {
                Err("a topic has no topics of its own; leave `topic` out".to_owned())
            }
            Chat { id: 0.., .. } => Err("a private chat has no topics".to_owned()),
            _ => Ok(()),
        }
    }

    // A private chat has the number of the person in it.
    fn direct(&self, person: &str) -> Option<Target> {
        Some(Chat { id: person.parse().ok()?, topic: None }.target())
    }

    fn adapter(&self, account: &Settings) -> Arc<dyn Adapter> {
        Arc::new(Telegram::new(TelegramConfig::of(account)))
    }

    async fn check(&self, account: &Settings) -> Result<String, CheckError> {
        check::check(&TelegramConfig::of(account)).await
    }

    async fn check_target(
        &self,
        account: &Settings,
        target: &Target,
    ) -> Result<String, CheckError> {
        check::check_target(&TelegramConfig::of(account), target).await
    }

    async fn check_threads(&self, account: &Settings, target: &Target) -> Result<(), CheckError> {
        check::check_topics(&TelegramConfig::of(account), target).await
    }

    fn guide(&self) -> Option<&dyn Guide> {
        Some(self)
    }
}

/// A bot of Telegram's.
#[derive(Clone)]
pub struct TelegramConfig {
    /// The bot's token, as @BotFather shows it.
    pub token: String,
    /// Where the Bot API is: `https://api.telegram.org` but for tests and own Bot API servers.
    pub api_url: String,
}

impl TelegramConfig {
    /// The bot of an account in the config.
    pub(crate) fn of(account: &Settings) -> Self {
        let text = |key| account.text(key).to_owned();
        Self { token: text("token"), api_url: text("api_url") }
    }
}

/// SECURITY: the token is not printed.
impl std::fmt::Debug for TelegramConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TelegramConfig").field("api_url", &self.api_url).finish_non_exhaustive()
    }
}

const STEPS: &[&str] = &[
    "Open https://t.me/BotFather in Telegram and send /newbot.",
    "Choose a name and a username. BotFather replies with a token such as 123456:ABC…; copy it.",
];

#[async_trait]
impl Guide for TelegramPlatform {
    fn steps(&self) -> &'static [&'static str] {
        STEPS
    }

    async fn invitation(
        &self,
        account: &Settings,
        code: &str,
        place: PairingPlace,
    ) -> Result<Invitation, CheckError> {
        let name = bot(&BotApi::new(&TelegramConfig::of(account))).await?.username;
        Ok(match place {
            PairingPlace::Private => Invitation {
                steps: vec!["Open this link on your phone and press Start.".to_owned()],
                link: format!("https://t.me/{name}?start={code}"),
            },
            PairingPlace::Group => Invitation {
                steps: vec![
                    "Open this link, and choose the group that is to have the cards.".to_owned(),
                    "If the bot is in the group already, or for one topic, send this there:"
                        .to_owned(),
                    format!("/start@{name} {code}"),
                ],
                link: format!("https://t.me/{name}?startgroup={code}"),
            },
        })
    }

    fn entry(&self, target: &Target) -> Settings {
        let Ok(chat) = Chat::parse(target) else { return Settings::default() };
        let mut entry = Settings::from([("chat", Setting::Number(chat.id))]);
        if let Some(topic) = chat.topic {
            entry.set("topic", Setting::Number(topic.into()));
        }
        entry
    }

    async fn notes(&self, account: &Settings, target: &Target) -> Vec<String> {
        let Ok(chat) = Chat::parse(target) else { return Vec::new() };
        // Groups have negative ids. In a private chat the bot sees and may do everything.
        if chat.id > 0 {
            return Vec::new();
        }
        let api = BotApi::new(&TelegramConfig::of(account));
        let bot = bot(&api).await;
        let room = room(&api, chat).await;
        let privacy = bot.ok().map(|bot| {
            if bot.can_read_all_group_messages {
                PRIVACY_OFF.to_owned()
            } else {
                PRIVACY_ON.to_owned()
            }
        });
        let topics = room.ok().filter(|room| room.is_forum && chat.topic.is_none());
        let topics = topics.map(|_| TOPICS.to_owned());
        privacy.into_iter().chain(topics).collect()
    }
}

const PRIVACY_ON: &str = "Privacy mode is on: in the group the bot sees commands, replies to its \
                          messages and its @name, and nothing else. It needs no more.";
const PRIVACY_OFF: &str = "Privacy mode is off, so the bot receives every message of the group, \
                           which it does not need. /setprivacy at @BotFather switches it on.";
const TOPICS: &str = "The group has topics, and cards go to General. To have them in another \
                      topic, run this again and send the code there.";

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use crate::platform::TelegramPlatform;

    #[test]
    fn a_printed_config_does_not_hold_the_token() {
        let config =
            TelegramConfig { token: "7:SECRET".into(), api_url: "https://example.org".into() };
        assert_eq!(
            format!("{config:?}"),
            "TelegramConfig { api_url: \"https://example.org\", .. }"
        );
    }

    #[test]
    fn the_entry_of_a_target_means_that_target() {
        for spelling in ["-1001234567890/7", "-1001234567890", "4211"] {
            let target = Target(spelling.to_owned());
            let entry = TelegramPlatform.entry(&target);
            assert_eq!(TelegramPlatform.target(&entry).unwrap(), target);
        }
    }
}
