//! Slack, as the program registers it.

use crate::api::WebApi;
use crate::problem::ApiProblem;
use crate::{Slack, doctor, ids};
use countersign_port::{
    Absent, Adapter, ApproverList, CheckError, Description, Guide, IdForm, Invitation, Key, Names,
    PairingPlace, Platform, Setting, Settings, Takes, Target, async_trait,
};
use serde_json::Value;
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
        Some(self)
    }
}

/// An app of Slack's in one workspace.
#[derive(Clone)]
pub struct SlackConfig {
    /// The bot's token, `xoxb-…`: reads and writes.
    pub token: String,
    /// The app's token, `xapp-…`: opens the connection over which presses come.
    pub app_token: String,
    /// Where Slack is: an origin, `https://slack.com` but for tests and proxies.
    pub api_url: String,
}

impl SlackConfig {
    /// The app of an account in the config.
    pub(crate) fn of(account: &Settings) -> Self {
        let text = |key| account.text(key).to_owned();
        Self { token: text("token"), app_token: text("app_token"), api_url: text("api_url") }
    }
}

/// What the app is, as Slack takes it.
const MANIFEST: &str = include_str!("../manifest.json");

const STEPS: &[&str] = &[
    "Open https://api.slack.com/apps?new_app=1, choose From a manifest, pick your workspace, and \
     paste this as JSON:",
    MANIFEST,
    "Press Install to Workspace. Under OAuth & Permissions copy the Bot User OAuth Token, xoxb-….",
    "Under Basic Information, App-Level Tokens, generate a token with the scope connections:write, \
     and copy it, xapp-….",
];

#[async_trait]
impl Guide for SlackPlatform {
    fn steps(&self) -> &'static [&'static str] {
        STEPS
    }

    async fn invitation(
        &self,
        account: &Settings,
        code: &str,
        place: PairingPlace,
    ) -> Result<Invitation, CheckError> {
        let api = WebApi::new(&SlackConfig::of(account));
        let me = api.read("auth.test", &[]).await.map_err(ApiProblem::check_error)?;
        let text = |key| me.get(key).and_then(Value::as_str).unwrap_or_default();
        let name = text("user");
        let team = text("team_id");
        let bot = api.read("bots.info", &[("bot", text("bot_id"))]).await;
        let bot = bot.map_err(ApiProblem::check_error)?;
        let app = bot.pointer("/bot/app_id").and_then(Value::as_str).unwrap_or_default();
        Ok(match place {
            PairingPlace::Private => Invitation {
                steps: vec![
                    format!("Open this link: it shows the messages of {name}. Send it this:"),
                    code.to_owned(),
                ],
                link: format!("https://slack.com/app_redirect?app={app}&team={team}"),
            },
            PairingPlace::Group => Invitation {
                steps: vec![
                    "Open the channel, public or private, and write these two lines there:"
                        .to_owned(),
                    format!("/invite @{name}"),
                    format!("/countersign {code}"),
                ],
                link: text("url").to_owned(),
            },
        })
    }

    fn entry(&self, target: &Target) -> Settings {
        Settings::from([("channel", Setting::Text(target.0.clone()))])
    }

    async fn notes(&self, _: &Settings, _: &Target) -> Vec<String> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use crate::platform::SlackPlatform;

    #[test]
    fn the_entry_of_a_target_means_that_target() {
        let target = Target("C024BE7LH".to_owned());
        assert_eq!(SlackPlatform.target(&SlackPlatform.entry(&target)).unwrap(), target);
    }

    #[test]
    fn the_manifest_asks_for_what_the_adapter_calls_and_for_socket_mode() {
        let manifest: Value = serde_json::from_str(MANIFEST).unwrap();
        let scopes = manifest.pointer("/oauth_config/scopes/bot").unwrap().as_array().unwrap();
        for scope in ["chat:write", "commands", "files:write", "users:read", "usergroups:read"] {
            assert!(scopes.iter().any(|it| it == scope), "{scope}");
        }
        let on = |path: &str| manifest.pointer(path).and_then(Value::as_bool);
        assert_eq!(on("/settings/socket_mode_enabled"), Some(true));
        assert_eq!(on("/settings/interactivity/is_enabled"), Some(true));
        assert_eq!(on("/features/app_home/messages_tab_enabled"), Some(true));
        let command = manifest.pointer("/features/slash_commands/0/command");
        assert_eq!(command.and_then(Value::as_str), Some("/countersign"));
    }
}
