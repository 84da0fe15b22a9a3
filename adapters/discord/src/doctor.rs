//! Whether a configuration works, for `doctor` and `connect`.

use crate::bot::{CardPlace, place};
use crate::errors::{Problem, gone};
use crate::gateway;
use crate::platform::DiscordConfig;
use crate::rest::Rest;
use countersign_port::{CheckError, Target};
use serde_json::Value;
use serenity::all::{ChannelType, GuildChannel, Member, PartialGuild, Permissions};

/// What the bot needs in channels and in threads.
const NEEDED: Permissions = Permissions::VIEW_CHANNEL
    .union(Permissions::SEND_MESSAGES)
    .union(Permissions::SEND_MESSAGES_IN_THREADS)
    .union(Permissions::ATTACH_FILES)
    .union(Permissions::READ_MESSAGE_HISTORY);

/// What it needs beside that to give each session a thread.
const FOR_THREADS: Permissions =
    Permissions::CREATE_PUBLIC_THREADS.union(Permissions::SEND_MESSAGES_IN_THREADS);

/// The bot's name, when Discord accepts the token and lets it connect to its gateway.
///
/// # Errors
/// [`CheckError`]
pub async fn check(config: &DiscordConfig) -> Result<String, CheckError> {
    let rest = rest(config);
    let me = read(&rest, "/users/@me").await?;
    gateway::address(&rest).await.map_err(check_error)?;
    Ok(text(&me, "username").unwrap_or("unnamed").to_owned())
}

/// The channel's name, when the bot may post there.
///
/// # Errors
/// [`CheckError`]
pub async fn check_target(config: &DiscordConfig, target: &Target) -> Result<String, CheckError> {
    let rest = rest(config);
    let channel_id = &*channel(&rest, target).await?;
    let channel = match rest.get(&format!("/channels/{channel_id}")).await {
        Ok(channel) => channel,
        Err(problem) => return Err(for_channel(problem, channel_id)),
    };
    let name = text(&channel, "name").map(|name| format!("#{name}"));
    let name = name.unwrap_or_else(|| "a direct message".to_owned());
    let missing = missing(&rest, &channel).await.unwrap_or_default();
    if missing.is_empty() {
        // What is worked out does not know everything, such as a bot in time-out; this does.
        let tried = rest.typing(channel_id).await;
        return tried.map(|()| name).map_err(|problem| for_channel(problem, channel_id));
    }
    let missing = missing.get_permission_names().join(", ");
    Err(CheckError::Other(format!(
        "in {name} ({channel_id}) the bot lacks: {missing}; grant it in the channel's settings"
    )))
}

/// Whether the bot can make threads in a channel.
///
/// # Errors
/// [`CheckError`]
pub(crate) async fn check_threads(
    config: &DiscordConfig,
    target: &Target,
) -> Result<(), CheckError> {
    let rest = rest(config);
    let id = channel(&rest, target).await?;
    let channel = rest.get(&format!("/channels/{id}")).await;
    let channel = channel.map_err(|problem| for_channel(problem, &id))?;
    let lacks = match channel.get("type").and_then(Value::as_u64) {
        // A text channel, and one for announcements.
        Some(0 | 5) => {
            let granted = granted(&rest, &channel).await.unwrap_or(FOR_THREADS);
            (FOR_THREADS - granted).get_permission_names().join(", ")
        }
        _ => {
            return Err(CheckError::Other(format!(
                "channel {id} is not a text channel, so sessions get no threads there; target a text \
                 channel"
            )));
        }
    };
    if lacks.is_empty() {
        Ok(())
    } else {
        Err(CheckError::Other(format!(
            "in channel {id} the bot lacks: {lacks}, so all sessions share the channel; grant it \
             in the channel's settings"
        )))
    }
}

/// The channel of a target.
async fn channel(rest: &Rest, target: &Target) -> Result<String, CheckError> {
    match place(target).map_err(CheckError::Other)? {
        CardPlace::Channel(channel) => Ok(channel.to_owned()),
        CardPlace::Person(person) => rest.direct(person).await.map_err(check_error),
    }
}

/// Whether others see a channel too; not known where it cannot be read.
pub(crate) async fn is_of_server(config: &DiscordConfig, target: &Target) -> Option<bool> {
    let rest = rest(config);
    let id = channel(&rest, target).await.ok()?;
    let channel = rest.get(&format!("/channels/{id}")).await.ok()?;
    Some(channel.get("guild_id").is_some())
}

/// The link that invites the bot to a server with the permissions that it needs.
///
/// # Errors
/// [`CheckError`]
pub async fn invite_url(config: &DiscordConfig) -> Result<String, CheckError> {
    let application = read(&rest(config), "/applications/@me").await?;
    let none = || CheckError::Unreachable("Discord names no application for the token".to_owned());
    let id = text(&application, "id").ok_or_else(none)?;
    let origin = config.api_url.trim_end_matches('/');
    let permissions = NEEDED.bits();
    Ok(format!(
        "{origin}/oauth2/authorize?client_id={id}&scope=bot%20applications.commands\
         &permissions={permissions}"
    ))
}

/// What the bot lacks in a channel; `None` where that cannot be told, as in direct messages.
async fn missing(rest: &Rest, channel: &Value) -> Option<Permissions> {
    let granted = granted(rest, channel).await?;
    let channel: GuildChannel = serde_json::from_value(channel.clone()).ok()?;
    let elsewhere = if is_thread(&channel) {
        Permissions::SEND_MESSAGES
    } else {
        Permissions::SEND_MESSAGES_IN_THREADS
    };
    Some(NEEDED - elsewhere - granted)
}

/// What the bot may do in a channel; `None` where that cannot be told.
async fn granted(rest: &Rest, channel: &Value) -> Option<Permissions> {
    let guild_id = text(channel, "guild_id")?;
    let me = rest.get("/users/@me").await.ok()?;
    let member = format!("/guilds/{guild_id}/members/{}", text(&me, "id")?);
    let mut member = rest.get(&member).await.ok()?;
    // The answer leaves out what was asked with.
    member.as_object_mut()?.insert("guild_id".to_owned(), guild_id.into());
    let guild = rest.get(&format!("/guilds/{guild_id}")).await.ok()?;
    let member: Member = serde_json::from_value(member).ok()?;
    let guild: PartialGuild = serde_json::from_value(guild).ok()?;
    let channel: GuildChannel = serde_json::from_value(channel.clone()).ok()?;
    Some(guild.user_permissions_in(&channel, &member))
}

fn is_thread(channel: &GuildChannel) -> bool {
    use ChannelType::{NewsThread, PrivateThread, PublicThread};
    matches!(channel.kind, NewsThread | PublicThread | PrivateThread)
}

fn rest(config: &DiscordConfig) -> Rest {
    Rest::new(&config.api_url, &config.token)
}

async fn read(rest: &Rest, path: &str) -> Result<Value, CheckError> {
    rest.get(path).await.map_err(check_error)
}

// A failure to reach Discord says nothing of the token, and must never look as if it did.
fn check_error(problem: Problem) -> CheckError {
    let says = problem.to_string();
    match problem {
        Problem::Unauthorized => CheckError::WrongToken(says),
        Problem::Wait { .. } => CheckError::RateLimited(format!("{says}; try again then")),
        Problem::Unreachable(_) => CheckError::Unreachable(says),
        Problem::Refused { .. } | Problem::Deposed => CheckError::Other(says),
    }
}

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}

fn for_channel(problem: Problem, channel: &str) -> CheckError {
    let fix = match &problem {
        Problem::Refused { code, status, .. } => gone(*code, *status),
        _ => None,
    };
    match fix {
        Some(fix) => CheckError::Other(format!("Discord channel {channel}: {fix}")),
        None => check_error(problem),
    }
}
