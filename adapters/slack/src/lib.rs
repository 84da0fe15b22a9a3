//! countersign's cards in Slack.
//!
//! Presses, the slash command and replies to cards come over Socket Mode, so no port is open;
//! everything that is sent goes through the Web API.

mod answer;
mod api;
mod bot;
mod card;
mod doctor;
mod ids;
mod payload;
mod people;
mod platform;
mod problem;
mod receiving;
mod rich;
mod threads;
mod written;

pub use doctor::{check, check_target};
pub use platform::{SlackConfig, SlackPlatform};

use crate::bot::SlackBot;
use crate::rich::{TextLook, spoken, words};
use countersign_port::{
    Adapter, CancellationToken, Card, CommandReply, Lead, MessageRef, Outcome, Pace, Posting,
    Presses, Reminder, ReplyPiece, SendError, SessionThread, Signals, Target,
};
use std::sync::Arc;

/// The Slack adapter. Targets are ids of channels or direct messages, such as `C024BE7LH`, and
/// `@U024BE7LH` for the direct messages with a member.
pub struct Slack(Arc<SlackBot>);

impl Slack {
    /// An adapter that is not connected yet; [`Adapter::run`] connects it.
    #[must_use]
    pub fn new(config: SlackConfig) -> Self {
        Self(Arc::new(SlackBot::new(&config)))
    }
}

#[countersign_port::async_trait]
impl Adapter for Slack {
    fn signals(&self) -> &Signals {
        &self.0.signals
    }

    fn lead(&self, lead: Arc<dyn Lead>) {
        self.0.api.guard.follow(lead);
    }

    // New messages: one a second. Edits: 50 a minute in the whole workspace.
    fn pace(&self, _: &Target) -> Option<Pace> {
        Some(Pace { at_once: 4, a_minute: 45 })
    }

    async fn post(
        &self,
        target: &Target,
        card: &Card,
        posting: Posting,
    ) -> Result<MessageRef, SendError> {
        let channel = &*self.0.direct.channel(&self.0.api, target).await?;
        let place = (channel, ids::thread(target).map(|(_, ts)| ts));
        let found = match posting {
            Posting::First => Ok(None),
            Posting::MayRepeat => self.0.find(place, card).await,
        };
        let posted = match found {
            Ok(Some(there)) => Ok(there),
            Ok(None) => self.0.post(place, card).await,
            Err(problem) => Err(problem),
        };
        posted.map_err(|problem| problem.send_error(channel))
    }

    async fn update(&self, message: &MessageRef, card: &Card) -> Result<(), SendError> {
        self.0.update(message, card).await
    }

    async fn remind(
        &self,
        _: &Target,
        message: &MessageRef,
        reminder: &Reminder,
    ) -> Result<(), SendError> {
        let (channel, ts) = ids::parts(message).map_err(SendError::Refused)?;
        let mut text = words(&format!("⏰ {}", reminder.text));
        for person in &reminder.people {
            text.write(" ", TextLook::Plain);
            match ids::member(&person.id) {
                Some(user) => text.mention(user),
                None => text.write(&person.name, TextLook::Plain),
            }
        }
        // Slack tells those whom a reply mentions.
        let thread = ids::thread_of(message).unwrap_or(ts);
        self.0.say((channel, Some(thread)), text, "A reminder").await
    }

    async fn announce(&self, target: &Target, lines: &[Vec<ReplyPiece>]) -> Result<(), SendError> {
        let channel = &*self.0.direct.channel(&self.0.api, target).await?;
        let said = CommandReply { outcome: Outcome::Noted, lines: lines.to_vec() };
        self.0.say((channel, None), spoken(&said), "A digest").await
    }

    async fn roles_now(&self, person: &str, _: &[String]) -> Result<Option<Vec<String>>, String> {
        let roles = self.0.people.roles_now(&self.0.reader, person).await;
        roles.map(Some).map_err(|problem| {
            format!(
                "Slack did not say who is in its user groups just now, so nothing changed. Press \
                 again. ({problem})"
            )
        })
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
        receiving::receive(&self.0, presses, stop).await;
    }
}
