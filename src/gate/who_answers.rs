//! Who could answer a call that nobody has made yet, and who can answer an open ask.

use super::{
    Gate, SubmitError,
    answerers::Answerers,
    ask::{Ask, Owner},
    call::Call,
    quorum,
};
use countersign_policy::{Decision, Verdict};
use countersign_store::StoreError;
use countersign_tokens::clock;

impl Gate {
    /// Who could answer this call if it were made now, by the rules, the grants and the config in
    /// force; `None` where nobody would be asked. Nothing runs and nobody is asked.
    ///
    /// # Errors
    /// When no decision is possible.
    pub async fn could_answer(
        &self,
        call: Call,
    ) -> Result<(Decision, Option<Answerers>), SubmitError> {
        // The name of an agent with a token of its own means that agent, whose asks its token may
        // limit to a target.
        let token = self.store.agent_token_named(&call.agent).await?;
        let owner = token.as_ref().map(|token| Owner::by_token(&token.id));
        let call = Call { owner: owner.or(call.owner), ..call };
        let given = self.given(&call).await?;
        let mut decision = self.judge(&call, &given).await?;
        if decision.verdict == Verdict::Allow
            && let Some(why) = self.outranked(&call, &given, &decision).await?
        {
            (decision.verdict, decision.rule, decision.reason) = (Verdict::Ask, None, why);
        }
        if decision.verdict != Verdict::Ask {
            return Ok((decision, None));
        }
        let mut handling = self.handling(&call, &given.facts, &decision).await;
        if let Some(token) = &token {
            handling = self.scoped(handling, &decision, &token.scope).await?;
        }
        let choices = self.choices();
        // As for the ask itself: where it is not known who is there, everybody counts as there.
        let absent = self.store.absent(clock::now_ms()).await.unwrap_or_default();
        let answerers = Answerers::of(&choices.approvers, &handling.requirements, &absent)
            .shown_at(&choices.routes, handling.plan.as_ref(), &handling.steps);
        Ok((decision, Some(answerers)))
    }

    /// Who can answer this ask as the config is now; `None` where it is closed.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn can_answer(&self, ask: &Ask) -> Result<Option<Answerers>, StoreError> {
        if !ask.is_open() {
            return Ok(None);
        }
        let choices = self.choices();
        let absent = self.store.absent(clock::now_ms()).await?;
        let required = quorum::as_they_count(ask, &choices.approvers.people);
        let left = ask.body.steps.get(ask.steps_done..).unwrap_or_default();
        let answerers = Answerers::of(&choices.approvers, &required, &absent);
        Ok(Some(answerers.shown_at(&choices.routes, ask.body.plan.as_ref(), left)))
    }
}
