//! The config of both chats at their fakes, with Ana as the one approver in each.

use crate::{
    discord_server::{CHANNEL, FakeDiscord},
    telegram_server::{ANA, GROUP, TOKEN, Telegram},
};

/// The sections of both chats; `[approvers]` comes last, so that more can be said of them.
pub fn both(telegram: &Telegram, discord: &FakeDiscord) -> String {
    format!(
        "[telegram]\ntoken = \"{TOKEN}\"\napi_url = \"{}\"\ntargets = [{{ chat = {GROUP} }}]\n\
         [discord]\ntoken = \"{}\"\napi_url = \"{}\"\ntargets = [{{ channel = \"{CHANNEL}\" }}]\n\
         [approvers]\ntelegram = [{}]\ndiscord = [\"{}\"]\n",
        telegram.url(),
        discord.token(),
        discord.url(),
        ANA.id,
        ANA.id
    )
}
