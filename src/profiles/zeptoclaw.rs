//! The profile `zeptoclaw`: decides as zeptoclaw's approval gate does.
//!
//! A list of tool names determines what is asked about. Before that, the agent's mode may block a
//! category of tools. Nothing is remembered, because the system has no Always.

pub mod agent_mode;
pub mod config;
pub mod ending;
pub mod policy;
pub mod replies;

use countersign_policy::{call::Call, decision, decision::Decision, verdict::Verdict};
use serde_json::Value;

use crate::zeptoclaw::agent_mode::{AgentMode, CategoryPermission, ModePolicy, ToolCategory};
use crate::zeptoclaw::config::ZeptoclawSettings;
use crate::zeptoclaw::ending::ApprovalResponse;
use crate::zeptoclaw::policy::ApprovalPolicy;
use crate::{
    CallEnd, DefaultTimeout, EvaluationContext, GrantLifetime, OnDeny, OnDisconnect,
    PromptBehaviour, System,
};

/// zeptoclaw's parsed configuration.
#[derive(Debug)]
struct Zeptoclaw {
    settings: ZeptoclawSettings,
    policy: ApprovalPolicy,
    name: String,
}

/// Reads the approval section and the agent mode of a `config.json`.
///
/// Without settings, the gate is on and asks about the dangerous tools. Under `compat` it is off,
/// as in the system's first document.
///
/// # Errors
/// Sentences that name each mistake and its place.
pub fn open(text: Option<&str>, name: &str, compat: bool) -> Result<Box<dyn System>, String> {
    let settings = ZeptoclawSettings::read(text.unwrap_or("{}"), name, compat)?;
    let policy = ApprovalPolicy::of(&settings.approval);
    Ok(Box::new(Zeptoclaw { settings, policy, name: name.to_owned() }))
}

impl System for Zeptoclaw {
    fn decide(&self, call: &Call, context: &EvaluationContext<'_>) -> Result<Decision, String> {
        let mode = match context.mode {
            Some(word) => word.parse()?,
            None => self.settings.mode,
        };
        let category = match &call.own.category {
            Some(word) => word.parse()?,
            None => ToolCategory::of_tool(&call.tool),
        };
        let approval = &self.settings.approval;
        // The embedding program has already checked the call with a policy of its own.
        let wished = !matches!(&call.own.overrides, None | Some(Value::Null | Value::Bool(false)));
        let asks = wished || approval.enabled && self.policy.requires(&call.tool);
        // The mode comes before the gate, as in zeptoclaw.
        let (verdict, reason) = match (ModePolicy::new(mode).check(category), asks) {
            (CategoryPermission::Blocked, _) => {
                (Verdict::Deny, format!("Mode {mode} blocks tools of category {category}."))
            }
            // As in zeptoclaw, such a tool is blocked unless the gate lists it.
            (CategoryPermission::RequiresApproval, false) => (
                Verdict::Deny,
                format!(
                    "Mode {mode} requires approval for tools of category {category}, and the \
                     approval \
                     policy does not cover {}.",
                    call.tool
                ),
            ),
            (_, true) if context.reachable => {
                (Verdict::Ask, format!("The approval policy covers {}.", call.tool))
            }
            (_, true) => (Verdict::Deny, ending::unasked(&call.tool, &call.args)),
            (CategoryPermission::Allowed, false) => {
                (Verdict::Allow, format!("The approval policy does not cover {}.", call.tool))
            }
        };
        let reason = match &self.settings.doubt {
            // The doubt is about the file's mode; a mode of the session replaces it.
            Some(doubt) if context.mode.is_none() => format!("{reason} {doubt}"),
            _ => reason,
        };
        let rule = Some(format!("{} ({})", self.policy, self.name));
        Ok(Decision {
            verdict,
            rule,
            deciding_rule: None,
            reason,
            always: Vec::new(),
            always_from: Vec::new(),
            exact: Vec::new(),
            ..decision::facts(call)
        })
    }

    fn prompt_behaviour(&self) -> PromptBehaviour {
        // zeptoclaw itself never starts this clock; only its document promises it.
        let secs = self.settings.approval.auto_approve_timeout_secs;
        PromptBehaviour {
            choices: &[],
            deny: OnDeny::GoOn,
            always: GrantLifetime::Session,
            timeout: match u32::try_from(secs) {
                Ok(0) => DefaultTimeout::Wait,
                Ok(secs) => DefaultTimeout::Approve(secs),
                Err(_) => DefaultTimeout::Approve(u32::MAX),
            },
            cascade: false,
            on_disconnect: OnDisconnect::Deny,
        }
    }

    fn text_for_model(&self, call: &Call, end: &CallEnd<'_>) -> Option<String> {
        let denied = |reason: String| ApprovalResponse::Denied(reason).told(&call.tool);
        match end {
            CallEnd::Approved { .. } => None,
            CallEnd::Denied { by, reason, .. } => {
                denied(reason.map_or_else(|| format!("Denied by {by}."), str::to_owned))
            }
            CallEnd::TimedOut { .. } => ApprovalResponse::TimedOut.told(&call.tool),
            CallEnd::Unreachable => Some(ending::unasked(&call.tool, &call.args)),
            CallEnd::Forbidden { reason, .. } => Some((*reason).to_owned()),
            CallEnd::Cancelled { reason } => {
                Some(format!("Tool '{}' was cancelled and was not executed. {reason}", call.tool))
            }
            CallEnd::BatchStopped { tool, .. } => Some(format!(
                "Tool '{}' was not executed: '{tool}' before it was denied.",
                call.tool
            )),
        }
    }

    fn check_mode(&self, word: &str) -> Result<(), String> {
        word.parse::<AgentMode>().map(|_| ())
    }
}
