//! Profiles: the policies of five systems, each decision as its system makes it.
//!
//! INVARIANT: a profile decides within a sequence that it cannot reorder: guardrails first, then
//! the profile, then the ask, then the one answer function. Whatever a profile allows, a guardrail
//! still denies and a question still asks.

pub mod check;
pub mod connectonion;
pub mod molf;
pub mod ohmypi;
pub mod standard;
mod system;
pub mod wcore;
pub mod zeptoclaw;

pub use check::rules_of;
pub use countersign_domain::{
    DefaultTimeout, GrantLifetime, OnDeny, OnDisconnect, PromptBehaviour, PromptChoice,
};
pub use system::{CallEnd, EvaluationContext, Grants, ModeTurn, Prefix, Profile, System};

use countersign_policy::{
    agent_mode, call::Call, decision::Decision, guardrail::GuardrailHit, tools, verdict::Verdict,
};

/// Returns the decision of a profile, under the guardrail.
///
/// # Errors
/// As [`System::decide`].
///
/// A denial keeps the profile's own words.
// FAIL-CLOSED: whatever the profile decides, a guardrail denies and a question asks.
// SECURITY: a grant is offered only for a tool whose name cannot be read as anything but a name.
pub fn decide(
    system: &dyn System,
    call: &Call,
    context: &EvaluationContext<'_>,
) -> Result<Decision, String> {
    let mut decision = system.decide(call, context)?;
    let reach = match decision.verdict {
        // Nothing makes a deny stricter.
        Verdict::Deny => None,
        Verdict::Allow | Verdict::Ask => {
            countersign_policy::decision::guarded(call, context.guardrail, context.now_ms)
        }
    };
    match reach {
        Some(GuardrailHit::Denied(reason)) => forbid(&mut decision, Verdict::Deny, reason),
        // A call that is asked about every time is never remembered.
        Some(GuardrailHit::Asks(reason)) if decision.verdict == Verdict::Allow => {
            forbid(&mut decision, Verdict::Ask, reason);
        }
        Some(GuardrailHit::Asks(_)) => forget(&mut decision),
        None if system.is_question(call) && decision.verdict == Verdict::Allow => {
            decision.verdict = Verdict::Ask;
            decision.reason = "A question is answered by a person.".to_owned();
        }
        None if decision.verdict == Verdict::Allow => {
            if let Some(why) = agent_mode::holds(call) {
                forbid(&mut decision, Verdict::Ask, why);
            }
        }
        None => {}
    }
    if !tools::may_be_granted(&call.tool) {
        forget(&mut decision);
    }
    Ok(decision)
}

fn forbid(decision: &mut Decision, verdict: Verdict, reason: String) {
    decision.verdict = verdict;
    (decision.rule, decision.deciding_rule) = (None, None);
    decision.reason = reason;
    forget(decision);
}

/// Removes every offer to remember the call.
fn forget(decision: &mut Decision) {
    decision.always.clear();
    decision.always_from.clear();
    decision.exact.clear();
    decision.prefix.clear();
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use countersign_policy::guardrail::{Guardrail, Ours};
    use serde_json::{Value, json};

    fn standard(rules: &str) -> Box<dyn System> {
        Profile::Standard.open(Some(rules), "permissions.jsonc", None, false).unwrap()
    }

    fn ruled(system: &dyn System, call: &Call, guardrail: &Guardrail) -> Verdict {
        let context = EvaluationContext {
            mode: Some("yolo"),
            grants: &Grants::default(),
            agent_rules: None,
            guardrail,
            reachable: true,
            now_ms: 0,
        };
        decide(system, call, &context).unwrap().verdict
    }

    #[test]
    fn no_profile_and_no_mode_lifts_a_guardrail_or_answers_a_question() {
        let guardrail = Guardrail::new(Ours {
            paths: vec!["/etc/countersign".to_owned()],
            programs: vec!["countersign".to_owned()],
            ..Ours::default()
        });
        let everything = standard(r#"{"*": "allow"}"#);
        let shell = |command| Call::shell(command);
        let none = Guardrail::default();
        assert_eq!(ruled(&*everything, &shell("countersign approve x"), &none), Verdict::Allow);
        assert_eq!(ruled(&*everything, &shell("countersign approve x"), &guardrail), Verdict::Deny);
        let question = Call::new("AskUserQuestion", json!({}));
        assert_eq!(ruled(&*everything, &question, &none), Verdict::Ask);
    }

    #[test]
    fn what_a_denial_does_is_one_flag_or_none_on_the_wire() {
        for (then, wire) in [
            (OnDeny::GoOn, json!({})),
            (OnDeny::Stop, json!({"stop": true})),
            (OnDeny::Explain, json!({"explain": true})),
        ] {
            assert_eq!(serde_json::to_value(then).unwrap(), wire);
            assert_eq!(serde_json::from_value::<OnDeny>(wire).unwrap(), then);
        }
        let both: Value = json!({"stop": true, "explain": true});
        assert!(serde_json::from_value::<OnDeny>(both).is_err());
    }

    #[test]
    fn every_profile_is_found_by_its_name_and_nothing_else_is() {
        for name in ["standard", "wcore", "connectonion", "molf", "ohmypi", "zeptoclaw"] {
            assert_eq!(name.parse::<Profile>().unwrap().name(), name);
        }
        for name in ["", "Standard", "molf ", "yolo"] {
            assert!(name.parse::<Profile>().is_err(), "{name:?}");
        }
    }
}
