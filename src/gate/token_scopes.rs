//! What the token of an agent is for: a profile, and where its asks are shown.

use super::{Choices, SubmitError, evaluate::Evaluator, handling::Handling, routes::Moment};
use countersign_policy::Decision;
use countersign_port::line;
use countersign_store::AgentScope;
use countersign_tokens::clock;

impl Choices {
    /// Checks that this config has what the scope of a token names.
    ///
    /// # Errors
    /// What is missing, as the end of a sentence about the token.
    // FAIL-CLOSED: a token for what is not there asks nobody.
    pub(super) fn fit(&self, scope: &AgentScope) -> Result<(), String> {
        let profile = self.policy.profile().name();
        if let Some(wanted) = scope.profile.as_deref().filter(|wanted| *wanted != profile) {
            return Err(format!(
                "is for the profile `{}`, and this daemon decides by `{profile}`",
                line(wanted)
            ));
        }
        match scope.target.as_deref().filter(|name| !self.routes.knows(name)) {
            None => Ok(()),
            Some(name) => {
                let known = self.routes.known().join(", ");
                Err(format!(
                    "is for the target `{}`, which this daemon's config does not have; it has \
                     {known}",
                    line(name)
                ))
            }
        }
    }
}

impl Evaluator {
    /// What the config says of an ask, shown only where the token of its agent is for.
    // INVARIANT: whose answers count stays as the answer rules say.
    pub(super) async fn scoped(
        &self,
        handling: Handling,
        decision: &Decision,
        scope: &AgentScope,
    ) -> Result<Handling, SubmitError> {
        let Some(name) = &scope.target else { return Ok(handling) };
        let (choices, now_ms) = (self.in_force.now(), clock::now_ms());
        // A reload may have come between.
        choices.fit(scope).map_err(|why| not_for_this(&why))?;
        let absent = self.store.absent(now_ms).await.unwrap_or_default();
        let at = Moment { now_ms, absent: &absent };
        let people = &choices.approvers.people;
        let (plan, steps) = choices.routes.only(name, people, decision.critical, at);
        Ok(Handling { plan, steps, ..handling })
    }
}

/// The refusal of an agent whose token is for something else.
pub(super) fn not_for_this(why: &str) -> SubmitError {
    SubmitError::NotThisAgent(format!("this agent is refused: its token {why}"))
}
