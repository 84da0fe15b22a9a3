//! Open asks that policy has come to allow: after a grant, or after a pause that held them.

use super::{
    SubmitError,
    ask::{Answer, Ask, By, Decision, Scope, State},
    evaluate::Evaluator,
    open_asks::OpenAsks,
    uses::GrantUses,
};
use countersign_policy::Verdict;
use countersign_store::{Closed, StoreError};
use countersign_tokens::clock;
use std::sync::Arc;

/// Decides anew on these asks, and approves in policy's name those that are open and allowed by
/// now. `grant` says what allows them where the decision names no rule; its reason does where
/// `None`.
///
/// # Errors
/// When the store fails; the asks that are left stay open.
pub(super) async fn approve_allowed(
    open: &Arc<OpenAsks>,
    evaluator: &Evaluator,
    uses: &GrantUses,
    asks: &[String],
    grant: Option<&str>,
) -> Result<(), StoreError> {
    for id in asks {
        let Some(ask) = open.store.whole_ask(id).await?.filter(Ask::is_open) else { continue };
        // A person answers a question, and a change that was proposed.
        // INVARIANT: an ask that needs certain people is answered by them.
        let needs_people = !ask.body.requirements.is_empty();
        // A rule that covers the tool of a budget covers none of its calls.
        let by_people = ask.is_question() || ask.body.is_no_call() || needs_people;
        if by_people || ask.progress.edit.is_some() {
            continue;
        }
        let decided = match evaluator.decide(&ask.body.call).await {
            Ok(decided) => decided,
            Err(SubmitError::Store(error)) => return Err(error),
            // FAIL-CLOSED: a call that cannot be decided on stays an ask.
            Err(_) => continue,
        };
        if decided.verdict != Verdict::Allow {
            continue;
        }
        let unnamed = || grant.map_or(decided.reason, str::to_owned);
        let by = By::Policy { grant: decided.rule.unwrap_or_else(unnamed) };
        let answer = Answer {
            scope: Some(Scope::Once),
            ..Answer::new(Decision::Approve, by, clock::now_ms())
        };
        if let Closed::Won(ask) = open.close(&ask, State::Answered(answer)).await? {
            uses.count(&ask.body.call, decided.deciding_rule.as_ref());
            tracing::info!(ask_id = %ask.id, "policy has come to allow an open ask");
        }
    }
    Ok(())
}
