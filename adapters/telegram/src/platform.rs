//! Telegram, as the program registers it.

use crate::{Telegram, address::Chat, admins, check, config::TelegramConfig, guide::TelegramGuide};
use countersign_port::{
    Absent, Adapter, ApproverList, CheckError, Description, Guide, IdForm, Key, Names, Platform,
    Settings, Takes, Target, async_trait,
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
        Some(&TelegramGuide)
    }
}
