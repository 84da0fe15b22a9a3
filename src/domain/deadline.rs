//! The time of an ask: what happens while nobody answers, what stops its clock, and when it starts.

use super::{Ask, By, plan::PlannedTarget, requirement::Requirement};
use schemars::JsonSchema;
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

/// What becomes of calls while everything is paused. Neither lets one run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PauseMode {
    /// They are denied, and told why.
    Deny,
    /// They are held as asks, those too that a rule or grant would allow.
    #[default]
    Hold,
}

/// A pause that is on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pause {
    /// What becomes of calls.
    pub mode: PauseMode,
    /// Who switched it on.
    pub by: By,
    /// Unix milliseconds.
    pub since: i64,
}

impl PauseMode {
    /// The word for it, on every surface and in the store.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Hold => "hold",
        }
    }
}

impl std::str::FromStr for PauseMode {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let all = [Self::Deny, Self::Hold];
        let named = all.into_iter().find(|mode| mode.name().eq_ignore_ascii_case(word));
        named.ok_or_else(|| format!("`{word}` is not a valid pause mode; use hold or deny"))
    }
}

/// What is left of a deadline that a pause has stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoppedClock {
    /// Milliseconds; `None` where the ask waits for ever.
    pub left_ms: Option<i64>,
}
/// An ask that is shown within this time after it was opened keeps the deadline that it was opened
/// with; milliseconds.
pub const LATE_MS: i64 = 5_000;

/// The deadline of an ask that nobody has seen before `now`: people have as long from now on as
/// they would have had from the start. The deadline stays as it is where there is none, where the
/// ask is not late, and where its time is over: then its caller is told that nobody could be
/// reached. All times are Unix milliseconds.
///
/// So an ask waits to be shown for at most its own time, and to be answered for at most that again.
///
/// ```
/// use countersign_domain::deadline::late_deadline as deadline;
/// let minutes = |n: i64| n * 60_000;
/// assert_eq!(deadline(0, Some(minutes(5)), minutes(3)), Some(minutes(8)));
/// assert_eq!(deadline(0, Some(minutes(5)), 900), Some(minutes(5)));
/// assert_eq!(deadline(0, Some(minutes(5)), minutes(5)), Some(minutes(5)));
/// assert_eq!(deadline(0, None, minutes(3)), None);
/// ```
#[must_use]
pub fn late_deadline(created_at: i64, deadline_at: Option<i64>, now: i64) -> Option<i64> {
    let late = now.saturating_sub(created_at);
    deadline_at.map(|at| if late > LATE_MS && at > now { at.saturating_add(late) } else { at })
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
