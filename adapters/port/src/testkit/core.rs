//! Cores for tests: what reaches them, and what they answer.

use crate::{MessageRef, Outcome, Press, Presser, Presses, Receipt, TextReply};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::mpsc;

/// What reached the core: a press, or a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// Who did it.
    pub presser: Presser,
    /// To which message.
    pub message: Option<MessageRef>,
    /// The button's token; empty for a text that comes without one.
    pub token: String,
    /// The text, where it is one.
    pub text: Option<String>,
}

impl From<Press> for Received {
    fn from(press: Press) -> Self {
        let Press { presser, message, token } = press;
        Self { presser, message, token, text: None }
    }
}

impl From<TextReply> for Received {
    fn from(reply: TextReply) -> Self {
        let TextReply { presser, message, token, text } = reply;
        Self { presser, message, token: token.unwrap_or_default(), text: Some(text) }
    }
}

/// A core of a test's own, for which presses and texts are one.
#[crate::async_trait]
pub trait TestCore: Send + Sync {
    /// Says what came of it.
    async fn take(&self, received: Received) -> Receipt;
}

#[crate::async_trait]
impl<T: TestCore> Presses for T {
    async fn press(&self, press: Press) -> Receipt {
        self.take(press.into()).await
    }

    async fn reply(&self, reply: TextReply) -> Receipt {
        self.take(reply.into()).await
    }
}

/// A core that answers every press with the next receipt it was given and remembers what came in.
pub struct ScriptedCore {
    receipts: Mutex<Vec<Receipt>>,
    seen: mpsc::UnboundedSender<Received>,
}

impl ScriptedCore {
    /// A core with these receipts, and the presses that reach it.
    #[must_use]
    pub fn new(receipts: Vec<Receipt>) -> (Arc<Self>, mpsc::UnboundedReceiver<Received>) {
        let (seen, presses) = mpsc::unbounded_channel();
        (Arc::new(Self { receipts: Mutex::new(receipts), seen }), presses)
    }
}

#[crate::async_trait]
impl TestCore for ScriptedCore {
    async fn take(&self, received: Received) -> Receipt {
        let _ = self.seen.send(received);
        let mut receipts = self.receipts.lock().unwrap_or_else(PoisonError::into_inner);
        if receipts.is_empty() {
            let sentence = "This ask is no longer pending.".to_owned();
            return Receipt { outcome: Outcome::Unknown, sentence, card: None };
        }
        receipts.remove(0)
    }
}
