//! Determines who decides a call: its tool, its user, or the mode.

use super::config::Approval;
use super::declare::{Declared, Tier};
use super::mode::ApprovalMode;
use countersign_policy::verdict::Verdict;

/// The party that decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApprovalSource {
    /// The tool's own declaration.
    Tool,
    /// `tools.approval`.
    User,
    /// `tools.approvalMode`.
    Mode,
}

/// The result for a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The verdict.
    pub verdict: Verdict,
    /// The tier that was compared.
    pub tier: Tier,
    /// The party that decided.
    pub source: ApprovalSource,
    /// The tool's reason, if the tool is why a person is asked.
    pub reason: Option<String>,
    /// The name under `tools.approval` that decided, or would have.
    pub key: String,
}

/// Resolves the verdict on a call.
///
/// The order: a tool's deny; a user's deny; in yolo the tool's allow, then the user, then the
/// tool's prompt, else allow; elsewhere an override, which only the tool's own allow answers; then
/// the tool's allow or prompt, then the user, then the tier. A tool without a policy of its own
/// passes exactly the six steps of the system's first document.
#[must_use]
pub fn resolve(tool: &str, declared: &Declared, mode: ApprovalMode, users: &Approval) -> Resolved {
    let (user, key) = users.of(tool, declared.policy_key.as_deref());
    let by = |source, verdict| Resolved {
        verdict,
        tier: declared.tier(),
        source,
        reason: declared.reason.clone().filter(|_| source == ApprovalSource::Tool),
        key: key.to_owned(),
    };
    // Only these two denies hold in yolo as well.
    if declared.policy == Some(Verdict::Deny) {
        return by(ApprovalSource::Tool, Verdict::Deny);
    }
    if user == Some(Verdict::Deny) {
        return by(ApprovalSource::User, Verdict::Deny);
    }
    if mode == ApprovalMode::Yolo {
        // The user's value beats the tool's prompt in yolo: the system's code does so, although its
        // document says the reverse.
        return match (declared.policy, user) {
            (Some(Verdict::Allow), _) => by(ApprovalSource::Tool, Verdict::Allow),
            (_, Some(user)) => by(ApprovalSource::User, user),
            (Some(tool), None) => by(ApprovalSource::Tool, tool),
            (None, None) => by(ApprovalSource::Mode, Verdict::Allow),
        };
    }
    match (declared.overrides, declared.policy, user) {
        (true, Some(Verdict::Allow), _) => by(ApprovalSource::Tool, Verdict::Allow),
        // A user's allow does not lift the tool's own request for a person.
        (true, ..) => by(ApprovalSource::Tool, Verdict::Ask),
        (false, Some(tool), _) => by(ApprovalSource::Tool, tool),
        (false, None, Some(user)) => by(ApprovalSource::User, user),
        (false, None, None) if declared.tier() <= mode.most() => {
            by(ApprovalSource::Mode, Verdict::Allow)
        }
        (false, None, None) => {
            Resolved { reason: declared.reason.clone(), ..by(ApprovalSource::Mode, Verdict::Ask) }
        }
    }
}

impl Resolved {
    /// Returns the system's own error for a denied call.
    #[must_use]
    pub fn error(&self, tool: &str) -> String {
        if self.source == ApprovalSource::Tool {
            let reason = self.reason.as_ref();
            let reason = reason.map(|reason| format!("\nReason: {reason}")).unwrap_or_default();
            return format!("Tool \"{tool}\" is blocked by tool policy.{reason}");
        }
        let key = &self.key;
        format!(
            "Tool \"{key}\" is blocked by user policy.\n\
             To allow: remove \"tools.approval.{key}: deny\" from config."
        )
    }
}

/// Returns the system's word for a verdict.
#[must_use]
pub fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "allow",
        Verdict::Ask => "prompt",
        Verdict::Deny => "deny",
    }
}
