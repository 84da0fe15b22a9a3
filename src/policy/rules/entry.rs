//! A compiled rule and its position in a file.

use std::fmt;
use std::sync::Arc;

use super::pattern::Pattern;
use super::problem::{RuleProblem, Severity};
use super::rule::Rule;

/// A compiled rule and its position in a file.
#[derive(Clone, Debug)]
pub(crate) struct RuleEntry {
    pub(crate) rule: Rule,
    pub(crate) pattern: Pattern,
    /// The rule as text, with its position.
    pub(crate) label: Box<str>,
    pub(super) origin: Option<RuleOrigin>,
    /// Milliseconds since 1970 from which on the rule no longer matches.
    pub(super) expires: Option<i64>,
    /// Commands or values that the rule must match or must not match.
    pub(crate) examples: Vec<Example>,
}

/// The position of a rule in its file.
#[derive(Clone, Debug)]
pub(crate) struct RuleOrigin {
    pub(crate) file: Arc<str>,
    pub(crate) line: usize,
    pub(crate) column: usize,
}

/// An example beside a rule.
#[derive(Clone, Debug)]
pub struct Example {
    /// A command or another value.
    pub text: String,
    /// True when the rule has to match the text, false when it must not.
    pub matches: bool,
}

impl RuleEntry {
    pub(super) fn new(rule: Rule, pattern: Pattern, origin: Option<RuleOrigin>) -> Self {
        // Formatted once, because the label is part of every decision.
        let label = label(&rule, origin.as_ref()).into();
        Self { rule, pattern, label, origin, expires: None, examples: Vec::new() }
    }

    /// Returns true when the rule is in force at this time, in milliseconds since 1970.
    pub(super) fn lives(&self, now_ms: i64) -> bool {
        self.expires.is_none_or(|expires| now_ms < expires)
    }

    /// Returns true when the rule never expires.
    pub(crate) fn lasts(&self) -> bool {
        self.expires.is_none()
    }

    /// Describes a problem of the rule; `None` for a rule that is not from a file.
    pub(crate) fn problem(&self, message: String, severity: Severity) -> Option<RuleProblem> {
        let origin = self.origin()?;
        Some(RuleProblem {
            file: origin.file.to_string(),
            line: origin.line,
            column: origin.column,
            message,
            severity,
        })
    }

    /// Returns the rule's position; `None` for a rule that is not from a file.
    pub(crate) fn origin(&self) -> Option<&RuleOrigin> {
        self.origin.as_ref()
    }
}

/// Formats `shell_exec: "git *": allow (permissions.jsonc:12)`.
fn label(rule: &Rule, origin: Option<&RuleOrigin>) -> String {
    let Rule { tool, pattern, verdict } = rule;
    match origin {
        Some(RuleOrigin { file, line, .. }) => {
            format!("{tool}: {pattern:?}: {verdict} ({file}:{line})")
        }
        None => format!("{tool}: {pattern:?}: {verdict} (granted)"),
    }
}

impl fmt::Display for RuleEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.label)
    }
}
