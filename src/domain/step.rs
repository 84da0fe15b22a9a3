//! What happens to an ask while nobody answers. Pure.

use super::{Ask, plan::PlannedTarget, requirement::Requirement};
use serde::{Deserialize, Serialize};

/// One thing that happens while nobody answers. It is stored with the ask, in the order of time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskStep {
    /// How long after the ask was opened; milliseconds in which nothing was paused.
    pub after_ms: i64,
    /// What happens.
    pub action: StepAction,
}

/// What happens then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "do")]
pub enum StepAction {
    /// Those who may answer are reminded.
    Remind,
    /// Others are asked too.
    Escalate {
        /// The groups that may answer from now on.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        groups: Vec<String>,
        /// Where cards go.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        targets: Vec<PlannedTarget>,
    },
}

impl Ask {
    /// The step that comes next; `None` where none is left.
    #[must_use]
    pub fn next_step(&self) -> Option<&AskStep> {
        self.body.steps.get(self.steps_done)
    }

    /// How much later than the next step the one after it is due; `None` where none is left then.
    #[must_use]
    pub fn between_steps(&self) -> Option<i64> {
        let then = self.body.steps.get(self.steps_done.saturating_add(1))?;
        Some(then.after_ms.saturating_sub(self.next_step()?.after_ms).max(0))
    }
}

/// Whose answers count after these steps: those of further groups too.
// SECURITY: only the group widens. How many have to approve, and who is excluded, stays.
pub fn widen(requirements: &mut [Requirement], done: &[AskStep]) {
    for step in done {
        let StepAction::Escalate { groups, .. } = &step.action else { continue };
        for requirement in requirements.iter_mut().filter(|it| it.group.is_some()) {
            let new = groups.iter().filter(|group| {
                requirement.group.as_ref() != Some(*group) && !requirement.also.contains(*group)
            });
            let new: Vec<String> = new.cloned().collect();
            requirement.also.extend(new);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use serde_json::json;
    use std::collections::BTreeSet;

    #[test]
    fn an_escalation_lets_a_further_group_answer_and_changes_nothing_else() {
        let requirement = json!({"rule": "push", "group": "ops", "approvals": 2, "deny": 1,
            "count": "people", "exclude": {"who": "requester", "person": "Ana"}});
        let mut all: Vec<Requirement> = vec![serde_json::from_value(requirement.clone()).unwrap()];
        let groups = vec!["leads".to_owned(), "ops".to_owned()];
        let action = StepAction::Escalate { groups, targets: Vec::new() };
        let steps =
            [AskStep { after_ms: 1, action: StepAction::Remind }, AskStep { after_ms: 2, action }];
        let leads: BTreeSet<String> = ["leads".to_owned()].into();
        let mut before = all.clone();
        widen(&mut before, &steps[..1]);
        assert_eq!(before, all, "a reminder asks nobody new");
        widen(&mut all, &steps);
        widen(&mut all, &steps);
        let widened = all.first().unwrap();
        assert_eq!(widened.also, ["leads"]);
        assert_eq!((widened.needed(), widened.denials()), (2, 1));
        assert_eq!(widened.admits(Some("Cid"), &leads), Ok(()));
        assert!(widened.admits(Some("Ana"), &leads).is_err(), "the requester stays excluded");
        assert!(widened.admits(None, &leads).is_err(), "who has no name stays excluded");
        assert!(widened.admits(Some("Cid"), &BTreeSet::new()).is_err());
        assert_eq!(serde_json::to_value(widened).unwrap(), requirement, "the row stays as it was");
    }
}
