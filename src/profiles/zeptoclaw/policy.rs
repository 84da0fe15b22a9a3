//! The tools that are asked about.

use std::fmt;

use super::config::{ApprovalConfig, ApprovalPolicyConfig, DANGEROUS};

/// The policy at run time. It is never written to a file; [`ApprovalPolicyConfig`] is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApprovalPolicy {
    /// Every tool runs without approval.
    AlwaysAllow,
    /// Every call needs approval.
    AlwaysRequire,
    /// The named tools need approval; `*`, `prefix*` and `*suffix` name several.
    RequireForTools(Vec<String>),
    /// The tools that are dangerous by default need approval. A configuration becomes
    /// `RequireForTools` with its own list instead.
    RequireForDangerous,
}

impl ApprovalPolicy {
    /// Returns the policy of a configuration.
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

    /// Returns true when a tool needs approval. Names are case-sensitive.
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

/// Matches a name in which one star at one end stands for any text. A name that ends in a star is a
/// prefix, whatever other stars it has; a star in the middle stands for itself.
fn names_tool(name: &str, tool: &str) -> bool {
    // As in zeptoclaw: `a*b` is literal, and `*a*` means the prefix `*a`.
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
