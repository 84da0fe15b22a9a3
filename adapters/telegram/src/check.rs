//! What `doctor` asks.

use crate::address::Chat;
use crate::api::{BotApi, Failure};
use crate::config::TelegramConfig;
use crate::errors::{refused_token, send_error, sentence, token_refused};
use crate::pull::webhook_sentence;
use countersign_port::Target;
use serde::{Deserialize, de::IgnoredAny};
use std::time::Duration;
use teloxide::payloads::{GetChat, GetMe, GetWebhookInfo, SendChatAction};
use teloxide::types::{ChatAction, ChatId};

const PATIENCE: Duration = Duration::from_secs(8);

#[derive(Deserialize)]
struct Bot {
    username: String,
}

#[derive(Deserialize)]
struct Webhook {
    #[serde(default)]
    url: String,
}

#[derive(Deserialize)]
struct ChatInfo {
    title: Option<String>,
    first_name: Option<String>,
    #[serde(default)]
    is_forum: bool,
}

/// The bot's `@name`, when Telegram accepts the token and lets us pull its updates.
///
/// # Errors
/// A sentence that says what is wrong and how to fix it.
pub async fn check(config: &TelegramConfig) -> Result<String, String> {
    let api = BotApi::new(config);
    let bot: Bot = api.call(&GetMe::new(), PATIENCE).await.map_err(explain)?;
    let webhook: Webhook = api.call(&GetWebhookInfo::new(), PATIENCE).await.map_err(explain)?;
    if webhook.url.is_empty() { Ok(format!("@{}", bot.username)) } else { Err(webhook_sentence()) }
}

/// The chat's title, when the bot may write there.
///
/// # Errors
/// A sentence that says what is wrong and how to fix it.
pub async fn check_target(config: &TelegramConfig, target: &Target) -> Result<String, String> {
    let chat = Chat::parse(target).map_err(|error| error.to_string())?;
    let api = BotApi::new(config);
    let explain = |failure| {
        let help = "a person must first press Start in a private chat with the bot, a group must \
         have it \
                    as a member that may write; the bot answers /id with the chat's number";
        format!("`{}`: {}; {help}", target.0, send_error(failure, chat))
    };
    let room: ChatInfo =
        api.call(&GetChat::new(ChatId(chat.id)), PATIENCE).await.map_err(explain)?;
    if chat.topic.is_some() && !room.is_forum && room.title.is_some() {
        return Err(format!("`{}`: this group has no topics; leave `topic` out", target.0));
    }
    // The only call that needs the right to write and shows nothing lasting.
    let mut typing = SendChatAction::new(ChatId(chat.id), ChatAction::Typing);
    typing.message_thread_id = chat.thread();
    let _: IgnoredAny = api.call(&typing, PATIENCE).await.map_err(explain)?;
    Ok(room.title.or(room.first_name).unwrap_or_else(|| target.0.clone()))
}

fn explain(failure: Failure) -> String {
    if token_refused(&failure) { refused_token(&sentence(&failure)) } else { sentence(&failure) }
}
