//! What the checks of a call are given, and what they return.

use super::host::Era;
use super::mode::{PermissionMode, Requester};
use super::permission::Permissions;
use super::workspace::WorkspaceDecision;
use countersign_policy::verdict::Verdict;

/// The session's state that the checks of a call need.
#[derive(Clone, Copy, Debug)]
pub(super) struct PermitContext<'s> {
    /// Everything that is permitted: by the file, by skills, by people.
    pub(super) permissions: &'s Permissions,
    pub(super) mode: PermissionMode,
    pub(super) era: Era,
    pub(super) requester: Requester,
    /// True when someone could answer.
    pub(super) reachable: bool,
    /// A call of this batch was denied, and with it the rest.
    pub(super) stopped: bool,
    /// Gives ConnectOnion's own answers, including unsafe ones.
    pub(super) compat: bool,
}

/// The result of the checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PermitResult {
    pub(super) verdict: Verdict,
    /// The permission or policy that decided.
    pub(super) rule: Option<String>,
    pub(super) reason: String,
    /// The policy's decision, if the policy was consulted.
    pub(super) policy: Option<WorkspaceDecision>,
    /// The call matches a critical pattern, which always needs a person.
    pub(super) critical: bool,
}

impl PermitResult {
    pub(super) fn new(verdict: Verdict, reason: impl Into<String>) -> Self {
        Self { verdict, rule: None, reason: reason.into(), policy: None, critical: false }
    }

    pub(super) fn by(self, rule: impl Into<String>) -> Self {
        Self { rule: Some(rule.into()), ..self }
    }
}
