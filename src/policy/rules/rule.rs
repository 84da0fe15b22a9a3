//! One rule, as people write it and as grants store it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::verdict::Verdict;

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
