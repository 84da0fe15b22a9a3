//! What a person did to a card, who they are, and what came of it.

use crate::{BotCommand, Card, CommandCall, CommandReply, MessageRef, PairingMessage, Target};
use serde::{Deserialize, Serialize};
use std::future::Future;
use std::time::Duration;

/// A button that was pressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Press {
    /// Who pressed, as the platform itself vouches for it.
    pub presser: Presser,
    /// The message that was pressed, when the platform tells.
    pub message: Option<MessageRef>,
    /// The button's token as it came back; may be forged.
    pub token: String,
}

/// The text that a [`crate::ButtonStyle::Text`] button asked for, or a plain reply to a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextReply {
    /// Who wrote it, as the platform itself vouches for it.
    pub presser: Presser,
    /// The card's message, when the platform tells.
    pub message: Option<MessageRef>,
    /// The token of the button that asked, where the platform carried it along with its prompt or
    /// window. `None`: the core knows which text this person was asked for last at this message,
    /// also after a restart. Where they were asked for none, the text is a plain reply to the card:
    /// a denial with this reason, or the answer to its question.
    pub token: Option<String>,
    /// What they wrote.
    pub text: String,
}

/// What really happened to a press. The adapter shows `sentence` to the presser alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// What happened.
    pub outcome: Outcome,
    /// One sentence for the presser, at most 190 characters; empty where the redrawn card says it
    /// all.
    pub sentence: String,
    /// The card as it is now, where the presser may see it. The adapter redraws the pressed
    /// message with it, early or late. INVARIANT: above all where the press did not apply: the core
    /// edits the copies that it knows, and the pressed one may be a copy that a crash left behind,
    /// with buttons that nobody else takes away. It may also be a view of the card, such as the
    /// question whether a critical call is really meant: then its revision is that of the card.
    pub card: Option<Card>,
}

/// What an adapter tells a presser whom it cannot ask for text any more, as where a window can only
/// be opened within seconds of the press. Nothing is lost: the ask is open, and pressing again asks
/// again.
pub const TEXT_NOT_NOW: &str = "That took too long to ask for your text. Press again.";

/// What everybody is told whose pairing code does not work. One sentence for all: a stranger does
/// not learn whether a code was used, has expired or never existed.
pub const UNKNOWN_CODE: &str = "This code does not work (any more). Run `countersign connect` \
                                again for a new one.";

/// The core, as one adapter sees it: whatever comes in here comes from that adapter's platform.
#[crate::async_trait]
pub trait Presses: Send + Sync {
    /// Hands a press to the core and returns once it is committed or refused.
    async fn press(&self, press: Press) -> Receipt;

    /// The same for a [`crate::ButtonStyle::Submit`] button on a platform that keeps the options
    /// which somebody ticks to itself until then: with the tokens of those, which count instead of
    /// what was chosen on other surfaces. A core that does not take them counts none.
    async fn press_with(&self, press: Press, _chosen: Vec<String>) -> Receipt {
        self.press(press).await
    }

    /// Hands a text to the core and returns once it is committed or refused.
    async fn reply(&self, reply: TextReply) -> Receipt;

    /// The text in whose place a text of the presser would come, for a field that holds it from the
    /// beginning: of a button that asked for words with [`Outcome::TextWanted`]. `None` where there
    /// is none, or not all of it can be seen.
    async fn draft(&self, _press: &Press) -> Option<String> {
        None
    }

    /// The commands that the core takes; none from a core that knows none.
    fn commands(&self) -> &'static [BotCommand] {
        &[]
    }

    /// Hands over a command, or other words that somebody addressed to the bot, and returns once
    /// what they want is committed or refused.
    async fn command(&self, _call: CommandCall) -> CommandReply {
        CommandReply::silence()
    }

    /// Hands over a pairing code that somebody sent to the bot. Anybody can send one: an adapter
    /// answers [`Outcome::Unknown`] only now and then.
    async fn pair(&self, _sent: PairingMessage) -> Receipt {
        let sentence = UNKNOWN_CODE.to_owned();
        Receipt { outcome: Outcome::Unknown, sentence, card: None }
    }

    /// The roles of this platform by which people may answer or are in a group, for a platform that
    /// does not say with each press who holds them.
    fn roles(&self) -> Vec<String> {
        Vec::new()
    }

    /// What to tell somebody who greets the bot, where they may answer the cards that are shown
    /// there; `None` for everybody else.
    fn greeting(&self, _presser: &Presser, _target: &Target) -> Option<String> {
        None
    }

    /// A card of this adapter as its ask is now, for a platform that would else have to keep
    /// large cards; `None` where there is none, or it cannot be read. `at` is the message that shows
    /// it, which may hold other cards too.
    async fn card(&self, _id: &str, _at: Option<&MessageRef>) -> Option<Card> {
        None
    }
}

/// Who pressed. Only `id` identifies: names can be changed by their owners.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Presser {
    /// The platform's own lasting identity, in the spelling that `[approvers]` has: a number on
    /// some platforms, such as `U024BE7LH` or `@ana:example.org` on others. Two people never have
    /// the same, and nobody can choose theirs.
    pub id: String,
    /// For people to read.
    pub name: String,
    /// The platform's role ids at the moment of the press; empty where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
}

/// What happened to a press.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[must_use]
pub enum Outcome {
    /// The press answered the ask.
    Applied,
    /// The press was noted (a choice toggled, one of several questions answered); the ask is open.
    Noted,
    /// Free text is wanted next: ask the presser for it with `sentence`, then call
    /// `Presses::reply`. Where it is too late to ask, tell `TEXT_NOT_NOW`.
    TextWanted,
    /// Somebody else was first.
    AlreadyAnswered,
    /// The deadline had passed.
    Expired,
    /// The ask was cancelled.
    Cancelled,
    /// The presser may not answer. Tell only the presser.
    NotAllowed,
    /// No such ask or button, or a superseded one.
    Unknown,
    /// The press could not be recorded; nothing changed, the presser may try again.
    Fault,
}

/// What came of a press, and whether the platform was still waiting for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Acknowledged<A> {
    /// In time: the acknowledgement itself can carry the receipt.
    InTime(Receipt),
    /// The platform's patience ended first, and it got an empty acknowledgement. The receipt is to
    /// be told in another way: a follow-up message to the presser, an edit of the pressed message.
    Late {
        /// What came of the press.
        receipt: Receipt,
        /// What came of the empty acknowledgement.
        acknowledged: A,
    },
}

/// Waits for the core for as long as the platform waits for us; then gives the empty
/// acknowledgement and goes on waiting for the core.
// INVARIANT: an empty acknowledgement says nothing of the press. What happened is told from the
// receipt alone, after the core has committed or refused.
pub async fn within<A>(
    patience: Duration,
    pressing: impl Future<Output = Receipt>,
    acknowledge: impl Future<Output = A>,
) -> Acknowledged<A> {
    let mut pressing = std::pin::pin!(pressing);
    match tokio::time::timeout(patience, &mut pressing).await {
        Ok(receipt) => Acknowledged::InTime(receipt),
        Err(_) => {
            let (acknowledged, receipt) = tokio::join!(acknowledge, pressing);
            Acknowledged::Late { receipt, acknowledged }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receipt() -> Receipt {
        Receipt { outcome: Outcome::Applied, sentence: "Approved once.".to_owned(), card: None }
    }

    async fn after(seconds: u64) -> Receipt {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        receipt()
    }

    #[tokio::test(start_paused = true)]
    async fn a_core_in_time_is_told_at_once_and_nothing_empty_is_sent() {
        let empty = std::future::pending::<()>();
        let told = within(Duration::from_secs(2), after(1), empty).await;
        assert_eq!(told, Acknowledged::InTime(receipt()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_core_is_told_late_and_the_platform_is_acknowledged_in_time() {
        let began = tokio::time::Instant::now();
        let empty = async { began.elapsed() };
        let told = within(Duration::from_secs(2), after(4), empty).await;
        let acknowledged = Duration::from_secs(2);
        assert_eq!(told, Acknowledged::Late { receipt: receipt(), acknowledged });
        assert_eq!(began.elapsed(), Duration::from_secs(4));
    }
}
