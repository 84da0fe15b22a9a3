//! What `doctor` asks.

use crate::address::Chat;
use crate::api::{BotApi, BotApiError, Failure};
use crate::errors::{refused_token, send_error, sentence, token_refused};
use crate::platform::TelegramConfig;
use crate::pull::webhook_sentence;
use countersign_port::{CheckError, Target};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;
use std::time::Duration;
use teloxide::payloads::{GetChat, GetChatMember, GetMe, GetWebhookInfo, SendChatAction};
use teloxide::types::{ChatAction, ChatId, User};

pub(crate) const PATIENCE: Duration = Duration::from_secs(8);

/// The bot, as Telegram describes it to itself.
#[derive(Deserialize)]
pub(crate) struct Bot {
    pub(crate) username: String,
    /// Whether privacy mode is off.
    #[serde(default)]
    pub(crate) can_read_all_group_messages: bool,
}

#[derive(Deserialize)]
struct Webhook {
    #[serde(default)]
    url: String,
}

#[derive(Deserialize)]
pub(crate) struct ChatInfo {
    title: Option<String>,
    first_name: Option<String>,
    #[serde(default)]
    pub(crate) is_forum: bool,
}

/// The bot's `@name`, when Telegram accepts the token and lets us pull its updates.
///
/// # Errors
/// [`CheckError`]
pub async fn check(config: &TelegramConfig) -> Result<String, CheckError> {
    let api = BotApi::new(config);
    let bot = bot(&api).await?;
    let webhook: Webhook = api.call(&GetWebhookInfo::new(), PATIENCE).await.map_err(explain)?;
    if webhook.url.is_empty() {
        Ok(format!("@{}", bot.username))
    } else {
        Err(CheckError::Other(webhook_sentence()))
    }
}

/// The bot of the token.
pub(crate) async fn bot(api: &BotApi) -> Result<Bot, CheckError> {
    api.call(&GetMe::new(), PATIENCE).await.map_err(explain)
}

/// The chat's title, when the bot may write there.
///
/// # Errors
/// [`CheckError`]
pub async fn check_target(config: &TelegramConfig, target: &Target) -> Result<String, CheckError> {
    let chat = Chat::parse(target).map_err(|error| CheckError::Other(error.to_string()))?;
    let api = BotApi::new(config);
    let room = room(&api, chat).await?;
    if chat.topic.is_some() && !room.is_forum && room.title.is_some() {
        let why = format!("`{}`: this group has no topics; leave `topic` out", target.0);
        return Err(CheckError::Other(why));
    }
    // The only call that needs the right to write and shows nothing lasting.
    let mut typing = SendChatAction::new(ChatId(chat.id), ChatAction::Typing);
    typing.message_thread_id = chat.thread();
    let typing: Result<IgnoredAny, _> = api.call(&typing, PATIENCE).await;
    typing.map_err(|failure| in_chat(failure, chat))?;
    Ok(room.title.or(room.first_name).unwrap_or_else(|| target.0.clone()))
}

/// Whether the bot can make topics in a chat.
///
/// # Errors
/// [`CheckError`]
pub(crate) async fn check_topics(
    config: &TelegramConfig,
    target: &Target,
) -> Result<(), CheckError> {
    let chat = Chat::parse(target).map_err(|error| CheckError::Other(error.to_string()))?;
    let api = BotApi::new(config);
    let room = room(&api, chat).await?;
    if !room.is_forum {
        let why = format!(
            "`{}`: this group has no topics, so all sessions share it; switch Topics on in the \
             group's settings",
            target.0
        );
        return Err(CheckError::Other(why));
    }
    let me: User = api.call(&GetMe::new(), PATIENCE).await.map_err(explain)?;
    let member = GetChatMember::new(ChatId(chat.id), me.id);
    let member: Value = api.call(&member, PATIENCE).await.map_err(explain)?;
    let is = |key: &str| member.get(key).is_some_and(|it| it == &Value::Bool(true));
    let may = member.get("status").is_some_and(|it| it == "creator") || is("can_manage_topics");
    if may {
        Ok(())
    } else {
        Err(CheckError::Other(format!(
            "`{}`: the bot may not make topics, so all sessions share the general one; make it an \
             administrator who may manage topics",
            target.0
        )))
    }
}

/// The chat, as Telegram describes it.
pub(crate) async fn room(api: &BotApi, chat: Chat) -> Result<ChatInfo, CheckError> {
    let room = api.call(&GetChat::new(ChatId(chat.id)), PATIENCE).await;
    room.map_err(|failure| in_chat(failure, chat))
}

/// What a failure says of a chat.
fn in_chat(failure: Failure, chat: Chat) -> CheckError {
    match explain(failure.clone()) {
        CheckError::Other(_) => {
            let help = "a person must first press Start in a private chat with the bot, a group \
                        must have it as a member that may write; the bot answers /id with the \
                        chat's number";
            CheckError::Other(format!(
                "`{}`: {}; {help}",
                chat.target().0,
                send_error(failure, chat)
            ))
        }
        other => other,
    }
}

/// What a failure says of the account.
// A failure to reach Telegram says nothing of the token, and must never look as if it did.
fn explain(failure: Failure) -> CheckError {
    let says = sentence(&failure);
    match &failure {
        _ if token_refused(&failure) => CheckError::WrongToken(refused_token(&says)),
        Failure::Refused(BotApiError { code: 429, parameters, .. }) => {
            let wait = parameters.retry_after.map(|seconds| format!(" {seconds} s"));
            let wait = wait.unwrap_or_else(|| " a moment".to_owned());
            CheckError::RateLimited(format!("Telegram asks to wait{wait}; try again then"))
        }
        Failure::Refused(BotApiError { code: 500.., .. })
        | Failure::Garbled(_)
        | Failure::Network(_) => CheckError::Unreachable(says),
        Failure::Refused(_) | Failure::Unusable(_) | Failure::Deposed => CheckError::Other(says),
    }
}
