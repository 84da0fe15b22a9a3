//! countersign's cards in Telegram.
//!
//! INVARIANT: an update is confirmed to Telegram (by the offset of the next pull) only after
//! [`Presses::press`] has returned for every press in its batch. What was not confirmed comes back.

mod address;
mod api;
mod check;
mod conflict;
mod errors;
mod fit;
mod hello;
mod keyboard;
mod page;
mod press;
mod prompt;
mod pull;
mod recent;
mod render;
mod retry;
mod send;

use api::Api;
use countersign_port::{
    Adapter, CancellationToken, Card, Lead, MessageRef, Presses, SendError, Signals, Target,
};
use send::Cards;
use std::sync::Arc;

pub use check::{check, check_target};

/// What the adapter needs to know.
#[derive(Clone)]
pub struct Config {
    /// The bot's token, as @BotFather shows it.
    pub token: String,
    /// Where the Bot API is: `https://api.telegram.org` but for tests and own Bot API servers.
    pub api_url: String,
}

/// SECURITY: the token is not printed.
impl std::fmt::Debug for Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Config").field("api_url", &self.api_url).finish_non_exhaustive()
    }
}

/// The Telegram adapter.
///
/// Targets are `CHAT` or `CHAT/TOPIC` in numbers, messages are `CHAT/MESSAGE`.
pub struct Telegram {
    api: Api,
    cards: Arc<Cards>,
    signals: Signals,
}

impl Telegram {
    /// An adapter that is not connected yet; [`Adapter::run`] connects it.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let api = Api::new(&config);
        let cards = Arc::new(Cards::new(api.clone()));
        Self { api, cards, signals: Signals::default() }
    }

    fn listening(&self) {
        if self.signals.listening() {
            tracing::info!("telegram brings presses");
        }
    }

    fn deaf(&self, why: String) {
        if self.signals.deaf(&*why) {
            tracing::warn!(why, "telegram brings no presses; trying again");
        }
    }
}

#[countersign_port::async_trait]
impl Adapter for Telegram {
    fn name(&self) -> &'static str {
        NAME
    }

    fn signals(&self) -> &Signals {
        &self.signals
    }

    fn lead(&self, lead: Arc<dyn Lead>) {
        self.api.guard.follow(lead);
    }

    async fn post(&self, target: &Target, card: &Card) -> Result<MessageRef, SendError> {
        self.cards.post(target, card).await
    }

    async fn update(&self, message: &MessageRef, card: &Card) -> Result<(), SendError> {
        self.cards.update(message, card).await
    }

    async fn run(&self, presses: Arc<dyn Presses>, stop: CancellationToken) {
        self.receive(presses, stop).await;
    }
}

/// The adapter's name, here and in the config.
const NAME: &str = "telegram";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_config_does_not_hold_the_token() {
        let config = Config { token: "7:SECRET".into(), api_url: "https://example.org".into() };
        assert_eq!(format!("{config:?}"), "Config { api_url: \"https://example.org\", .. }");
    }
}
