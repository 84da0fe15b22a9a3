//! What the rest of the daemon asks about the operator's choices.

use super::{Gate, PersonPasskeys, Policy, RoleSource};
use std::sync::Arc;

impl Gate {
    /// Whether anybody at all may answer on this platform.
    #[must_use]
    pub fn may_answer_on(&self, platform: &str) -> bool {
        self.in_force.now().approvers.may_answer_on(platform)
    }

    /// Whether people at this machine answer without saying who they are.
    #[must_use]
    pub fn answers_nameless(&self) -> bool {
        self.in_force.now().approvers.answers_nameless()
    }

    /// How long the thread of a session may rest at this target; `None` where sessions have none.
    #[must_use]
    pub fn thread_idle_ms(&self, adapter: &str, target: &str) -> Option<i64> {
        let choices = self.in_force.now();
        let here = choices.audience.iter().find(|it| it.adapter == adapter && it.target == target);
        here.and_then(|it| it.thread_idle_ms)
    }

    /// Says where it is asked who holds which role now, once.
    pub fn ask_roles_of(&self, source: Arc<dyn RoleSource>) {
        self.answers.roles.ask(source);
    }

    /// The passkeys of people.
    #[must_use]
    pub fn passkeys(&self) -> &PersonPasskeys {
        &self.passkeys
    }

    /// The roles of a platform by which people may answer or are in a group.
    #[must_use]
    pub fn roles_on(&self, platform: &str) -> Vec<String> {
        self.in_force.now().approvers.roles_on(platform)
    }

    /// What is wrong with the rules file at the moment, if something is.
    #[must_use]
    pub fn rules_problem(&self) -> Option<String> {
        self.in_force.now().policy.problem()
    }

    /// Whether the profile answers as its system does, where that is unsafe too.
    #[must_use]
    pub fn is_compat(&self) -> bool {
        self.in_force.now().policy.is_compat()
    }

    /// Whether each worker has rules of its own here.
    #[must_use]
    pub fn has_workers(&self) -> bool {
        matches!(*self.in_force.now().policy, Policy::Workers(..))
    }

    /// The policy in force, for choices that keep it.
    #[must_use]
    pub fn policy(&self) -> Arc<Policy> {
        self.in_force.now().policy.clone()
    }
}
