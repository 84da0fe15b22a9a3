//! countersign's cards in Discord.
//!
//! Presses, commands and replies to cards come over serenity's gateway, without any privileged
//! intent. serenity's own REST is not used: with its limiter on it ignores another API address and
//! waits inside a call without bound, with it off its errors lack Retry-After; it has no time limit
//! per call, and an edit of it cannot say which files stay.

mod answer;
mod bot;
mod card;
mod commands;
mod doctor;
mod errors;
mod gateway;
mod markdown;
mod message;
mod platform;
mod rest;
mod written;

pub use doctor::{check, check_target, invite_url};
pub use platform::{DiscordConfig, DiscordPlatform};

use crate::bot::DiscordBot;
use crate::card::draw;
use crate::errors::Problem;
use crate::message::{MessageBody, Rings};
use crate::rest::Rest;
use countersign_port::{
    Adapter, CancellationToken, Card, CommandReply, Lead, MessageRef, Outcome, Pace, Posting,
    Presses, Reminder, ReplyPiece, SendError, SessionThread, Signals, Target, Turns,
};
use serde_json::json;
use std::sync::Arc;

/// The longest name of a thread, in characters.
const NAME: usize = 100;
/// After so many minutes without a message Discord archives a thread by itself: a week, which is
/// the longest.
const ARCHIVED_AFTER: u32 = 10_080;

/// The Discord adapter. Targets are ids of channels, threads or direct messages, such as
/// `1180000000000000001`, or people, such as `@1180000000000000002`.
pub struct Discord(Arc<DiscordBot>);

impl Discord {
    /// An adapter that is not connected yet; [`Adapter::run`] connects it.
    #[must_use]
    pub fn new(config: DiscordConfig) -> Self {
        let rest = Rest::new(&config.api_url, &config.token);
        let turns = Turns::default();
        let signals = Signals::default();
        let (bell, direct, reply_limit, registered) = Default::default();
        Self(Arc::new(DiscordBot {
            config,
            rest,
            turns,
            signals,
            bell,
            direct,
            reply_limit,
            registered,
        }))
    }
}

#[countersign_port::async_trait]
impl Adapter for Discord {
    fn signals(&self) -> &Signals {
        &self.0.signals
    }

    fn lead(&self, lead: Arc<dyn Lead>) {
        self.0.rest.guard.follow(lead);
    }

    // A channel takes five messages in five seconds.
    fn pace(&self, _: &Target) -> Option<Pace> {
        Some(Pace { at_once: 5, a_minute: 60 })
    }

    // Discord knows the card's id for some minutes, so it does not matter which try this is.
    async fn post(
        &self,
        target: &Target,
        card: &Card,
        _: Posting,
    ) -> Result<MessageRef, SendError> {
        let channel = &*self.0.channel(target).await?;
        let rings = if self.0.bell.notifies(target, card.tone) {
            Rings::Aloud(self.0.config.mention.as_deref())
        } else {
            Rings::Silently
        };
        let body = MessageBody::post(card, draw(card), rings).in_channel(channel);
        let message = self.0.rest.post(channel, &body).await;
        let message = message.map_err(|problem| problem.send_error(channel))?;
        Ok(MessageRef(format!("{channel}/{message}")))
    }

    async fn update(&self, message: &MessageRef, card: &Card) -> Result<(), SendError> {
        self.0.update(message, card).await
    }

    async fn remind(
        &self,
        target: &Target,
        message: &MessageRef,
        reminder: &Reminder,
    ) -> Result<(), SendError> {
        let channel = &*self.0.channel(target).await?;
        let card = message.0.split_once('/').map_or("", |(_, card)| card);
        let sent = self.0.rest.post(channel, &MessageBody::reminder(reminder, card)).await;
        sent.map(drop).map_err(|problem| problem.send_error(channel))
    }

    async fn announce(&self, target: &Target, lines: &[Vec<ReplyPiece>]) -> Result<(), SendError> {
        let channel = &*self.0.channel(target).await?;
        let said = CommandReply { outcome: Outcome::Noted, lines: lines.to_vec() };
        let body = MessageBody::plain(&commands::spoken(&said));
        let sent = self.0.rest.post(channel, &body).await;
        sent.map(drop).map_err(|problem| problem.send_error(channel))
    }

    // A message in the channel, and a public thread at it.
    // The thread has the id of its message, and Discord knows the message's nonce for some minutes:
    // whichever step an earlier try came to, it is gone on with from there.
    async fn open_thread(
        &self,
        target: &Target,
        thread: &SessionThread,
        _: Posting,
    ) -> Result<Target, SendError> {
        if let Some(place) = &thread.place {
            let opened = self.0.rest.archive(&place.0, false).await;
            return opened
                .map(|()| place.clone())
                .map_err(|problem| closed_to_us(problem, &place.0));
        }
        let channel = &*self.0.channel(target).await?;
        let name = thread.name_within(NAME);
        let head = self.0.rest.post(channel, &MessageBody::head(&name, &thread.id)).await;
        let head = head.map_err(|problem| problem.send_error(channel))?;
        let body = json!({"name": name, "auto_archive_duration": ARCHIVED_AFTER});
        match self.0.rest.start_thread(channel, &head, body).await {
            Ok(()) => Ok(Target(head)),
            // An earlier try has made it.
            Err(problem) if problem.code() == Some(160_004) => Ok(Target(head)),
            Err(problem @ Problem::Refused { .. }) => {
                if let Err(problem) = self.0.rest.delete(channel, &head).await {
                    tracing::debug!(%problem, "the message of a thread that is none stays");
                }
                Err(SendError::Refused(format!(
                    "Discord channel {channel} does not accept threads: {problem}; give the bot Create \
                     Public Threads and Send Messages in Threads in the channel's settings"
                )))
            }
            Err(problem) => Err(problem.send_error(channel)),
        }
    }

    async fn close_thread(&self, _: &Target, thread: &SessionThread) -> Result<(), SendError> {
        let Some(place) = &thread.place else { return Ok(()) };
        let closed = self.0.rest.archive(&place.0, true).await;
        match closed.map_err(|problem| closed_to_us(problem, &place.0)) {
            Err(SendError::ThreadGone(_)) => Ok(()),
            closed => closed,
        }
    }

    async fn run(&self, presses: Arc<dyn Presses>, stop: CancellationToken) {
        gateway::receive(&self.0, presses, stop).await;
    }
}

/// What keeps the bot from opening or archiving a thread: it is gone, or others locked it.
fn closed_to_us(problem: Problem, thread: &str) -> SendError {
    match &problem {
        Problem::Refused { .. } => {
            SendError::ThreadGone(format!("Discord thread {thread}: {problem}"))
        }
        _ => problem.send_error(thread),
    }
}
