//! What the token of an agent is for: a profile, and where its asks are shown.

use super::{
    Choices, SubmitError,
    ask::{plan::RoutePlan, step::AskStep},
    evaluate::Evaluator,
    handling::Handling,
    people::People,
    routes::{Moment, Routes},
};
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

impl Routes {
    /// Whether a target or a route has this name.
    fn knows(&self, name: &str) -> bool {
        self.known().contains(&name)
    }

    /// What a token can be for.
    fn known(&self) -> Vec<&str> {
        let routes = self.list.iter().filter(|it| !it.to.is_empty()).map(|it| it.name.as_str());
        let chats = self.chats.keys().map(String::as_str);
        std::iter::once("inbox").chain(chats).chain(routes).collect()
    }

    /// Where an ask is shown, and what happens while nobody answers, at this target or by this
    /// route alone.
    fn only(
        &self,
        name: &str,
        people: &People,
        critical: bool,
        at: Moment<'_>,
    ) -> (Option<RoutePlan>, Vec<AskStep>) {
        let one = |targets| RoutePlan { route: name.to_owned(), targets, ..RoutePlan::default() };
        if let Some(target) = self.chats.get(name) {
            return (Some(one(vec![target.clone()])), Vec::new());
        }
        match self.list.iter().find(|route| route.name == name) {
            Some(route) => (
                self.plan_of(&[route], people, critical, at),
                self.steps_of(route, people, critical, at),
            ),
            None => (Some(one(Vec::new())), Vec::new()),
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
