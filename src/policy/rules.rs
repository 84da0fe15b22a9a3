//! Rules: their content, their position in a file, and how they match.

mod claude;
pub mod file;
pub(crate) mod pattern;
pub(crate) mod read;
mod set;
pub mod suggest;
pub mod verdict;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use crate::rules::read::OPTIONS;
pub(crate) use crate::rules::set::{About, RuleEntry};
pub use crate::rules::set::{Example, Rules};
use crate::rules::verdict::Verdict;

/// The rules of a new installation; the text of `config/permissions.jsonc`.
pub const DEFAULT_RULES: &str = include_str!("../../config/permissions.jsonc");

/// One rule: calls of `tool` whose value matches `pattern` get `verdict`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The tool's name or a glob over names.
    pub tool: String,
    /// The pattern for the call's values; `*` for every call.
    pub pattern: String,
    /// The verdict for matching calls.
    pub verdict: Verdict,
}

impl Rule {
    /// Creates a rule that allows.
    #[must_use]
    pub fn allow(tool: impl Into<String>, pattern: impl Into<String>) -> Self {
        Self { tool: tool.into(), pattern: pattern.into(), verdict: Verdict::Allow }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tool = if self.tool == "shell_exec" { "shell" } else { &self.tool };
        match self.pattern.as_str() {
            "*" => write!(f, "{tool}: every call"),
            pattern => write!(f, "{tool}: {pattern}"),
        }
    }
}

/// One problem of a rules file, with its position.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct RuleProblem {
    /// The file's name as people know it.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// A sentence that names the problem and how to fix it.
    pub message: String,
    /// Tells whether the file can be used despite the problem.
    pub severity: Severity,
}

/// Tells whether a problem prevents the file from being used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The file is not used.
    Error,
    /// The file is used; a person should look.
    Warning,
}

impl fmt::Display for RuleProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, column, message, severity } = self;
        let severity = match severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(f, "{file}:{line}:{column}: {severity}: {message}")
    }
}

impl std::error::Error for RuleProblem {}

/// Formats all problems, one per line.
pub fn sentences(problems: &[RuleProblem]) -> String {
    problems.iter().map(RuleProblem::to_string).collect::<Vec<_>>().join("\n")
}
