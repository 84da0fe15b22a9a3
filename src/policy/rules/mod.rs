//! Rules: what they say, where they stand, and the one that wins.

pub mod file;
mod problem;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::verdict::Verdict;
pub use problem::{Problem, Severity};

/// The rules every installation starts with; the text of `config/permissions.jsonc`.
pub const DEFAULT_RULES: &str = include_str!("../../../config/permissions.jsonc");

/// One rule: calls of `tool` whose value matches `pattern` get `verdict`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The tool's name or a glob over names.
    pub tool: String,
    /// What is matched against the call's values; `*` for every call.
    pub pattern: String,
    /// What the rule says.
    pub verdict: Verdict,
}

impl Rule {
    /// A rule that allows.
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

/// An ordered set of rules; the last one that matches wins.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    warnings: Vec<Problem>,
}

impl Rules {
    /// Reads a rules file; `name` is what problems call it, `home` is what `~/` stands for.
    ///
    /// # Errors
    /// Everything that is wrong with it, each with its place. Nothing of a broken file is used.
    pub fn parse(_text: &str, _name: &str, _home: Option<&str>) -> Result<Self, Vec<Problem>> {
        Ok(Self::default())
    }

    /// What is odd about the file although it can be used.
    #[must_use]
    pub fn warnings(&self) -> &[Problem] {
        &self.warnings
    }

    /// Rules that were not read from a file (grants).
    #[must_use]
    pub fn from_rules(_rules: &[Rule]) -> Self {
        Self::default()
    }
}
