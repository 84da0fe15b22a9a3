//! Answer rules over grants: a grant that fewer people made than a rule wants now covers nothing
//! that the rule fits.

use super::{
    ask::{Ask, requirement::Requirement},
    call::Call,
    evaluate::Evaluator,
    granted_rules::is_of,
    large,
};
use countersign_policy::{self as policy, Matcher, Rule, RuleFit, tool_name::CATEGORY};
use countersign_store::{Grant, GrantScope, StoreError};

impl Evaluator {
    /// Why people are asked about a call that is allowed; `None`: it is.
    // FAIL-CLOSED: a grant of which it is not known who made it counts as made by too few.
    // SECURITY: else one approval with Always would answer for ever what needs several.
    pub(super) async fn outranked(
        &self,
        call: &Call,
        decided: &policy::Decision,
    ) -> Result<Option<String>, StoreError> {
        if !self.has_answer_rules() {
            return Ok(None);
        }
        let required = self.handling(call, decided).await.requirements;
        let Some(first) = required.first() else { return Ok(None) };
        let mut small = Vec::new();
        for grant in self.session_context(call).await?.grants {
            let is_here = grant.scope == GrantScope::Always || is_of(&grant, call);
            if is_here && !self.suffices(&grant, &required).await? {
                small.push(grant.rule);
            }
        }
        if small.is_empty() {
            return Ok(None);
        }
        let facts = self.facts(call).await;
        let touched = self.beside(large::bytes(call), || touches(&facts, &small)).await;
        let why = || {
            format!("the answer rule {} wants more than the grant that would allow it", first.rule)
        };
        Ok(touched.then(why))
    }

    async fn suffices(&self, grant: &Grant, required: &[Requirement]) -> Result<bool, StoreError> {
        let ask = self.ask_of(grant).await?;
        let made: Vec<Requirement> = ask.map(|ask: Ask| ask.body.requirements).unwrap_or_default();
        Ok(required.iter().all(|it| made.iter().any(|made| it.is_met_by(made))))
    }
}

/// Whether any part of a call may be what one of these grants covers.
fn touches(facts: &policy::Call, granted: &[Rule]) -> bool {
    let matcher = Matcher::new(facts, &[]);
    // A category is no tool, so it cannot be compared here.
    granted.iter().any(|it| it.tool.starts_with(CATEGORY) || matcher.rule(it) != RuleFit::No)
}
