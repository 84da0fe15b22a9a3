//! What people change in a call: policy looks at it before it counts.

use super::{
    SubmitError,
    answer::{Action, EditStep, NO_EDIT, TextPurpose, person},
    answers::Answers,
    approvers::Approver,
    ask::{
        Ask,
        edit::{ProposedEdit, edited, edited_text},
    },
};
use countersign_policy::Verdict;
use countersign_store::StoreError;

impl Answers {
    /// The action, once policy has looked at what an edit would run; a sentence where it says no.
    // SECURITY: the changed call is judged when it is proposed, and again when it is approved.
    pub(super) async fn judged(
        &self,
        ask: &Ask,
        by: &Approver,
        action: &Action,
    ) -> Result<Result<Action, String>, StoreError> {
        let text = match action {
            Action::Words { wanted: TextPurpose::Edit, text: Some(text) } => text.clone(),
            Action::Edit { nth, step: EditStep::Approve | EditStep::Confirm } => {
                let proposed = ask.progress.edit.as_ref().filter(|edit| edit.nth == *nth);
                let Some(edit) = proposed else { return Ok(Ok(action.clone())) };
                edited_text(&ask.body.call, &edit.args)
            }
            _ => return Ok(Ok(action.clone())),
        };
        let no_text = || Ok(Err(NO_EDIT.to_owned()));
        let Some(call) = edited(&ask.body.call, &text) else { return no_text() };
        if call.args == ask.body.call.args {
            return Ok(Err("That is what it was anyway; nothing was changed.".to_owned()));
        }
        if let Err(malformed) = call.check() {
            return Ok(Err(malformed.0));
        }
        let decision = match self.evaluator.judge(&call).await {
            Ok(decision) => decision,
            Err(SubmitError::Store(error)) => return Err(error),
            Err(error) => return Ok(Err(format!("The change cannot be judged: {error}"))),
        };
        if decision.verdict == Verdict::Deny {
            return Ok(Err(format!("The rules deny that change: {}", decision.reason)));
        }
        let Action::Words { .. } = action else { return Ok(Ok(action.clone())) };
        Ok(Ok(Action::Propose(Box::new(ProposedEdit {
            nth: 0,
            digest: call.digest(),
            args: call.args,
            by: person(by).to_string(),
            effects: decision.effects.iter().map(ToString::to_string).collect(),
            critical: decision.critical,
            reviewed: false,
        }))))
    }
}
