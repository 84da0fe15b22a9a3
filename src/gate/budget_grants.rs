//! The grants of a budget: one for each of its calls.

use super::{
    ask::{Answer, Ask, By, Decision, budget::Budget},
    call::Call,
};
use countersign_policy::Rule;
use countersign_store::{Grant, GrantScope};
use countersign_tokens::ids;

/// The grants that the approval of a budget makes: one for each call.
pub(super) fn of(ask: &Ask, budget: &Budget, answer: &Answer, by: &By) -> Vec<Grant> {
    if answer.decision != Decision::Approve {
        return Vec::new();
    }
    let lasts = i64::try_from(budget.for_s).unwrap_or_default().saturating_mul(1_000);
    let whole = &ask.body.call;
    let one = |(text, call): (String, Call)| Grant {
        id: ids::ask_id(),
        ask: ask.id.clone(),
        rule: Rule::allow(&call.tool, text),
        scope: GrantScope::Budget,
        agent: call.agent.clone(),
        session: call.session.clone(),
        owner: call.owner.clone(),
        by: by.clone(),
        created_at: answer.at,
        expires_at: Some(answer.at.saturating_add(lasts)),
        digest: Some(call.digest()),
    };
    let texts = budget.calls.iter().map(|call| call.text(whole.cwd.as_deref()));
    texts.zip(whole.ahead()).map(one).collect()
}
