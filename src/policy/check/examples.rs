//! Examples beside rules: each has to hold for its rule alone.

use serde_json::json;

use crate::engine::decision::{Decision, Layers, Mode, decide};
use crate::engine::guardrail::Guardrail;
use crate::facts::call::Call;
use crate::facts::tools::{Kind, canonical, kind_of};
use crate::rules::verdict::Verdict;
use crate::rules::{RuleEntry, RuleProblem, Rules, Severity};

/// Checks the examples beside rules; each that fails is an error.
pub(super) fn check(rules: &Rules, problems: &mut Vec<RuleProblem>) {
    for entry in rules.entries() {
        for example in &entry.examples {
            if matches_alone(entry, &example.text, rules.home()) != example.matches {
                let says = if example.matches { "does not match" } else { "matches" };
                let message = format!(
                    "the rule {:?} {says} its example {:?}",
                    entry.rule.pattern, example.text
                );
                problems.extend(entry.problem(message, Severity::Error));
            }
        }
    }
}

/// Returns true when the rule alone decides about the example.
fn matches_alone(entry: &RuleEntry, example: &str, home: Option<&str>) -> bool {
    // The verdict for an ask looks the same as without any rule. The ask is tried as a deny,
    // because both match alike.
    let verdict = match entry.rule.verdict {
        Verdict::Allow => Verdict::Allow,
        Verdict::Ask | Verdict::Deny => Verdict::Deny,
    };
    Rules::of_one(entry, verdict, home)
        .is_some_and(|alone| decision(&alone, &entry.rule.tool, example, 0).verdict == verdict)
}

/// Decides the call that an example stands for, with these rules alone.
pub fn decision(rules: &Rules, tool: &str, example: &str, now_ms: i64) -> Decision {
    let layers = Layers {
        agent: None,
        rules,
        grants: &Rules::default(),
        guardrail: &Guardrail::default(),
        now_ms,
    };
    decide(&call(tool, example), &layers, Mode::Default)
}

/// Builds the call that a rule's example stands for.
#[must_use]
pub fn call(tool: &str, value: &str) -> Call {
    let key = match kind_of(tool) {
        Kind::Shell => "command",
        Kind::Read | Kind::Write | Kind::Edit | Kind::Grep => "path",
        Kind::Glob => "pattern",
        Kind::Skill => "name",
        Kind::Fetch => "url",
        Kind::Question | Kind::Other => "value",
    };
    Call::new(canonical(tool), json!({ key: value }))
}
