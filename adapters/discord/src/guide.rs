//! How people come by a bot and pair their phones with it.

use crate::config::DiscordConfig;
use crate::doctor::{check, invite_url, is_of_server};
use countersign_port::{
    CheckError, Guide, Invitation, PairingPlace, Setting, Settings, Target, async_trait,
};

/// The way to a bot of Discord's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DiscordGuide;

const STEPS: &[&str] = &[
    "Open https://discord.com/developers/applications, press New Application and name it.",
    "On its page Bot press Reset Token, and copy the token. Leave the privileged intents off.",
];

/// What is said where new cards reach nobody's phone.
const NO_MENTION: &str = "New cards mention nobody in a channel. To be notified, set [discord] \
                          `mention` to the id of a role, or switch the channel's notifications to \
                          all messages.";

#[async_trait]
impl Guide for DiscordGuide {
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
        let (link, name) = (invite_url(&config).await?, check(&config).await?);
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
    use countersign_port::Platform as _;

    #[test]
    fn the_entry_of_a_target_means_that_target() {
        let target = Target("1180000000000000001".to_owned());
        assert_eq!(DiscordPlatform.target(&DiscordGuide.entry(&target)).unwrap(), target);
    }
}
