//! Examples beside rules, checked against the whole set: `countersign policy test`.

use std::fmt;

use countersign_policy::{Rules, Verdict, examples::decision};
use serde::Serialize;

/// An example whose decision is not what its rule says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Surprise {
    /// The rule that the example is beside.
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
pub struct ExampleReport {
    /// How many examples there are.
    pub examples: usize,
    /// Those that the whole set of rules decides otherwise.
    pub surprises: Vec<Surprise>,
}

/// Rules on every example with all the rules in force.
#[must_use]
pub fn run(rules: &Rules, now_ms: i64) -> ExampleReport {
    let mut report = ExampleReport::default();
    for (rule, label, example) in rules.examples() {
        report.examples += 1;
        let decision = decision(rules, &rule.tool, &example.text, now_ms);
        if (decision.verdict == rule.verdict) != example.matches {
            let not = if example.matches { "" } else { "anything but " };
            report.surprises.push(Surprise {
                rule: label.to_owned(),
                example: example.text.clone(),
                expected: format!("{not}{}", rule.verdict),
                ruled: decision.verdict,
                reason: decision.reason,
            });
        }
    }
    report
}
