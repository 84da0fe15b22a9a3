//! A caller's side of an approval.

use super::ToolApprovalResult;
use countersign_policy::Call;
use countersign_profiles::wcore::denied;
use tokio::sync::oneshot;

/// A call that waits for its answer; dropping it gives the approval up.
#[derive(Debug)]
pub struct Waiting {
    pub(super) receiver: oneshot::Receiver<ToolApprovalResult>,
    pub(super) asked: Call,
}

/// What a call may do now.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum WaitingOutcome {
    /// It runs. For a question: its answer is the output.
    Approved {
        /// The answer to a question.
        answer: Option<String>,
    },
    /// It does not run; the model is told why, and goes on.
    Denied {
        /// Why.
        reason: String,
    },
    /// It does not run, and the turn ends: whoever should have answered is gone.
    Aborted,
    /// It does not run: it is no longer the call that was approved.
    Changed,
}

impl Waiting {
    /// Waits for the answer, and binds it to the call that was asked about: `now` is the call as it
    /// would run.
    // SECURITY: whatever changed a call after a person saw it, the approval was for another one.
    pub async fn outcome(self, now: &Call) -> WaitingOutcome {
        match self.receiver.await {
            Ok(ToolApprovalResult::Approved { .. }) if *now != self.asked => {
                WaitingOutcome::Changed
            }
            Ok(ToolApprovalResult::Approved { answer }) => WaitingOutcome::Approved { answer },
            Ok(ToolApprovalResult::Denied { reason }) => WaitingOutcome::Denied { reason },
            // FAIL-CLOSED: no answer is none.
            Err(_) => WaitingOutcome::Aborted,
        }
    }
}

impl WaitingOutcome {
    /// The text of the tool's error result; `None` where the call runs, or the turn is over anyway.
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
