//! What is wrong with a rules file, and where.

use std::fmt;

/// One thing that is wrong or odd, with its place.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Problem {
    /// The file's name as people know it.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// A sentence that says what it is and how to fix it.
    pub message: String,
    /// Whether the file can be used nevertheless.
    pub severity: Severity,
}

/// Whether a problem keeps a file from being used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The file is not used.
    Error,
    /// The file is used; a person should look.
    Warning,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, column, message, severity } = self;
        let severity = match severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(f, "{file}:{line}:{column}: {severity}: {message}")
    }
}

impl std::error::Error for Problem {}

/// All of them, one to a line.
pub fn sentences(problems: &[Problem]) -> String {
    problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n")
}
