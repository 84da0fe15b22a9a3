//! One bot, for sending and receiving: where cards go, and how one is redrawn.

use crate::card::{RenderedCard, draw};
use crate::errors::Problem;
use crate::message::MessageBody;
use crate::platform::DiscordConfig;
use crate::rest::Rest;
use countersign_port::{
    Bell, Card, ChannelReplyLimit, MessageRef, SendError, Signals, Target, Turns, locked,
};
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

/// One bot: its connection, and what is known of its messages.
pub(crate) struct DiscordBot {
    pub(crate) config: DiscordConfig,
    pub(crate) rest: Rest,
    pub(crate) turns: Turns,
    pub(crate) signals: Signals,
    pub(crate) bell: Bell,
    pub(crate) direct: DirectChannels,
    pub(crate) reply_limit: ChannelReplyLimit,
    /// Whether our commands were looked after.
    pub(crate) registered: AtomicBool,
}

impl DiscordBot {
    /// Redraws a message, unless it shows a later revision of the card already.
    pub(crate) async fn update(&self, message: &MessageRef, card: &Card) -> Result<(), SendError> {
        let Some((channel, id)) = message.0.split_once('/') else {
            return Err(SendError::Refused(format!("`{}` is not a Discord message", message.0)));
        };
        let mut newest = self.turns.wait(message).await;
        if card.revision < *newest {
            return Ok(());
        }
        match self.edit(channel, id, draw(card)).await {
            // Deleted, and with it its buttons.
            Err(problem) if problem.code() == Some(10008) => Ok(()),
            Err(problem) => Err(problem.send_error(channel)),
            Ok(()) => {
                *newest = card.revision;
                Ok(())
            }
        }
    }

    /// The channel of a target.
    pub(crate) async fn channel(&self, target: &Target) -> Result<String, SendError> {
        match place(target).map_err(SendError::TargetGone)? {
            CardPlace::Channel(channel) => Ok(channel.to_owned()),
            CardPlace::Person(person) => {
                let channel = self.direct.with(&self.rest, person).await;
                channel.map_err(|problem| problem.send_error_for(person))
            }
        }
    }

    async fn edit(&self, channel: &str, id: &str, drawn: RenderedCard) -> Result<(), Problem> {
        // Which files are there already only Discord knows: this process may be a new one.
        let attached = if drawn.files.is_empty() {
            Vec::new()
        } else {
            match self.rest.files(channel, id).await {
                // May write but not read: then the files are sent again.
                Err(Problem::Refused { status: 403, .. }) => Vec::new(),
                attached => attached?,
            }
        };
        let body = MessageBody::edit(drawn, &attached);
        match self.rest.edit(channel, id, &body).await {
            Err(problem) if problem.code() == Some(50083) => {
                self.rest.archive(channel, false).await.map_err(|_| problem)?;
                self.rest.edit(channel, id, &body).await
            }
            edited => edited,
        }
    }
}

/// A place that cards go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CardPlace<'t> {
    Channel(&'t str),
    /// The direct messages with a person.
    Person(&'t str),
}

/// The direct messages with a person.
pub(crate) fn direct(person: &str) -> Target {
    Target(format!("@{person}"))
}

/// What a target means.
pub(crate) fn place(target: &Target) -> Result<CardPlace<'_>, String> {
    let is_id =
        |id: &str| (1..=20).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_digit());
    match target.0.strip_prefix('@') {
        Some(person) if is_id(person) => Ok(CardPlace::Person(person)),
        None if is_id(&target.0) => Ok(CardPlace::Channel(&target.0)),
        _ => Err(format!(
            "`{}` is not a Discord channel: in `[discord] targets` give the number that Discord's \
             Copy Channel ID gives",
            target.0
        )),
    }
}

/// The channels of direct messages, which Discord makes when they are asked for.
#[derive(Debug, Default)]
pub(crate) struct DirectChannels(Mutex<HashMap<String, String>>);

impl DirectChannels {
    /// The id of the channel with this person.
    pub(crate) async fn with(&self, rest: &Rest, person: &str) -> Result<String, Problem> {
        let known = || locked(&self.0);
        let found = known().get(person).cloned();
        if let Some(channel) = found {
            return Ok(channel);
        }
        let channel = rest.direct(person).await?;
        known().insert(person.to_owned(), channel.clone());
        Ok(channel)
    }
}
