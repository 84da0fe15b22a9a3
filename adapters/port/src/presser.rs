//! Who pressed, and what came of it in one word.

use serde::{Deserialize, Serialize};

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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
