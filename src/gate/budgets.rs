//! Budgets: calls that are approved at the start of a task, to run once each within a time.

use super::{
    SubmitError,
    ask::{Ask, budget::Budget, requirement::Requirement},
    call::Call,
    handling::Handling,
    submit::Submissions,
};
use countersign_policy::{Decision, Verdict, decision::facts, effects};
use countersign_port::{brief, line};
use countersign_store::StoreError;
use countersign_tokens::clock;

/// How much of a call is kept with a grant that it spent, in characters.
const CALL: usize = 200;

/// A decision on a budget, and whose answers its calls need.
pub(super) struct DecidedBudget {
    pub(super) decision: Decision,
    pub(super) requirements: Vec<Requirement>,
}

impl Submissions {
    /// Decides on a budget: people are asked, unless one of its calls may not be approved ahead.
    // SECURITY: a critical call is asked for when it is due, with its second press; a call that
    // the rules deny is never asked for. The answers that the budget needs are those of all its
    // calls together.
    pub(super) async fn decide_budget(
        &self,
        call: &Call,
        budget: &Budget,
    ) -> Result<DecidedBudget, SubmitError> {
        let mut decision = facts(&call.for_policy(None));
        let (mut effects_of_all, mut requirements) = (Vec::new(), Vec::<Requirement>::new());
        (decision.verdict, decision.rule) = (Verdict::Ask, None);
        let many = budget.calls.len();
        decision.reason = format!("the agent asks for {many} calls ahead");
        for (at, part) in call.ahead().enumerate() {
            let number = at.saturating_add(1);
            let decided = self.evaluator.judge(&part).await?;
            let why = match (decided.verdict, decided.critical) {
                (Verdict::Deny, _) => Some(format!("the rules deny it: {}", decided.reason)),
                (Verdict::Allow | Verdict::Ask, true) => {
                    Some("it is critical, so it is asked for when it is due".to_owned())
                }
                (Verdict::Allow | Verdict::Ask, false) => None,
            };
            if let Some(why) = why {
                decision.verdict = Verdict::Deny;
                decision.reason =
                    format!("call {number} of the budget cannot be approved ahead: {why}");
                return Ok(DecidedBudget { decision, requirements: Vec::new() });
            }
            let Handling { requirements: more, .. } =
                self.evaluator.handling(&part, &decided).await;
            for one in more {
                if !requirements.contains(&one) {
                    requirements.push(one);
                }
            }
            for effect in decided.effects {
                if !effects_of_all.contains(&effect) {
                    effects_of_all.push(effect);
                }
            }
        }
        effects::worst_first(&mut effects_of_all);
        (decision.effects, decision.critical) = (effects_of_all, false);
        Ok(DecidedBudget { decision, requirements })
    }

    /// Spends a grant for exactly this call, where one is in force; why the call may run then.
    // INVARIANT: a guardrail and a deny were looked for before; only an ask is spared by a budget.
    // SECURITY: a critical call and a question are answered by a person, at the time. An answer
    // rule that was added since, or whose group has changed, holds over what was approved before.
    pub(super) async fn spend(
        &self,
        call: &Call,
        ruling: &Decision,
        digest: &str,
    ) -> Result<Option<String>, StoreError> {
        let is_plain = ruling.verdict == Verdict::Ask && !ruling.critical;
        if !is_plain || !call.questions.is_empty() || call.budget.is_some() {
            return Ok(None);
        }
        let (store, now) = (&self.open.store, clock::now_ms());
        let grants = store.budget_for(digest, call.owner.as_ref(), now).await?;
        if grants.is_empty() {
            return Ok(None);
        }
        let required = self.evaluator.handling(call, ruling).await.requirements;
        for grant in grants {
            // FAIL-CLOSED: of a budget that is forgotten nobody knows who approved it.
            let Some(ask) = self.evaluator.ask_of(&grant).await? else { continue };
            if !covers(&ask, call, &required) {
                continue;
            }
            if store.spend(&grant, &brief(&line(&grant.rule.pattern), CALL), now).await? {
                let by = line(&grant.by.to_string());
                return Ok(Some(format!("approved ahead by {by}, once (grant {})", grant.id)));
            }
        }
        Ok(None)
    }
}

/// Whether a budget that was approved covers a call with the digest of one of its own.
// SECURITY: machine and mode are not in the digest, and both say what a call may do.
fn covers(budget: &Ask, call: &Call, required: &[Requirement]) -> bool {
    let asked = &budget.body.call;
    let made = &budget.body.requirements;
    asked.host == call.host
        && asked.agent_mode == call.agent_mode
        && required.iter().all(|it| made.iter().any(|made| it.is_met_by(made)))
}
