//! Cores for tests: what reaches them, and what they answer.

use countersign_port::{
    BotCommand, Card, CommandCall, CommandParameter, MessageRef, Outcome, PairingMessage, Press,
    Presser, Receipt, TextReply, locked,
};
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc;

/// What reached the core: a press, a text, a command, or a pairing code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// Who did it.
    pub presser: Presser,
    /// To which message.
    pub message: Option<MessageRef>,
    /// The button's token; empty for a text that comes without one; a command's name behind a
    /// slash; a pairing code with its target and place.
    pub token: String,
    /// The text, where it is one; the options that came with a press, with blanks between.
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

impl From<CommandCall> for Received {
    fn from(call: CommandCall) -> Self {
        let CommandCall { presser, message, name, rest, .. } = call;
        Self { presser, message, token: format!("/{name}"), text: Some(rest) }
    }
}

impl From<PairingMessage> for Received {
    fn from(sent: PairingMessage) -> Self {
        let PairingMessage { presser, target, place, code } = sent;
        let token = format!("{code} at {} ({place})", target.0);
        Self { presser, message: None, token, text: None }
    }
}

/// The commands of the cores of tests.
pub const COMMANDS: &[BotCommand] = &[
    BotCommand { name: "pending", description: "What waits for an answer", parameters: &[] },
    BotCommand {
        name: "deny",
        description: "Deny an ask",
        parameters: &[
            CommandParameter { name: "id", description: "Which", required: true },
            CommandParameter { name: "reason", description: "Why", required: false },
        ],
    },
];

/// A core of a test's own, for which presses, texts and commands are one.
#[countersign_port::async_trait]
pub trait TestCore: Send + Sync {
    /// Says what came of it.
    async fn take(&self, received: Received) -> Receipt;

    /// A card as it is now.
    async fn card(&self, _id: &str) -> Option<Card> {
        None
    }
}

/// Makes the [`TestCore`] of this type a core that adapters report to.
#[macro_export]
macro_rules! presses {
    ($core:ty) => {
        const _: () = {
            use $crate::port::{
                BotCommand, Card, CommandCall, CommandReply, MessageRef, PairingMessage, Press,
                Presses, Receipt, TextReply, async_trait,
            };
            use $crate::{COMMANDS, Received, TestCore};

            #[async_trait]
            impl Presses for $core {
                async fn press(&self, press: Press) -> Receipt {
                    self.take(press.into()).await
                }

                async fn press_with(&self, press: Press, chosen: Vec<String>) -> Receipt {
                    self.take(Received { text: Some(chosen.join(" ")), ..press.into() }).await
                }

                async fn reply(&self, reply: TextReply) -> Receipt {
                    self.take(reply.into()).await
                }

                fn commands(&self) -> &'static [BotCommand] {
                    COMMANDS
                }

                async fn command(&self, call: CommandCall) -> CommandReply {
                    let Receipt { outcome, sentence, .. } = self.take(call.into()).await;
                    CommandReply::words(outcome, sentence)
                }

                async fn pair(&self, sent: PairingMessage) -> Receipt {
                    self.take(sent.into()).await
                }

                async fn card(&self, id: &str, _at: Option<&MessageRef>) -> Option<Card> {
                    TestCore::card(self, id).await
                }
            }
        };
    };
}

/// A core that answers every press with the next receipt it was given and remembers what came in.
pub struct ScriptedCore {
    receipts: Mutex<Vec<Receipt>>,
    card: Mutex<Option<Card>>,
    seen: mpsc::UnboundedSender<Received>,
}

impl ScriptedCore {
    /// A core with these receipts, and the presses that reach it.
    #[must_use]
    pub fn new(receipts: Vec<Receipt>) -> (Arc<Self>, mpsc::UnboundedReceiver<Received>) {
        let (seen, presses) = mpsc::unbounded_channel();
        let receipts = Mutex::new(receipts);
        let card = Mutex::default();
        (Arc::new(Self { receipts, card, seen }), presses)
    }

    /// The same, which also has this card.
    #[must_use]
    pub fn with_card(
        receipts: Vec<Receipt>,
        card: Card,
    ) -> (Arc<Self>, mpsc::UnboundedReceiver<Received>) {
        let (core, presses) = Self::new(receipts);
        *locked(&core.card) = Some(card);
        (core, presses)
    }
}

#[countersign_port::async_trait]
impl TestCore for ScriptedCore {
    async fn take(&self, received: Received) -> Receipt {
        let _ = self.seen.send(received);
        let mut receipts = locked(&self.receipts);
        if receipts.is_empty() {
            let sentence = "This ask is no longer pending.".to_owned();
            return Receipt { outcome: Outcome::Unknown, sentence, card: None };
        }
        receipts.remove(0)
    }

    async fn card(&self, id: &str) -> Option<Card> {
        let card = locked(&self.card);
        card.clone().filter(|card| card.id == id)
    }
}

presses!(ScriptedCore);
