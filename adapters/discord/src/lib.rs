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
use crate::message::{MessageBody, Rings};
use crate::rest::Rest;
use countersign_port::{
    Adapter, CancellationToken, Card, CommandReply, Lead, MessageRef, Outcome, Pace, Posting,
    Presses, Reminder, ReplyPiece, SendError, SessionThread, Signals, Target, Turns,
};
use std::sync::Arc;

/// The Discord adapter. Targets are ids of channels, threads or direct messages, such as
/// `1180000000000000001`, or people, such as `@1180000000000000002`.
pub struct Discord(Arc<DiscordBot>);

impl Discord {
    /// An adapter that is not connected yet; [`Adapter::run`] connects it.
    #[must_use]
    pub fn new(config: DiscordConfig) -> Self {
        let rest = Rest::new(&config.api_url, &config.token);
        let (turns, signals) = (Turns::default(), Signals::default());
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
        let rings = if self.0.bell.notifies(target, card) {
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

    async fn open_thread(
        &self,
        target: &Target,
        thread: &SessionThread,
        posting: Posting,
    ) -> Result<Target, SendError> {
        self.0.open_thread(target, thread, posting).await
    }

    async fn close_thread(&self, _: &Target, thread: &SessionThread) -> Result<(), SendError> {
        self.0.close_thread(thread).await
    }

    async fn run(&self, presses: Arc<dyn Presses>, stop: CancellationToken) {
        gateway::receive(&self.0, presses, stop).await;
    }
}
