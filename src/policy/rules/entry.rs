//! A rule ready to be matched, and where it was read.

use std::fmt;
use std::sync::Arc;

use super::pattern::Pattern;
use super::problem::{Problem, Severity};
use super::rule::Rule;

/// One compiled rule and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) rule: Rule,
    pub(crate) pattern: Pattern,
    /// The rule in words, with its place.
    pub(crate) label: Box<str>,
    pub(super) origin: Option<Origin>,
    /// Milliseconds since 1970 from which the rule no longer matches.
    pub(super) expires: Option<i64>,
    /// Commands or values that the rule must match, and must not.
    pub(crate) examples: Vec<Example>,
}

/// Where a rule was read.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    pub(crate) file: Arc<str>,
    pub(crate) line: usize,
    pub(crate) column: usize,
}

/// An example that stands beside a rule.
#[derive(Clone, Debug)]
pub struct Example {
    /// A command or another value.
    pub text: String,
    /// Whether the rule has to match it, or must not.
    pub matches: bool,
}

impl Entry {
    pub(super) fn new(rule: Rule, pattern: Pattern, origin: Option<Origin>) -> Self {
        let label = label(&rule, origin.as_ref()).into();
        Self { rule, pattern, label, origin, expires: None, examples: Vec::new() }
    }

    /// The rule holds at this time, in milliseconds since 1970.
    pub(super) fn lives(&self, now_ms: i64) -> bool {
        self.expires.is_none_or(|expires| now_ms < expires)
    }

    /// The rule holds for ever.
    pub(crate) fn lasts(&self) -> bool {
        self.expires.is_none()
    }

    /// What is wrong or odd about the rule, for rules from a file.
    pub(crate) fn problem(&self, message: String, severity: Severity) -> Option<Problem> {
        let origin = self.origin()?;
        Some(Problem {
            file: origin.file.to_string(),
            line: origin.line,
            column: origin.column,
            message,
            severity,
        })
    }

    /// The line and column of the rule, for rules from a file.
    pub(crate) fn origin(&self) -> Option<&Origin> {
        self.origin.as_ref()
    }
}

/// `shell_exec: "git *": allow (permissions.jsonc:12)`
fn label(rule: &Rule, origin: Option<&Origin>) -> String {
    let Rule { tool, pattern, verdict } = rule;
    match origin {
        Some(Origin { file, line, .. }) => {
            format!("{tool}: {pattern:?}: {verdict} ({file}:{line})")
        }
        None => format!("{tool}: {pattern:?}: {verdict} (granted)"),
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.label)
    }
}
