//! countersign's cards in Telegram.

use countersign_port::{
    Adapter, CancellationToken, Card, Fatal, Health, MessageRef, Presses, SendError, Target,
};
use std::sync::Arc;

/// What the adapter needs to know.
#[derive(Clone)]
pub struct Config {
    /// The bot's token, as @BotFather shows it.
    pub token: String,
    /// Where Telegram is: `https://api.telegram.org` but for tests and own Bot API servers.
    pub api_url: String,
}

/// The Telegram adapter.
pub struct Telegram {
    _config: Config,
}

impl Telegram {
    /// An adapter that is not connected yet; [`Adapter::run`] connects it.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self { _config: config }
    }
}

#[countersign_port::async_trait]
impl Adapter for Telegram {
    fn name(&self) -> &'static str {
        "telegram"
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

/// The bot's `@name`, when Telegram accepts the token.
///
/// # Errors
/// A sentence that says what is wrong and how to mend it.
pub async fn check(_config: &Config) -> Result<String, String> {
    Err("not built yet".to_owned())
}

/// The chat's title, when the bot may post there.
///
/// # Errors
/// A sentence that says what is wrong and how to mend it.
pub async fn check_target(_config: &Config, _target: &Target) -> Result<String, String> {
    Err("not built yet".to_owned())
}
