//! The gate, which decides which calls need approval.

use super::ApprovalRequest;
use countersign_profiles::zeptoclaw::{
    config::{ApprovalConfig, DANGEROUS},
    ending,
    policy::ApprovalPolicy,
};
use serde_json::Value;

/// Checks calls against a policy.
#[derive(Clone, Debug)]
pub struct ApprovalGate {
    enabled: bool,
    policy: ApprovalPolicy,
    auto_approve_timeout_secs: u64,
}

impl ApprovalGate {
    /// The gate for a configuration. `RequireForDangerous` becomes `RequireForTools` with the
    /// configuration's list.
    #[must_use]
    pub fn new(config: ApprovalConfig) -> Self {
        Self {
            enabled: config.enabled,
            policy: ApprovalPolicy::of(&config),
            auto_approve_timeout_secs: config.auto_approve_timeout_secs,
        }
    }

    /// Returns whether a tool needs approval; always `false` while the gate is disabled.
    #[must_use]
    pub fn requires_approval(&self, tool_name: &str) -> bool {
        self.enabled && self.policy.requires(tool_name)
    }

    /// The question for a terminal or a chat.
    #[must_use]
    pub fn format_approval_request(&self, tool_name: &str, args: &Value) -> String {
        ending::prompt(tool_name, args)
    }

    /// Creates a request for a call, with the current time.
    #[must_use]
    pub fn create_request(&self, tool_name: &str, args: &Value) -> ApprovalRequest {
        ApprovalRequest::new(tool_name.to_owned(), args.clone(), self.auto_approve_timeout_secs)
    }

    /// The tools that are dangerous by default.
    #[must_use]
    pub fn default_dangerous_tools() -> Vec<String> {
        DANGEROUS.map(str::to_owned).into()
    }

    /// The effective policy.
    #[must_use]
    pub fn policy(&self) -> &ApprovalPolicy {
        &self.policy
    }

    /// Returns whether the gate is enabled.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.enabled
    }
}
