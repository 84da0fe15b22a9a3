//! The caller's side of an approval.

use countersign_policy::Call;
use countersign_profiles::wcore::denied;
use tokio::sync::oneshot;

/// An open call; dropping it gives the approval up.
#[derive(Debug)]
pub struct Waiting {
    pub(super) receiver: oneshot::Receiver<ToolApprovalResult>,
    pub(super) asked: Call,
}

/// The effect of an answer on the call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum WaitingOutcome {
    /// The call runs. For a question, the answer is the output.
    Approved {
        /// The answer to a question.
        answer: Option<String>,
    },
    /// The call does not run; the model gets the reason and continues.
    Denied {
        /// The reason.
        reason: String,
    },
    /// The call does not run and the turn ends: nobody is left to answer.
    Aborted,
    /// The call does not run: it differs from the call that was approved.
    Changed,
}

impl Waiting {
    /// Waits for the answer, and checks that `now`, the call that would run, is the call that was
    /// approved.
    // SECURITY: if a call changes after a person saw it, the approval was for another call.
    pub async fn outcome(self, now: &Call) -> WaitingOutcome {
        match self.receiver.await {
            Ok(ToolApprovalResult::Approved { .. }) if *now != self.asked => {
                WaitingOutcome::Changed
            }
            Ok(ToolApprovalResult::Approved { answer }) => WaitingOutcome::Approved { answer },
            Ok(ToolApprovalResult::Denied { reason }) => WaitingOutcome::Denied { reason },
            // FAIL-CLOSED: a closed channel is no answer.
            Err(_) => WaitingOutcome::Aborted,
        }
    }
}

impl WaitingOutcome {
    /// The text of the tool's error result; `None` if the call runs, or if the turn is over.
    #[must_use]
    pub fn text_for_model(&self) -> Option<String> {
        match self {
            Self::Approved { .. } | Self::Aborted => None,
            Self::Denied { reason } => Some(denied(reason)),
            Self::Changed => Some(denied(
                "its arguments changed after the approval; changed arguments require a fresh \
                 approval",
            )),
        }
    }
}
/// The result of an approval.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum ToolApprovalResult {
    /// The call may run.
    Approved {
        /// The output of a question; `None` for every other tool.
        answer: Option<String>,
    },
    /// The call may not run.
    Denied {
        /// The reason, for the model.
        reason: String,
    },
}

/// The reason why a request was not registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// A request with this id is open already.
    #[error("the call {0} waits already; an id is for one call")]
    Duplicate(String),
    /// The call is invalid.
    #[error("{0}")]
    Malformed(String),
}

/// The effect of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    /// No request has this id: it never existed, or has its answer.
    Unknown,
    /// The waiter has the answer.
    Resolved,
    /// The waiter has the answer for this call only; the text gives the reason.
    ResolvedOnce(String),
}
