//! What a person did to a card, and what came of it.

use crate::{Card, MessageRef};
use serde::{Deserialize, Serialize};

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

/// The text that a [`crate::ButtonStyle::Text`] button asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextReply {
    /// Who wrote it, as the platform itself vouches for it.
    pub presser: Presser,
    /// The card's message, when the platform tells.
    pub message: Option<MessageRef>,
    /// The token of the button that asked, where the platform carried it along with its prompt or
    /// window. `None`: the core knows which text this person was asked for last at this message,
    /// also after a restart.
    pub token: Option<String>,
    /// What they wrote.
    pub text: String,
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

/// What really happened to a press. The adapter shows `sentence` to the presser alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// What happened.
    pub outcome: Outcome,
    /// One sentence for the presser, at most 190 characters; empty where the redrawn card says it
    /// all.
    pub sentence: String,
    /// The card as it stands now, where the presser may see it. The adapter redraws the pressed
    /// message with it, early or late. INVARIANT: above all where the press did not apply: the core
    /// edits the copies that it knows, and the pressed one may be a copy that a crash left behind,
    /// with buttons that nobody else takes away.
    pub card: Option<Card>,
}

/// What happened to a press.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Outcome {
    /// The press answered the ask.
    Applied,
    /// The press was noted (a choice toggled, one of several questions answered); the ask is open.
    Noted,
    /// Free text is wanted next: ask the presser for it with `sentence`, then call
    /// [`Presses::reply`]. Where it is too late to ask, tell [`TEXT_NOT_NOW`].
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

/// What an adapter tells a presser whom it cannot ask for text any more, as where a window can only
/// be opened within seconds of the press. Nothing is lost: the ask is open, and pressing again asks
/// again.
pub const TEXT_NOT_NOW: &str = "That took too long to ask for your text. Press again.";

/// The core, as one adapter sees it: whatever comes in here comes from that adapter's platform.
#[crate::async_trait]
pub trait Presses: Send + Sync {
    /// Hands a press to the core and returns once it is committed or refused.
    async fn press(&self, press: Press) -> Receipt;

    /// Hands a text to the core and returns once it is committed or refused.
    async fn reply(&self, reply: TextReply) -> Receipt;

    /// A card of this adapter as its ask stands now, for a platform that would else have to keep
    /// large cards; `None` where there is none, or it cannot be read.
    async fn card(&self, _id: &str) -> Option<Card> {
        None
    }
}
