//! How people come by a bot and pair their phones with it.

use crate::address::Chat;
use crate::api::BotApi;
use crate::check::{bot, room};
use crate::config::TelegramConfig;
use countersign_port::{
    CheckError, Guide, Invitation, PairingPlace, Setting, Settings, Target, async_trait,
};

/// The way to a bot of Telegram's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TelegramGuide;

const STEPS: &[&str] = &[
    "Open https://t.me/BotFather in Telegram and send /newbot.",
    "Choose a name and a username. BotFather replies with a token such as 123456:ABC…; copy it.",
];

#[async_trait]
impl Guide for TelegramGuide {
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
        let (bot, room) = (bot(&api).await, room(&api, chat).await);
        let privacy = bot.ok().map(|bot| match bot.can_read_all_group_messages {
            false => PRIVACY_ON.to_owned(),
            true => PRIVACY_OFF.to_owned(),
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
    use countersign_port::Platform as _;

    #[test]
    fn the_entry_of_a_target_means_that_target() {
        for spelling in ["-1001234567890/7", "-1001234567890", "4211"] {
            let target = Target(spelling.to_owned());
            let entry = TelegramGuide.entry(&target);
            assert_eq!(TelegramPlatform.target(&entry).unwrap(), target);
        }
    }
}
