//! Discord, as the program registers it.

use crate::{Discord, config::DiscordConfig, doctor, guide::DiscordGuide, target};
use countersign_port::{
    Absent, Adapter, ApproverList, CheckError, Description, Guide, IdForm, Key, Names, Platform,
    Settings, Takes, Target, async_trait,
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
        Some(target::direct(person))
    }

    fn threads_at(&self, target: &Target) -> Result<(), String> {
        match target::place(target)? {
            target::CardPlace::Channel(_) => Ok(()),
            target::CardPlace::Person(_) => Err("direct messages have no threads".to_owned()),
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
        Some(&DiscordGuide)
    }
}
