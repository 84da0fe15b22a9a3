//! Approvals that wait: what a person replies, and what became of them.

use super::events::ApprovalResolution;
use countersign_policy::call::Call;
use countersign_policy::rules::Rule;

/// A call that waits for a person.
#[derive(Clone, Debug)]
pub struct PendingApproval {
    /// The id that clients know.
    pub id: String,
    /// The call.
    pub call: Call,
    /// The conversation.
    pub session: String,
    /// The worker that would run it.
    pub worker: String,
    /// What Always would store.
    pub(super) always: Vec<Rule>,
}

/// A person's reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApprovalReply<'a> {
    /// This call may run.
    Once,
    /// This call and every call that the offered patterns cover may run.
    Always,
    /// The call may not run; carries words for the model.
    Reject(Option<&'a str>),
}

/// An approval that has ended, for its waiter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The id.
    pub id: String,
    /// The resolution.
    pub outcome: ApprovalResolution,
    /// The text for the model; `None` when the call runs or the turn is over.
    pub message: Option<String>,
}

/// The result of a reply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Replied {
    /// The approvals that ended: the answered one first, then those that the new rules cover. Empty
    /// when the reply applied to nothing.
    pub ended: Vec<Ended>,
    /// The reason, if Always does not do what its button says.
    pub but: Option<String>,
}
