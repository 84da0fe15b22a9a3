//! countersign's cards in Discord.

use countersign_port::{
    Adapter, CancellationToken, Card, Fatal, Health, MessageRef, Presses, SendError, Target,
};
use std::sync::Arc;

/// What the adapter needs to know.
#[derive(Clone)]
pub struct Config {
    /// The bot's token, as the developer portal shows it (without `Bot `).
    pub token: String,
    /// Where Discord is: an origin, `https://discord.com` but for tests and proxies.
    pub api_url: String,
}

/// The Discord adapter.
pub struct Discord {
    _config: Config,
}

impl Discord {
    /// An adapter that is not connected yet; [`Adapter::run`] connects it.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self { _config: config }
    }
}

#[countersign_port::async_trait]
impl Adapter for Discord {
    fn name(&self) -> &'static str {
        "discord"
    }

    fn health(&self) -> Health {
        Health::Starting
    }

    async fn post(&self, _target: &Target, _card: &Card) -> Result<MessageRef, SendError> {
        Err(SendError::Transient("not built yet".to_owned()))
    }

    async fn update(&self, _message: &MessageRef, _card: &Card) -> Result<(), SendError> {
        Err(SendError::Transient("not built yet".to_owned()))
    }

    async fn run(&self, _presses: Arc<dyn Presses>, stop: CancellationToken) -> Result<(), Fatal> {
        stop.cancelled().await;
        Ok(())
    }
}

/// The bot's name, when Discord accepts the token.
///
/// # Errors
/// A sentence that says what is wrong and how to mend it.
pub async fn check(_config: &Config) -> Result<String, String> {
    Err("not built yet".to_owned())
}

/// The channel's name, when the bot may post there.
///
/// # Errors
/// A sentence that says what is wrong and how to mend it.
pub async fn check_target(_config: &Config, _target: &Target) -> Result<String, String> {
    Err("not built yet".to_owned())
}

/// The link that invites the bot to a server with the permissions that it needs.
///
/// # Errors
/// A sentence that says what is wrong and how to mend it.
pub async fn invite_url(_config: &Config) -> Result<String, String> {
    Err("not built yet".to_owned())
}
