//! What the config says of an ask: whose answers it needs, where it is shown, and what happens
//! while nobody answers. Pure.

use super::{
    approvers::People,
    ask::{Body, Silence, plan::RoutePlan, requirement::Requirement, step::AskStep},
    routes::{Moment, Routes},
    rules::{AnswerRule, SeenCall, requirements},
};

/// What the config says of an ask.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Handling {
    pub(super) requirements: Vec<Requirement>,
    pub(super) plan: Option<RoutePlan>,
    pub(super) steps: Vec<AskStep>,
}

impl Handling {
    pub(super) fn of(
        rules: &[AnswerRule],
        people: &People,
        routes: &Routes,
        seen: SeenCall<'_>,
        at: Moment<'_>,
    ) -> Self {
        Self {
            requirements: requirements(rules, people, seen),
            plan: routes.plan(people, seen, at),
            steps: routes.steps(people, seen, at),
        }
    }

    /// The body with this. What a rule allowed but for a pause needs nobody in particular.
    // FAIL-CLOSED: silence approves nothing that needs certain people.
    pub(super) fn on(self, body: Body) -> Body {
        let Self { requirements, plan, steps } = self;
        let requirements = if body.held { Vec::new() } else { requirements };
        let silence = if requirements.is_empty() { body.silence } else { Silence::Deny };
        Body { requirements, silence, plan, steps, ..body }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::{
        call::Call,
        requirement::{Exclusion, VoteCount},
    };

    #[test]
    fn silence_approves_nothing_that_needs_certain_people() {
        let call = Call::new("a", "s", "t", serde_json::json!({}));
        let body = Body { silence: Silence::Approve, ..Body::new(call, "no rule") };
        let required = Requirement {
            rule: "two".to_owned(),
            group: None,
            also: Vec::new(),
            approvals: 2,
            deny: 1,
            count: VoteCount::People,
            exclude: Exclusion::Nobody,
        };
        let handling = Handling { requirements: vec![required], ..Handling::default() };
        let asked = handling.clone().on(body.clone());
        assert_eq!((asked.silence, asked.requirements.len()), (Silence::Deny, 1));
        assert_eq!(Handling::default().on(body.clone()).silence, Silence::Approve);
        // A pause holds what a rule allowed: nobody in particular answers that.
        let held = handling.on(Body { held: true, ..body });
        assert_eq!((held.silence, held.requirements.len()), (Silence::Approve, 0));
    }
}
