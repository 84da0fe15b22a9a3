//! What the answer of a review does, for the one who gave it, and the task that shows reviews.

use super::{
    Gate,
    answers::Answers,
    ask::{
        Answer, Ask, Decision,
        review::{CallReview, Tightening},
    },
    reply::{Reply, Told, reply},
};
use countersign_policy::Verdict;
use tokio_util::sync::CancellationToken;

impl Gate {
    /// Shows some of the calls that ran without asking, until told to stop.
    pub async fn show_reviews(&self, stop: CancellationToken) {
        self.submissions.reviews.show_all(stop).await;
    }
}

impl Answers {
    /// After the commit: the rule of a revoked grant leaves the file, and the presser learns what
    /// becomes of the same call now.
    pub(super) async fn reviewed(&self, ask: Ask, review: &CallReview, answer: &Answer) -> Reply {
        if answer.decision != Decision::Deny {
            return reply(Told::Applied, "Noted as fine. Nothing changes.", Some(ask));
        }
        let done = match &review.tightening {
            Tightening::Revoke { rule, .. } => match self.grants.remove_pending().await {
                Ok(()) => format!("Noted, and the grant is revoked: {rule}."),
                Err(problem) => format!(
                    "Noted, and the grant is revoked: {rule}. But its rule is still in the \
                         rules file: {problem}."
                ),
            },
            Tightening::Ask { rule } => format!(
                "Noted. Such calls ask from now on: {rule}. `countersign grants` lists that."
            ),
        };
        // INVARIANT: nobody is told that a call asks which is still allowed.
        let call = review.reviewed(&ask.body.call);
        let but = match self.evaluator.decide_anew(&call).await {
            Ok(now) if now.verdict == Verdict::Allow => {
                format!(" But the same call is still allowed: {}", now.reason)
            }
            Ok(_) => String::new(),
            Err(error) => format!(" But it could not be checked that the call asks: {error}"),
        };
        reply(Told::Applied, &format!("{done}{but}"), Some(ask))
    }
}
