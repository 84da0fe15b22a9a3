//! Slack, as the program registers it.

use crate::{Slack, config::SlackConfig, doctor, guide::SlackGuide, ids};
use countersign_port::{
    Absent, Adapter, ApproverList, CheckError, Description, Guide, IdForm, Key, Names, Platform,
    Settings, Takes, Target, async_trait,
};
use std::sync::Arc;

/// The chat platform Slack.
#[derive(Debug, Clone, Copy)]
pub struct SlackPlatform;

const DESCRIPTION: Description = Description {
    name: "slack",
    keys: &[
        Key {
            name: "token",
            takes: Takes::Secret,
            absent: Absent::Wrong(
                "it begins with xoxb- and is under OAuth & Permissions of your app on \
                 https://api.slack.com/apps",
            ),
        },
        Key {
            name: "app_token",
            takes: Takes::Secret,
            absent: Absent::Wrong(
                "it begins with xapp- and is under Basic Information, App-Level Tokens of your \
                 app on https://api.slack.com/apps",
            ),
        },
        Key { name: "api_url", takes: Takes::Url, absent: Absent::Means("https://slack.com") },
    ],
    account: "token",
    target: &[Key {
        name: "channel",
        takes: Takes::Id(IdForm::Text {
            fits: ids::is_channel,
            wanted: "channel ids such as C024BE7LH",
        }),
        absent: Absent::Wrong("it is the id of a channel, in quotes"),
    }],
    approvers: &[
        ApproverList {
            key: "slack",
            names: Names::People,
            form: IdForm::Text {
                fits: ids::is_person,
                wanted: "a workspace and a member of it, such as T024BE7LH/U024BE7LH",
            },
            example: "[\"T024BE7LH/U024BE7LH\"]",
        },
        ApproverList {
            key: "slack_usergroups",
            names: Names::Roles,
            form: IdForm::Text {
                fits: ids::is_usergroup,
                wanted: "user group ids such as S0614TZR7",
            },
            example: "[]",
        },
    ],
    example: "\
# [slack]
# token = \"xoxb-…\"                       # from your app on https://api.slack.com/apps
# app_token = \"xapp-…\"                   # from its Basic Information, App-Level Tokens
# targets = [{ channel = \"C024BE7LH\" }]
# api_url = \"https://slack.com\"
",
};

#[async_trait]
impl Platform for SlackPlatform {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn target(&self, entry: &Settings) -> Result<Target, String> {
        Ok(Target(entry.text("channel").to_owned()))
    }

    fn direct(&self, person: &str) -> Option<Target> {
        ids::direct(person)
    }

    fn threads_at(&self, target: &Target) -> Result<(), String> {
        match ids::place(target)? {
            ids::SlackPlace::Channel(_) => Ok(()),
            _ => Err("only a channel has threads".to_owned()),
        }
    }

    fn adapter(&self, account: &Settings) -> Arc<dyn Adapter> {
        Arc::new(Slack::new(SlackConfig::of(account)))
    }

    async fn check(&self, account: &Settings) -> Result<String, CheckError> {
        doctor::check(&SlackConfig::of(account)).await
    }

    async fn check_target(
        &self,
        account: &Settings,
        target: &Target,
    ) -> Result<String, CheckError> {
        doctor::check_target(&SlackConfig::of(account), target).await
    }

    fn guide(&self) -> Option<&dyn Guide> {
        Some(&SlackGuide)
    }
}
