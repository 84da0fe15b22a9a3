//! The step of an agent's loop that decides its calls.

use super::{ApprovalGate, ApprovalHandler};
use countersign_profiles::zeptoclaw::{
    agent_mode::{CategoryPermission, ModePolicy, ToolCategory},
    ending::{self, CallOutcome},
};
use serde_json::Value;

/// The parts that decide an agent's calls, in order: its mode, its gate, and the handler.
#[derive(Clone)]
pub struct Approvals {
    /// The permitted categories of calls.
    pub mode: ModePolicy,
    /// The calls that need approval.
    pub gate: ApprovalGate,
    /// Asks a person; without it, a call that needs approval is skipped.
    pub handler: Option<ApprovalHandler>,
}

/// The source of an agent's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// The user's own terminal, where `/trust on` lifts the gate, but never the mode.
    Terminal {
        /// The last `/trust` setting.
        trust: Trust,
    },
    /// A chat or another channel; no instruction there lifts the gate.
    Remote,
}

/// The setting of `/trust`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// The gate applies.
    #[default]
    Off,
    /// `/trust on`.
    On,
}

/// A call of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// The tool.
    pub name: String,
    /// Its arguments; [`super::arguments`] parses those that a model wrote.
    pub arguments: Value,
    /// The tool's category.
    pub category: ToolCategory,
}

impl Approvals {
    /// Decides one call.
    pub async fn decide(&self, call: &ToolCall, channel: Channel) -> CallOutcome {
        let tool = call.name.as_str();
        let args = &call.arguments;
        let requires = self.gate.requires_approval(tool);
        let mode = self.mode.mode();
        let category = call.category;
        // A category that needs approval while the gate does not ask would run unasked, so it is
        // blocked.
        let blocked = match self.mode.check(category) {
            CategoryPermission::Blocked => true,
            CategoryPermission::RequiresApproval => !requires,
            CategoryPermission::Allowed => false,
        };
        if blocked {
            let words = format!("Tool '{tool}' is blocked: mode {mode}, category {category}.");
            return CallOutcome::Skip(words);
        }
        let trusted = channel == Channel::Terminal { trust: Trust::On };
        // Nobody is asked under trust or without a handler; `outcome` tells the two apart.
        let response = match &self.handler {
            Some(handler) if requires && !trusted => {
                Some(handler(self.gate.create_request(tool, args)).await)
            }
            _ => None,
        };
        ending::outcome(tool, args, requires, trusted, response.as_ref())
    }

    /// Decides a batch one call after another: nobody is asked about a call before the previous one
    /// is answered.
    pub async fn decide_all(&self, calls: &[ToolCall], channel: Channel) -> Vec<CallOutcome> {
        let mut outcomes = Vec::with_capacity(calls.len());
        for call in calls {
            outcomes.push(self.decide(call, channel).await);
        }
        outcomes
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use crate::{
        AgentMode, ApprovalConfig, ApprovalHandler, ApprovalPolicyConfig, ApprovalResponse,
    };
    use serde_json::json;
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    fn approvals(mode: AgentMode, handler: Option<ApprovalHandler>) -> Approvals {
        let config = ApprovalConfig {
            enabled: true,
            policy: ApprovalPolicyConfig::RequireForDangerous,
            ..Default::default()
        };
        Approvals { mode: ModePolicy::new(mode), gate: ApprovalGate::new(config), handler }
    }

    fn shell(command: &str) -> ToolCall {
        ToolCall {
            name: "shell".into(),
            arguments: json!({ "command": command }),
            category: ToolCategory::Shell,
        }
    }

    /// A handler that approves everything; it counts the calls and asserts that none overlap.
    fn counting() -> (ApprovalHandler, Arc<AtomicUsize>) {
        let asked = Arc::new(AtomicUsize::new(0));
        let open = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        let handler: ApprovalHandler = Arc::new(move |_| {
            assert_eq!(open.fetch_add(1, Ordering::SeqCst), 0, "one call after another");
            asked.fetch_add(1, Ordering::SeqCst);
            let open = open.clone();
            Box::pin(async move {
                tokio::task::yield_now().await;
                open.fetch_sub(1, Ordering::SeqCst);
                ApprovalResponse::Approved
            })
        });
        (handler, count)
    }

    #[tokio::test]
    async fn a_batch_is_asked_about_one_call_after_another() {
        let (handler, asked) = counting();
        let approvals = approvals(AgentMode::Autonomous, Some(handler));
        let batch = [shell("one"), shell("two"), shell("three")];
        let outcomes = approvals.decide_all(&batch, Channel::Remote).await;
        assert_eq!(outcomes, [CallOutcome::Run, CallOutcome::Run, CallOutcome::Run]);
        assert_eq!(asked.load(Ordering::SeqCst), 3);
    }

    #[tokio::test]
    async fn trust_counts_at_the_terminal_only_and_never_against_the_mode() {
        let (handler, asked) = counting();
        let trusted = Channel::Terminal { trust: Trust::On };
        let free = approvals(AgentMode::Autonomous, Some(handler.clone()));
        assert_eq!(free.decide(&shell("ls"), trusted).await, CallOutcome::Run);
        assert_eq!(asked.load(Ordering::SeqCst), 0, "nobody was asked");
        assert_eq!(free.decide(&shell("ls"), Channel::Remote).await, CallOutcome::Run);
        assert_eq!(asked.load(Ordering::SeqCst), 1, "a remote channel asks");
        let watched = approvals(AgentMode::Observer, Some(handler));
        let outcome = watched.decide(&shell("ls"), trusted).await;
        assert!(matches!(outcome, CallOutcome::Skip(words) if words.contains("blocked")));
    }

    #[tokio::test]
    async fn without_anybody_to_ask_the_call_is_skipped_with_its_question() {
        let approvals = approvals(AgentMode::Autonomous, None);
        let outcome = approvals.decide(&shell("ls"), Channel::Remote).await;
        assert!(
            matches!(outcome, CallOutcome::Skip(words) if words.contains("[Approval Required]"))
        );
    }
}
