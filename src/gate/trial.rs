//! Tries a rule on calls before somebody writes it into the rules file.

use super::{
    Policy, SubmitError, call::Call, decided::DecidedCall, evaluate::Evaluator, granted_rules,
    in_force::InForce, large, rules_file::Loaded,
};
use countersign_policy::{self as policy, Layers, Mode, Rule, Rules, Verdict, tools::canonical};
use countersign_store::{GrantScope, Store};
use countersign_tokens::clock;
use std::sync::Arc;

/// Why a rule cannot be tried.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// The rule, or the policy of this daemon.
    #[error("{0}")]
    Refused(String),
    /// Ours.
    #[error(transparent)]
    Failed(#[from] SubmitError),
}

/// The rules as they are, and as they would be with more.
#[derive(Debug)]
pub struct RuleTrial {
    evaluator: Arc<Evaluator>,
    before: Arc<Loaded>,
    after: Loaded,
    grants: Rules,
}

/// What more rules change for a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriedCall {
    /// The verdict now.
    pub before: Verdict,
    /// The verdict with the rule.
    pub after: Verdict,
    /// The reason of the verdict with the rule.
    pub reason: String,
}

/// Begins trials.
#[derive(Debug)]
pub(super) struct RuleTrials {
    pub(super) store: Store,
    pub(super) in_force: Arc<InForce>,
    pub(super) evaluator: Arc<Evaluator>,
}

impl RuleTrials {
    /// Prepares a trial of these rules, placed as Always would place them. Nothing is written.
    pub(super) async fn begin(&self, rules: &[Rule]) -> Result<RuleTrial, TrialError> {
        let choices = self.in_force.now();
        let Policy::Rules(file, _) = &*choices.policy else {
            return Err(TrialError::Refused(
                "Rules can be tried with the profile `standard` only.".to_owned(),
            ));
        };
        let now = clock::now_ms();
        let granted = self.store.grants(now).await.map_err(SubmitError::from)?;
        let holds = |grant: &countersign_store::Grant| {
            grant.scope == GrantScope::Always && granted_rules::is_literal(&grant.rule)
        };
        let always: Vec<Rule> = granted.into_iter().filter(holds).map(|grant| grant.rule).collect();
        // As in the evaluation of calls: on a shared store the file holds no grants.
        let (in_file, beside) =
            if self.store.is_shared() { (vec![], always) } else { (always, vec![]) };
        Ok(RuleTrial {
            evaluator: self.evaluator.clone(),
            before: file.current(&in_file),
            after: file.with(rules, &in_file).map_err(TrialError::Refused)?,
            grants: Rules::from_grants(&beside),
        })
    }
}

impl RuleTrial {
    /// Decides on a call without the rules and with them, for a session to which nothing was
    /// granted.
    pub async fn of(&self, call: &Call) -> TriedCall {
        let facts = self.evaluator.facts(call).await;
        let decide = |loaded: &Loaded| {
            let layers = Layers {
                agent: None,
                rules: &loaded.rules,
                grants: &self.grants,
                guardrail: &loaded.guardrail,
                now_ms: clock::now_ms(),
            };
            DecidedCall::from(policy::decide_briefly(&facts, &layers, Mode::Default))
        };
        let both = || (decide(&self.before), decide(&self.after));
        let (before, after) = self.evaluator.beside(large::bytes(call), both).await;
        TriedCall { before: before.verdict, after: after.verdict, reason: after.reason }
    }

    /// Whether a deny of the rules in force may cover a call that this rule covers: their patterns
    /// begin alike. As a later line of the file the rule would lift that deny.
    // FAIL-CLOSED: what cannot be told apart by its beginning counts.
    #[must_use]
    pub fn may_meet_deny(&self, rule: &Rule) -> bool {
        let denies = self.before.rules.iter().filter(|it| it.verdict == Verdict::Deny);
        let mut denies = denies
            .filter(|it| it.tool.contains(GLOB) || canonical(&it.tool) == canonical(&rule.tool));
        denies.any(|deny| {
            let (one, other) = (beginning(&deny.pattern), beginning(&rule.pattern));
            one.starts_with(other) || other.starts_with(one)
        })
    }
}

const GLOB: [char; 6] = ['*', '?', '[', '{', '\\', '!'];

/// What every text begins with that a pattern covers.
fn beginning(pattern: &str) -> &str {
    pattern.split(GLOB).next().unwrap_or_default().trim_end()
}
