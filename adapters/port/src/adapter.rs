//! What an adapter does.

use crate::{Card, Lead, Presses, Signals};
use serde::{Deserialize, Serialize};
use std::{sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

/// One chat platform.
#[crate::async_trait]
pub trait Adapter: Send + Sync {
    /// The platform's name, as in the config: `telegram`, `discord`, `inbox`.
    fn name(&self) -> &'static str;

    /// What it reports of its connection to the platform.
    fn signals(&self) -> &Signals;

    /// Whether posted messages outlive this process. Where they do not, the core posts open cards
    /// anew at every start.
    fn keeps_messages(&self) -> bool {
        true
    }

    /// Says who leads from now on. Whatever is sent without leading has to be held back, see
    /// [`crate::SendGuard`]; an adapter of this process alone has nothing to hold back.
    fn lead(&self, _lead: Arc<dyn Lead>) {}

    /// Shows a card at a target, whole, and names the message. A repeated post of the same card id
    /// may return the first message.
    ///
    /// # Errors
    /// See [`SendError`]; the core retries as the error says.
    async fn post(&self, target: &Target, card: &Card) -> Result<MessageRef, SendError>;

    /// Redraws a posted card. A message that is gone or looks like this already is `Ok`.
    ///
    /// # Errors
    /// See [`SendError`].
    async fn update(&self, message: &MessageRef, card: &Card) -> Result<(), SendError>;

    /// Shows what people have to know of the bridge itself, such as a chat where presses are not
    /// received; an empty list when all is well. A platform without a place for it shows nothing.
    fn notice(&self, _sentences: &[String]) {}

    /// Receives presses until `stop` is cancelled. Whatever ends the connection, a refused token
    /// included, is reported by [`Signals::deaf`] and tried again, because it can be put right
    /// outside.
    async fn run(&self, presses: Arc<dyn Presses>, stop: CancellationToken);
}

/// Where cards go, in the adapter's own canonical spelling (such as `-100123/7`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Target(pub String);

/// A posted message, in the adapter's own spelling. The core stores it and compares it, no more.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MessageRef(pub String);

/// Why a card could not be shown or redrawn. No variant ever changes a decision.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The platform said when to come back.
    #[error("the platform asks to wait {} s", .0.as_secs_f32())]
    RetryAfter(Duration),
    /// Worth another try with backoff: network, 5xx, an unreadable answer.
    #[error("{0}")]
    Transient(String),
    /// The target moved (a Telegram group became a supergroup): use the new one from now on.
    #[error("the target is now `{}`", .0.0)]
    Moved(Target),
    /// The target cannot be reached now: blocked, kicked, deleted, no permission. It was not shown.
    #[error("{0}")]
    TargetGone(String),
    /// The platform refuses this card; sending it again changes nothing.
    #[error("{0}")]
    Refused(String),
    /// Nothing can be sent at all: a refused token.
    #[error("{0}")]
    Fatal(String),
}
