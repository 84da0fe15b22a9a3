//! What became of a call, as the client understood it.

use countersign_ask::{Decision, call::Call};
use countersign_protocol::AnswerView;

/// A call that was submitted.
#[derive(Debug, Clone, PartialEq)]
pub enum Submitted {
    /// It is decided already.
    Decided(Box<Decided>),
    /// It waits for a person, under this id.
    Ask(String),
}

/// A decided call.
#[derive(Debug, Clone, PartialEq)]
pub struct Decided {
    /// Only a reply that says "allow" in so many words lets a call run.
    pub decision: Decision,
    /// Who decided and why, in one sentence without a capital.
    pub reason: String,
    /// What the agent's model is told in its own system's words, where that has any.
    pub message: Option<String>,
    /// How it ended.
    pub ending: Ending,
}

impl Decided {
    /// The same, where it decides what was asked.
    // FAIL-CLOSED: answers to questions never let a call run, and questions are never answered by
    // leave to run something.
    pub(super) fn of(self, call: &Call) -> Result<Self, &'static str> {
        match (self.decision, call.questions.is_empty()) {
            (Decision::Answer, true) => Err("answers, though nothing was asked"),
            (Decision::Approve, false) => Err("an approval, though a question was asked"),
            (Decision::Approve | Decision::Answer | Decision::Deny, _) => Ok(self),
        }
    }
}

/// How a call came to be decided.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    /// A rule ruled at once, and nobody was asked; the rule, where there is one.
    Ruled(Option<String>),
    /// A person answered, or a grant came to cover it.
    Answered(AnswerView),
    /// Nobody answered in time.
    Expired,
    /// It was taken back.
    Cancelled,
}
