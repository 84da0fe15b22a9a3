//! The platform-neutral picture of an ask.

use serde::{Deserialize, Serialize};

/// What a person sees of one ask in one place.
///
/// Text in [`Block::Code`] and [`Block::Quote`] comes from an agent and is not to be trusted: an
/// adapter shows it literally, so that it can neither format, ping, link nor pass for the card's
/// own words. Everything else is the bridge's own words (plain text, to be escaped all the same).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// Opaque and unique per ask and target, at most 22 characters `[A-Za-z0-9_-]`. The same card
    /// is posted under the same id when a post is repeated, so a platform may use it to send only
    /// once.
    pub id: String,
    /// The ask's short public id, for people and for file names.
    pub ask: String,
    /// Counts up with every change of the card; the newest is the truth.
    pub revision: u32,
    /// What became of the ask, as a colour or a sign.
    pub tone: Tone,
    /// One line, also fit for a notification: who asks for what, without secrets.
    pub title: String,
    /// The content, top to bottom.
    pub blocks: Vec<Block>,
    /// Rows of buttons; empty once the ask is closed. At most 5 rows of at most 5 buttons.
    pub buttons: Vec<Vec<Button>>,
    /// When the ask expires, Unix milliseconds; `None` once closed or without deadline.
    pub deadline: Option<i64>,
}

/// What became of an ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tone {
    /// Waiting for a person.
    Open,
    /// Approved or answered.
    Approved,
    /// Denied.
    Denied,
    /// Nobody answered in time.
    Expired,
    /// The caller went away or answered elsewhere.
    Cancelled,
}

/// One part of a card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum Block {
    /// The agent's text, verbatim: a command, arguments, a file's new content. Never cut silently:
    /// what does not fit is said in figures and carried whole as a file (see [`crate::excerpt`]).
    Code {
        /// What it is, such as `command`.
        label: String,
        /// The whole text, exactly.
        text: String,
    },
    /// The agent's words to people, such as a reason or a question.
    Quote {
        /// What it is, such as `reason`.
        label: String,
        /// The text.
        text: String,
    },
    /// Short facts, such as agent, session, host and folder.
    Fields {
        /// In the order to be shown.
        fields: Vec<Field>,
    },
    /// The bridge's own words, such as what Always would store.
    Note {
        /// The text.
        text: String,
    },
    /// The end of the story: who decided, when, with what scope.
    Outcome {
        /// The text.
        text: String,
    },
}

/// A short fact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// The fact's name.
    pub name: String,
    /// Its value; may hold text from an agent.
    pub value: String,
}

/// Something to press.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Button {
    /// Opaque, at most 40 bytes of `[A-Za-z0-9_.-]`; carries no authority and no meaning for
    /// adapters.
    pub token: String,
    /// At most 34 characters.
    pub label: String,
    /// How it looks.
    pub style: ButtonStyle,
}

/// How a button looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ButtonStyle {
    /// Lets this one call go on.
    Approve,
    /// Lets it go on and remembers a rule.
    Always,
    /// Says no.
    Deny,
    /// An option of a question.
    Choice,
    /// An option that is chosen already.
    Chosen,
    /// Ends a multiple choice.
    Submit,
    /// Asks for free text: the core answers its press with [`crate::Outcome::TextWanted`].
    Text,
}
