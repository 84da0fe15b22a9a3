//! The outcome of a call, as the client understands it.

use countersign_ask::{
    Decision,
    call::{Accepts, Call},
};
use countersign_protocol::AnswerView;

/// The state of a call after its submission.
#[derive(Debug, Clone, PartialEq)]
pub enum Submitted {
    /// The call is decided.
    Decided(Box<Decided>),
    /// A person decides, under this ask id.
    Ask(String),
}

/// A decided call.
#[derive(Debug, Clone, PartialEq)]
pub struct Decided {
    /// The decision; a call may run only if the reply contains exactly "allow".
    pub decision: Decision,
    /// Who decided and why, as one sentence that starts in lower case.
    pub reason: String,
    /// The text for the agent's model, if its system has one.
    pub message: Option<String>,
    /// The ask's id, where a person was asked.
    pub ask: Option<String>,
    /// The way in which the decision was made.
    pub ending: Ending,
}

impl Decided {
    /// The reason, with the rule behind it where the reason does not name it itself.
    #[must_use]
    pub fn reason_and_rule(&self) -> String {
        match &self.ending {
            Ending::Ruled(Some(rule)) if !self.reason.contains(rule.as_str()) => {
                format!("{} ({rule})", self.reason)
            }
            _ => self.reason.clone(),
        }
    }

    /// Checks that the decision fits what was asked.
    // FAIL-CLOSED: answers to questions never let a call run, and an approval never answers a
    // question.
    pub(super) fn of(self, call: &Call) -> Result<Self, &'static str> {
        match (self.decision, call.questions.is_empty()) {
            (Decision::Answer, true) => Err("answers, though nothing was asked"),
            (Decision::Approve, false) => Err("an approval, though a question was asked"),
            (Decision::Edit, _) if !call.accepts.contains(&Accepts::UpdatedInput) => {
                Err("a changed call, though its caller accepts none")
            }
            (Decision::Edit, false) => Err("a changed call, though a question was asked"),
            (Decision::Approve | Decision::Answer | Decision::Edit | Decision::Deny, _) => Ok(self),
        }
    }
}

/// The way in which a call was decided.
#[expect(clippy::large_enum_variant, reason = "it is part of a `Decided`, which is boxed")]
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    /// Policy decided at once and nobody was asked; with the rule, if there is one.
    Ruled(Option<String>),
    /// A person answered, or a new grant covered the call.
    Answered(AnswerView),
    /// Nobody answered in time.
    Expired,
    /// The ask was cancelled.
    Cancelled,
}
