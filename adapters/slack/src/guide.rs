//! How people come by an app and pair their phones with it.

use crate::api::WebApi;
use crate::config::SlackConfig;
use crate::problem::ApiProblem;
use countersign_port::{
    CheckError, Guide, Invitation, PairingPlace, Setting, Settings, Target, async_trait,
};
use serde_json::Value;

/// The way to an app of Slack's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SlackGuide;

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
impl Guide for SlackGuide {
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
        let (name, team) = (text("user"), text("team_id"));
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
    use countersign_port::Platform as _;

    #[test]
    fn the_entry_of_a_target_means_that_target() {
        let target = Target("C024BE7LH".to_owned());
        assert_eq!(SlackPlatform.target(&SlackGuide.entry(&target)).unwrap(), target);
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
