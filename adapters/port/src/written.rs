//! What people write to the bot, on its way to the core and back.

use crate::{
    Card, CommandCall, CommandReply, MessageRef, PairingMessage, Presser, Presses, Target,
    TextReply,
};

/// What somebody wrote, as an adapter reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Written {
    /// A pairing code.
    Code(String),
    /// A command of the core's without its slash, and what follows it. Other words for the bot are
    /// what follows no command.
    Command(String, String),
    /// A reply to a message of the bot's.
    Reply(String),
}

/// The same with who wrote it, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenWords {
    /// Who wrote them, as the platform itself vouches for it.
    pub presser: Presser,
    /// Where, as cards would have it.
    pub target: Target,
    /// That place in words for people.
    pub place: String,
    /// Where others see the answer, see [`CommandCall::targets`].
    pub seen_at: Vec<Target>,
    /// The message of the bot's that they reply to.
    pub to: Option<MessageRef>,
    /// What they are.
    pub words: Written,
}

/// Hands to the core what somebody wrote, and returns once it is committed or refused: what to
/// tell them, and the card that is different now.
pub async fn hand_over(
    core: &dyn Presses,
    written: WrittenWords,
) -> (CommandReply, Option<(MessageRef, Card)>) {
    let WrittenWords { presser, target, place, seen_at, to, words } = written;
    let receipt = match words {
        Written::Code(code) => core.pair(PairingMessage { presser, target, place, code }).await,
        Written::Reply(text) => {
            core.reply(TextReply { presser, message: to.clone(), token: None, text }).await
        }
        Written::Command(name, rest) => {
            let call = CommandCall { presser, targets: seen_at, message: to, name, rest };
            return (core.command(call).await, None);
        }
    };
    (CommandReply::words(receipt.outcome, receipt.sentence), to.zip(receipt.card))
}
