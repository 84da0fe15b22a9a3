//! The unchanging part of a new ask, from a call and the decision on it.

use super::{
    ask::{Body, Silence},
    call::{Accepts, Call},
    granted_rules,
    submit::Submissions,
};
use countersign_policy::{Decision, effects};
use countersign_profiles::{OnDeny, PromptChoice};

impl Submissions {
    /// The unchanging part of a new ask.
    pub(super) fn body(
        &self,
        call: Call,
        mut ruling: Decision,
        rules_problem: Option<String>,
    ) -> Body {
        let behaviour = self.in_force.system().prompt_behaviour();
        let is_budget = call.budget.is_some();
        if !call.questions.is_empty() || is_budget {
            // A question runs nothing, and no rule can answer the next one. A budget remembers
            // its calls and nothing else.
            ruling.always.clear();
            ruling.exact.clear();
            ruling.prefix.clear();
        }
        if !call.questions.is_empty() {
            ruling.effects.clear();
        }
        effects::worst_first(&mut ruling.effects);
        let mut choices = if is_budget { Vec::new() } else { behaviour.choices.to_vec() };
        let stops = call.accepts.contains(&Accepts::Stop) && behaviour.deny != OnDeny::Stop;
        if stops && call.questions.is_empty() && !choices.contains(&PromptChoice::DenyAndStop) {
            choices.push(PromptChoice::DenyAndStop);
        }
        let category = call.category.as_deref().unwrap_or("exec");
        Body {
            why: ruling.reason,
            rule: ruling.rule,
            always: ruling.always,
            always_from: ruling.always_from,
            exact: ruling.exact,
            prefix: ruling
                .prefix
                .iter()
                .map(|text| granted_rules::of_prefix(category, text))
                .collect(),
            effects: ruling.effects.iter().map(ToString::to_string).collect(),
            critical: ruling.critical,
            held: false,
            rules_problem,
            choices,
            deny: if call.questions.is_empty() { behaviour.deny } else { OnDeny::GoOn },
            lasts: behaviour.always,
            // FAIL-CLOSED: silence approves nothing ahead.
            silence: match call.budget {
                Some(_) => Silence::Deny,
                None => self.deadlines.silence(&call, ruling.critical),
            },
            prompt: ruling.prompt,
            requirements: Vec::new(),
            plan: None,
            steps: Vec::new(),
            owner: call.owner.clone(),
            resumes: None,
            review: None,
            call,
        }
    }
}
