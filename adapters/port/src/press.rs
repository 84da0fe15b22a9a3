//! What a person did to a card, and what came of it.

use crate::{Card, MessageRef};
use serde::{Deserialize, Serialize};

/// A button pressed, or the text that a [`crate::ButtonStyle::Text`] button asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Press {
    /// The adapter's [`crate::Adapter::name`].
    pub adapter: &'static str,
    /// Who pressed, as the platform itself vouches for it.
    pub presser: Presser,
    /// The message that was pressed, when the platform tells.
    pub message: Option<MessageRef>,
    /// The button's token as it came back; may be forged.
    pub token: String,
    /// Free text, for the second half of a text answer.
    pub text: Option<String>,
}

/// Who pressed. Only `id` identifies: names can be changed by their owners.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Presser {
    /// The platform's own, numeric and lasting identity.
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
    /// The card as it stands now, where the presser may see it: a platform that can redraw the
    /// pressed message in its answer does so; the core edits all copies anyway.
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
    /// Free text is wanted next: ask the presser for it with `sentence`, then press the same token
    /// again with the text.
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

/// The core, as adapters see it.
#[crate::async_trait]
pub trait Presses: Send + Sync {
    /// Hands a press to the core and returns once it is committed or refused.
    async fn press(&self, press: Press) -> Receipt;

    /// A card of this adapter as its ask stands now, for a platform that would else have to keep
    /// large cards; `None` where there is none, or it cannot be read.
    async fn card(&self, _adapter: &'static str, _id: &str) -> Option<Card> {
        None
    }
}
