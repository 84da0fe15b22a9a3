//! The gate: which calls want approval.

use super::ApprovalRequest;
use countersign_profiles::zeptoclaw::{
    config::{ApprovalConfig, DANGEROUS},
    ending,
    policy::ApprovalPolicy,
};
use serde_json::Value;

/// Holds calls of tools against a policy.
#[derive(Clone, Debug)]
pub struct ApprovalGate {
    enabled: bool,
    policy: ApprovalPolicy,
    auto_approve_timeout_secs: u64,
}

impl ApprovalGate {
    /// The gate of a configuration. `RequireForDangerous` becomes `RequireForTools` with the
    /// configuration's list.
    #[must_use]
    pub fn new(config: ApprovalConfig) -> Self {
        Self {
            enabled: config.enabled,
            policy: ApprovalPolicy::of(&config),
            auto_approve_timeout_secs: config.auto_approve_timeout_secs,
        }
    }

    /// Whether a tool wants approval; never while the gate is disabled.
    #[must_use]
    pub fn requires_approval(&self, tool_name: &str) -> bool {
        self.enabled && self.policy.requires(tool_name)
    }

    /// The question for a terminal or a chat.
    #[must_use]
    pub fn format_approval_request(&self, tool_name: &str, args: &Value) -> String {
        ending::prompt(tool_name, args)
    }

    /// A request for a call, made now.
    #[must_use]
    pub fn create_request(&self, tool_name: &str, args: &Value) -> ApprovalRequest {
        ApprovalRequest::new(tool_name.to_owned(), args.clone(), self.auto_approve_timeout_secs)
    }

    /// The tools that are dangerous by default.
    #[must_use]
    pub fn default_dangerous_tools() -> Vec<String> {
        DANGEROUS.map(str::to_owned).into()
    }

    /// The policy as it runs.
    #[must_use]
    pub fn policy(&self) -> &ApprovalPolicy {
        &self.policy
    }

    /// Whether anything is asked about at all.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.enabled
    }
}
