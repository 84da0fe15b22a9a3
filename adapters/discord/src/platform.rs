//! Discord, as the program registers it.

use crate::doctor::{check, invite_url, is_of_server};
use crate::{Discord, bot, doctor};
use countersign_port::{
    Absent, Adapter, ApproverList, CheckError, Description, Guide, IdForm, Invitation, Key, Names,
    PairingPlace, Platform, Setting, Settings, Takes, Target, async_trait,
};
use std::sync::Arc;

/// The chat platform Discord.
#[derive(Debug, Clone, Copy)]
pub struct DiscordPlatform;

const DESCRIPTION: Description = Description {
    name: "discord",
    keys: &[
        Key {
            name: "token",
            takes: Takes::Secret,
            absent: Absent::Wrong(
                "it is on the Bot page of https://discord.com/developers/applications",
            ),
        },
        Key { name: "mention", takes: Takes::Id(IdForm::Digits), absent: Absent::Nothing },
        Key { name: "api_url", takes: Takes::Url, absent: Absent::Means("https://discord.com") },
    ],
    account: "token",
    target: &[Key {
        name: "channel",
        takes: Takes::Id(IdForm::Digits),
        absent: Absent::Wrong("it is the id of a channel, in quotes"),
    }],
    approvers: &[
        ApproverList {
            key: "discord",
            names: Names::People,
            form: IdForm::Digits,
            example: "[\"123456789012345678\"]",
        },
        ApproverList {
            key: "discord_roles",
            names: Names::Roles,
            form: IdForm::Digits,
            example: "[]",
        },
    ],
    example: "\
# [discord]
# token = \"…\"                            # from https://discord.com/developers/applications
# targets = [{ channel = \"123456789012345678\" }]
# mention = \"223456789012345678\"         # a role to notify of new cards; without it nobody
# api_url = \"https://discord.com\"
",
};

#[async_trait]
impl Platform for DiscordPlatform {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn target(&self, entry: &Settings) -> Result<Target, String> {
        Ok(Target(entry.text("channel").to_owned()))
    }

    fn direct(&self, person: &str) -> Option<Target> {
        Some(bot::direct(person))
    }

    fn threads_at(&self, target: &Target) -> Result<(), String> {
        match bot::place(target)? {
            bot::CardPlace::Channel(_) => Ok(()),
            bot::CardPlace::Person(_) => Err("direct messages have no threads".to_owned()),
        }
    }

    fn adapter(&self, account: &Settings) -> Arc<dyn Adapter> {
        Arc::new(Discord::new(DiscordConfig::of(account)))
    }

    async fn check(&self, account: &Settings) -> Result<String, CheckError> {
        doctor::check(&DiscordConfig::of(account)).await
    }

    async fn check_target(
        &self,
        account: &Settings,
        target: &Target,
    ) -> Result<String, CheckError> {
        doctor::check_target(&DiscordConfig::of(account), target).await
    }

    async fn check_threads(&self, account: &Settings, target: &Target) -> Result<(), CheckError> {
        doctor::check_threads(&DiscordConfig::of(account), target).await
    }

    fn guide(&self) -> Option<&dyn Guide> {
        Some(self)
    }
}

/// A bot of Discord's.
#[derive(Clone)]
pub struct DiscordConfig {
    /// The bot's token, as the developer portal shows it.
    pub token: String,
    /// Where Discord is: an origin, `https://discord.com` but for tests and proxies.
    pub api_url: String,
    /// The id of the role that new cards mention; `None` mentions nobody.
    pub mention: Option<String>,
}

impl DiscordConfig {
    /// The bot of an account in the config.
    pub(crate) fn of(account: &Settings) -> Self {
        let text = |key| account.text(key).to_owned();
        let mention = Some(text("mention")).filter(|role| !role.is_empty());
        Self { token: text("token"), api_url: text("api_url"), mention }
    }
}

/// Whether this is Discord itself.
pub(crate) fn is_discord(api_url: &str) -> bool {
    api_url.trim_end_matches('/').eq_ignore_ascii_case("https://discord.com")
}

const STEPS: &[&str] = &[
    "Open https://discord.com/developers/applications, press New Application and name it.",
    "On its page Bot press Reset Token, and copy the token. Leave the privileged intents off.",
];

/// What is said where new cards reach nobody's phone.
const NO_MENTION: &str = "New cards mention nobody in a channel. To be notified, set [discord] \
                          `mention` to the id of a role, or switch the channel's notifications to \
                          all messages.";

#[async_trait]
impl Guide for DiscordPlatform {
    fn steps(&self) -> &'static [&'static str] {
        STEPS
    }

    async fn invitation(
        &self,
        account: &Settings,
        code: &str,
        place: PairingPlace,
    ) -> Result<Invitation, CheckError> {
        let config = DiscordConfig::of(account);
        let link = invite_url(&config).await?;
        let name = check(&config).await?;
        let invite = match place {
            PairingPlace::Private => "Open this link and add the bot to a server that you are in.",
            PairingPlace::Group => "Open this link and add the bot to the server of the channel.",
        };
        let send = match place {
            PairingPlace::Private => format!("Then send @{name} this as a direct message:"),
            PairingPlace::Group => {
                format!("Then write this in the channel, and mention @{name} in front of it:")
            }
        };
        Ok(Invitation { steps: vec![invite.to_owned(), send, code.to_owned()], link })
    }

    fn entry(&self, target: &Target) -> Settings {
        Settings::from([("channel", Setting::Text(target.0.clone()))])
    }

    async fn notes(&self, account: &Settings, target: &Target) -> Vec<String> {
        let config = DiscordConfig::of(account);
        let silent = config.mention.is_none() && is_of_server(&config, target).await == Some(true);
        silent.then(|| NO_MENTION.to_owned()).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use crate::platform::DiscordPlatform;

    #[test]
    fn the_entry_of_a_target_means_that_target() {
        let target = Target("1180000000000000001".to_owned());
        assert_eq!(DiscordPlatform.target(&DiscordPlatform.entry(&target)).unwrap(), target);
    }
}
