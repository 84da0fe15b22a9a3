//! What the config says of an ask: whose answers it needs, where it is shown, and what happens
//! while nobody answers. Pure.

use super::{
    answer_rules::{AnswerRule, SeenCall, requirements},
    ask::{Body, Silence, plan::RoutePlan, requirement::Requirement, step::AskStep},
    people::People,
    routes::{Moment, Routes},
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
