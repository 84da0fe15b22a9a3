//! Problems of a rules file, with their positions.

use std::fmt;

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
