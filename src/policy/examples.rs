//! Examples that stand beside rules: checked alone when a file is loaded, and against the whole
//! set by `countersign policy test`.

use std::fmt;

use serde::Serialize;
use serde_json::json;

use crate::engine::guardrail::Guardrail;
use crate::engine::ruling::{Layers, Mode, rule};
use crate::facts::call::{Call, Kind, canonical, kind_of};
use crate::rules::verdict::Verdict;
use crate::rules::{Entry, Rules};

/// An example whose ruling is not what its rule says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Surprise {
    /// The rule beside which the example stands.
    pub rule: String,
    /// The example.
    pub example: String,
    /// What was expected: the rule's verdict, or another one for a `not_match`.
    pub expected: String,
    /// What the whole set of rules says.
    pub ruled: Verdict,
    /// Why.
    pub reason: String,
}

impl fmt::Display for Surprise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, example, expected, ruled, reason } = self;
        write!(f, "{example:?} should be {expected} by {rule}, but is {ruled}: {reason}")
    }
}

/// What came of all the examples of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// How many examples there are.
    pub examples: usize,
    /// Those that the whole set of rules decides otherwise.
    pub surprises: Vec<Surprise>,
}

/// Rules on every example with all the rules in force.
#[must_use]
pub fn run(rules: &Rules, now_ms: i64) -> Outcome {
    let mut outcome = Outcome::default();
    for entry in rules.entries() {
        for example in &entry.examples {
            outcome.examples += 1;
            let ruling = ruling(rules, &entry.rule.tool, &example.text, now_ms);
            let wanted = entry.rule.verdict;
            if (ruling.verdict == wanted) != example.matches {
                let not = if example.matches { "" } else { "anything but " };
                outcome.surprises.push(Surprise {
                    rule: entry.to_string(),
                    example: example.text.clone(),
                    expected: format!("{not}{wanted}"),
                    ruled: ruling.verdict,
                    reason: ruling.reason,
                });
            }
        }
    }
    outcome
}

/// True when the rule alone decides about the example.
pub(crate) fn matches_alone(entry: &Entry, example: &str, home: Option<&str>) -> bool {
    // An ask alone cannot be told from no rule, so it is tried as a deny: both match alike.
    let verdict = match entry.rule.verdict {
        Verdict::Allow => Verdict::Allow,
        Verdict::Ask | Verdict::Deny => Verdict::Deny,
    };
    entry
        .alone(verdict, home)
        .is_some_and(|alone| ruling(&alone, &entry.rule.tool, example, 0).verdict == verdict)
}

fn ruling(rules: &Rules, tool: &str, example: &str, now_ms: i64) -> crate::engine::ruling::Ruling {
    let layers = Layers {
        agent: None,
        rules,
        grants: &Rules::default(),
        guardrail: &Guardrail::default(),
        now_ms,
    };
    rule(&call(tool, example), &layers, Mode::Default)
}

/// The call that a rule's example stands for.
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
