//! Which tools are asked about.

use std::fmt;

use super::config::{ApprovalConfig, ApprovalPolicyConfig, DANGEROUS};

/// The policy as it runs. Never written to a file; [`ApprovalPolicyConfig`] is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApprovalPolicy {
    /// Every tool runs without approval.
    AlwaysAllow,
    /// Every call wants approval.
    AlwaysRequire,
    /// The named tools want approval; `*`, `prefix*` and `*suffix` name several.
    RequireForTools(Vec<String>),
    /// The tools that are dangerous by default want approval. A configuration becomes
    /// `RequireForTools` with its own list instead.
    RequireForDangerous,
}

impl ApprovalPolicy {
    /// The policy that a configuration means.
    #[must_use]
    pub fn of(config: &ApprovalConfig) -> Self {
        match config.policy {
            ApprovalPolicyConfig::AlwaysAllow => Self::AlwaysAllow,
            ApprovalPolicyConfig::AlwaysRequire => Self::AlwaysRequire,
            ApprovalPolicyConfig::RequireForTools => {
                Self::RequireForTools(config.require_for.clone())
            }
            ApprovalPolicyConfig::RequireForDangerous => {
                Self::RequireForTools(config.dangerous_tools.clone())
            }
        }
    }

    /// Whether a tool wants approval. Names count in their own case.
    #[must_use]
    pub fn requires(&self, tool: &str) -> bool {
        match self {
            Self::AlwaysAllow => false,
            Self::AlwaysRequire => true,
            Self::RequireForTools(names) => names.iter().any(|name| names_tool(name, tool)),
            Self::RequireForDangerous => DANGEROUS.contains(&tool),
        }
    }
}

/// One star at one end stands for any text. A name with a star at its end is a beginning, whatever
/// other stars it has; a star in the middle stands for itself.
fn names_tool(name: &str, tool: &str) -> bool {
    match (name.strip_suffix('*'), name.strip_prefix('*')) {
        (Some(beginning), _) => tool.starts_with(beginning),
        (None, Some(end)) => tool.ends_with(end),
        (None, None) => tool == name,
    }
}

impl fmt::Display for ApprovalPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AlwaysAllow => f.write_str("approval.policy: always_allow"),
            Self::AlwaysRequire => f.write_str("approval.policy: always_require"),
            Self::RequireForTools(names) => write!(f, "approval for {}", names.join(", ")),
            Self::RequireForDangerous => f.write_str("approval.policy: require_for_dangerous"),
        }
    }
}
