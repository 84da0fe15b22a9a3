//! countersign's cards in Discord.
//!
//! Presses come over the gateway (through serenity, without any privileged intent); everything that
//! is sent goes through a small client of our own; `rest.rs` says why.

mod answer;
mod doctor;
mod errors;
mod gateway;
mod markdown;
mod message;
mod pace;
mod receive;
mod receiving;
mod render;
mod rest;
mod sheet;
mod turns;
mod watch;

pub use doctor::{check, check_target, invite_url};

use crate::errors::Problem;
use crate::message::Body;
use crate::render::{Drawn, draw};
use crate::rest::Rest;
use crate::turns::Turns;
use countersign_port::{
    Adapter, CancellationToken, Card, Lead, MessageRef, Presses, SendError, Signals, Target,
};
use std::sync::Arc;

const NAME: &str = "discord";

/// What the adapter needs to know.
#[derive(Clone)]
pub struct Config {
    /// The bot's token, as the developer portal shows it.
    pub token: String,
    /// Where Discord is: an origin, `https://discord.com` but for tests and proxies.
    pub api_url: String,
}

/// The Discord adapter. Targets are ids of channels, threads or direct messages, such as
/// `1180000000000000001`.
pub struct Discord(Arc<Shared>);

/// What sending and receiving share.
struct Shared {
    config: Config,
    rest: Rest,
    turns: Turns,
    signals: Signals,
}

impl Discord {
    /// An adapter that is not connected yet; [`Adapter::run`] connects it.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let rest = Rest::new(&config.api_url, &config.token);
        let (turns, signals) = (Turns::default(), Signals::default());
        Self(Arc::new(Shared { config, rest, turns, signals }))
    }
}

#[countersign_port::async_trait]
impl Adapter for Discord {
    fn name(&self) -> &'static str {
        NAME
    }

    fn signals(&self) -> &Signals {
        &self.0.signals
    }

    fn lead(&self, lead: Arc<dyn Lead>) {
        self.0.rest.guard.follow(lead);
    }

    async fn post(&self, target: &Target, card: &Card) -> Result<MessageRef, SendError> {
        let channel = channel(target).map_err(SendError::TargetGone)?;
        let message = self.0.rest.post(channel, &Body::post(card, draw(card))).await;
        let message = message.map_err(|problem| problem.send_error(channel))?;
        Ok(MessageRef(format!("{channel}/{message}")))
    }

    async fn update(&self, message: &MessageRef, card: &Card) -> Result<(), SendError> {
        let Some((channel, id)) = message.0.split_once('/') else {
            return Err(SendError::Refused(format!("`{}` is not a Discord message", message.0)));
        };
        let mut newest = self.0.turns.wait(message).await;
        if card.revision < *newest {
            return Ok(());
        }
        let edited = self.0.edit(channel, id, draw(card)).await;
        match edited {
            // Deleted, and with it its buttons.
            Err(problem) if problem.code() == Some(10008) => Ok(()),
            Err(problem) => Err(problem.send_error(channel)),
            Ok(()) => {
                *newest = card.revision;
                Ok(())
            }
        }
    }

    async fn run(&self, presses: Arc<dyn Presses>, stop: CancellationToken) {
        receiving::receive(&self.0, presses, stop).await;
    }
}

impl Shared {
    async fn edit(&self, channel: &str, id: &str, drawn: Drawn) -> Result<(), Problem> {
        // Which files stand there already only Discord knows: this process may be a new one.
        let standing = match drawn.files.is_empty() {
            true => Vec::new(),
            false => match self.rest.files(channel, id).await {
                // May write but not read: then the files are sent again.
                Err(Problem::Refused { status: 403, .. }) => Vec::new(),
                standing => standing?,
            },
        };
        let body = Body::edit(drawn, &standing);
        match self.rest.edit(channel, id, &body).await {
            Err(problem) if problem.code() == Some(50083) => {
                self.rest.unarchive(channel).await.map_err(|_| problem)?;
                self.rest.edit(channel, id, &body).await
            }
            edited => edited,
        }
    }
}

/// The channel's id of a target.
fn channel(target: &Target) -> Result<&str, String> {
    let id = target.0.as_str();
    if !id.is_empty() && id.len() <= 20 && id.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(id);
    }
    Err(format!(
        "`{id}` is not a Discord channel: in `[discord] targets` give the number that Discord's \
         Copy Channel ID gives"
    ))
}

/// Whether this is Discord itself.
fn is_discord(api_url: &str) -> bool {
    api_url.trim_end_matches('/').eq_ignore_ascii_case("https://discord.com")
}
