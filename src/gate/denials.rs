//! What people have denied a moment ago: the same call again gets the same answer, and nobody is
//! asked twice.

use countersign_domain::{Ask, By, Decision};
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// How long a denial is remembered.
const MOMENT: Duration = Duration::from_secs(60);
/// So many are remembered before the old ones are looked for.
const MANY: usize = 256;

/// Denials by people, by the digest of the call, which says who wanted it in which session.
#[derive(Debug, Default)]
pub(super) struct RecentDenials(Mutex<HashMap<String, Denial>>);

#[derive(Debug)]
struct Denial {
    at: Instant,
    by: String,
    reason: Option<String>,
}

impl RecentDenials {
    /// Notes how an ask ended. A call that a person approves is not denied any more.
    // FAIL-CLOSED: only denials are remembered, and only those of people.
    pub(super) fn note(&self, ask: &Ask) {
        let Some(answer) = ask.answer().filter(|_| !ask.is_question()) else { return };
        let mut denials = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match (answer.decision, &answer.by) {
            (Decision::Deny, By::Person { name, .. }) => {
                if denials.len() >= MANY {
                    denials.retain(|_, denial| denial.at.elapsed() < MOMENT);
                }
                let (by, reason) = (name.clone(), answer.reason.clone());
                denials.insert(ask.digest.clone(), Denial { at: Instant::now(), by, reason });
            }
            (Decision::Approve | Decision::Answer | Decision::Edit, _) => {
                drop(denials.remove(&ask.digest));
            }
            (Decision::Deny, _) => {}
        }
    }

    /// What a call with this digest is told that a person denied a moment ago.
    pub(super) fn recall(&self, digest: &str) -> Option<String> {
        let denials = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let denial = denials.get(digest).filter(|denial| denial.at.elapsed() < MOMENT)?;
        let reason = denial.reason.as_deref().filter(|reason| !reason.trim().is_empty());
        let because = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        Some(format!("Denied a moment ago by {}{because}", denial.by))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_domain::{Answer, Body, State, call::Call};

    fn ended(decision: Decision, by: By, reason: Option<&str>) -> Ask {
        let call = Call::new("a", "s", "shell_exec", serde_json::json!({"command": "rm x"}));
        let reason = reason.map(str::to_owned);
        let answer = Answer { reason, ..Answer::new(decision, by, 1) };
        let opened = Ask::opened("one", call.digest(), Body::new(call, "no rule"), 0);
        Ask { state: State::Answered(answer), version: 2, ..opened }
    }

    fn ana() -> By {
        By::Person { platform: "telegram".into(), id: "1".into(), name: "Ana".into() }
    }

    #[tokio::test(start_paused = true)]
    async fn a_persons_denial_is_remembered_for_a_minute_with_its_reason() {
        let denials = RecentDenials::default();
        let ask = ended(Decision::Deny, ana(), Some("not on Friday"));
        denials.note(&ask);
        tokio::time::advance(MOMENT - Duration::from_secs(1)).await;
        let said = denials.recall(&ask.digest);
        assert_eq!(said.as_deref(), Some("Denied a moment ago by Ana: not on Friday"));
        assert_eq!(denials.recall("another call"), None);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(denials.recall(&ask.digest), None);
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_but_a_persons_denial_is_remembered_and_an_approval_ends_it() {
        let denials = RecentDenials::default();
        for by in [By::Timeout, By::NoApprover, By::Caller] {
            let ask = ended(Decision::Deny, by, None);
            denials.note(&ask);
            assert_eq!(denials.recall(&ask.digest), None);
        }
        let ask = ended(Decision::Deny, ana(), None);
        denials.note(&ask);
        assert_eq!(denials.recall(&ask.digest).as_deref(), Some("Denied a moment ago by Ana"));
        denials.note(&ended(Decision::Approve, ana(), None));
        assert_eq!(denials.recall(&ask.digest), None);
    }
}
