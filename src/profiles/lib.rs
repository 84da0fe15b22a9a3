//! Profiles: five systems' own policies, each ruling as its system does.
//!
//! INVARIANT: a profile rules in the middle of a skeleton that it cannot reorder: guardrails first,
//! then the profile, then the ask, then the one answer function. Whatever a profile allows, a
//! guardrail still denies and a question still asks.

pub mod check;
pub mod connectonion;
mod dialect;
mod end;
mod grants;
mod manners;
pub mod molf;
pub mod ohmypi;
mod profile;
pub mod standard;
pub mod wcore;
pub mod zeptoclaw;

pub use dialect::{Dialect, Given, Turn};
pub use end::End;
pub use grants::{Grants, Prefix};
pub use manners::{Choice, Life, Manners, Parting, Patience, Then};
pub use profile::Profile;

use countersign_policy::agent_mode;
use countersign_policy::call::Call;
use countersign_policy::guardrail::Reach;
use countersign_policy::ruling::Ruling;
use countersign_policy::tool_name;
use countersign_policy::verdict::Verdict;

/// The ruling of a profile, under the guardrail.
///
/// # Errors
/// As [`Dialect::rule`].
///
/// A denial keeps the profile's own words.
// FAIL-CLOSED: whatever the profile says, a guardrail denies and a question asks.
// SECURITY: and whatever it offers to remember, it is for a tool whose name is nothing but a name.
pub fn rule(dialect: &dyn Dialect, call: &Call, given: &Given<'_>) -> Result<Ruling, String> {
    let mut ruling = dialect.rule(call, given)?;
    let reach = match ruling.verdict {
        Verdict::Deny => None,
        Verdict::Allow | Verdict::Ask => {
            countersign_policy::ruling::guarded(call, given.guardrail, given.now_ms)
        }
    };
    match reach {
        Some(Reach::Denied(reason)) => forbid(&mut ruling, Verdict::Deny, reason),
        // What is asked about each time is never remembered.
        Some(Reach::Asks(reason)) if ruling.verdict == Verdict::Allow => {
            forbid(&mut ruling, Verdict::Ask, reason);
        }
        Some(Reach::Asks(_)) => forget(&mut ruling),
        None if dialect.is_question(call) && ruling.verdict == Verdict::Allow => {
            ruling.verdict = Verdict::Ask;
            ruling.reason = "A question is answered by a person.".to_owned();
        }
        None if ruling.verdict == Verdict::Allow => {
            if let Some(why) = agent_mode::holds(call) {
                forbid(&mut ruling, Verdict::Ask, why);
            }
        }
        None => {}
    }
    if !tool_name::may_be_granted(&call.tool) {
        forget(&mut ruling);
    }
    Ok(ruling)
}

fn forbid(ruling: &mut Ruling, verdict: Verdict, reason: String) {
    ruling.verdict = verdict;
    ruling.rule = None;
    ruling.reason = reason;
    forget(ruling);
}

/// Nothing of it can be remembered.
fn forget(ruling: &mut Ruling) {
    ruling.always.clear();
    ruling.exact.clear();
    ruling.prefix.clear();
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use countersign_policy::guardrail::{Guardrail, Ours};
    use serde_json::{Value, json};

    fn standard(rules: &str) -> Box<dyn Dialect> {
        Profile::Standard.open(Some(rules), "permissions.jsonc", None, false).unwrap()
    }

    fn ruled(dialect: &dyn Dialect, call: &Call, guardrail: &Guardrail) -> Verdict {
        let given = Given {
            mode: Some("yolo"),
            grants: &Grants::default(),
            agent_rules: None,
            guardrail,
            reachable: true,
            now_ms: 0,
        };
        rule(dialect, call, &given).unwrap().verdict
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
            (Then::GoOn, json!({})),
            (Then::Stop, json!({"stop": true})),
            (Then::Explain, json!({"explain": true})),
        ] {
            assert_eq!(serde_json::to_value(then).unwrap(), wire);
            assert_eq!(serde_json::from_value::<Then>(wire).unwrap(), then);
        }
        let both: Value = json!({"stop": true, "explain": true});
        assert!(serde_json::from_value::<Then>(both).is_err());
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
