//! The profile `zeptoclaw`: as zeptoclaw's approval gate rules.
//!
//! A list of tool names decides what is asked about; before it the agent's mode may block a
//! category of tools. Nothing is remembered: the system knows no Always.

pub mod agent_mode;
pub mod config;
pub mod ending;
pub mod messages;
pub mod policy;
pub mod replies;

use serde_json::Value;

use super::{Dialect, End, Given, Life, Manners, Parting, Patience, Then};
use agent_mode::{AgentMode, CategoryPermission, ModePolicy, ToolCategory};
use config::Settings;
use countersign_policy::call::Call;
use countersign_policy::guardrail::Guardrail;
use countersign_policy::rules::Rules;
use countersign_policy::ruling::{self, Layers, Ruling};
use countersign_policy::verdict::Verdict;
use ending::ApprovalResponse;
use policy::ApprovalPolicy;

/// zeptoclaw's configuration, as a dialect.
#[derive(Debug)]
struct Zeptoclaw {
    settings: Settings,
    policy: ApprovalPolicy,
    name: String,
}

/// Reads the approval section and the agent mode of a `config.json`.
///
/// Where the file says nothing, the gate is on and asks about the dangerous tools. Under `compat`
/// it is off, as the system's first document has it.
///
/// # Errors
/// Sentences that name each mistake and its place.
pub fn open(text: Option<&str>, name: &str, compat: bool) -> Result<Box<dyn Dialect>, String> {
    let settings = Settings::read(text.unwrap_or("{}"), name, compat)?;
    let policy = ApprovalPolicy::of(&settings.approval);
    Ok(Box::new(Zeptoclaw { settings, policy, name: name.to_owned() }))
}

impl Dialect for Zeptoclaw {
    fn rule(&self, call: &Call, given: &Given<'_>) -> Result<Ruling, String> {
        let mode = match given.mode {
            Some(word) => word.parse()?,
            None => self.settings.mode,
        };
        let category = match &call.category {
            Some(word) => word.parse()?,
            None => ToolCategory::of_tool(&call.tool),
        };
        let approval = &self.settings.approval;
        // Whoever embeds the gate has held the call against a policy of its own.
        let wished = !matches!(&call.overrides, None | Some(Value::Null | Value::Bool(false)));
        let asks = wished || approval.enabled && self.policy.requires(&call.tool);
        let (verdict, reason) = match (ModePolicy::new(mode).check(category), asks) {
            (CategoryPermission::Blocked, _) => {
                (Verdict::Deny, format!("Mode {mode} blocks tools of category {category}."))
            }
            (CategoryPermission::RequiresApproval, false) => (
                Verdict::Deny,
                format!(
                    "Mode {mode} wants approval for tools of category {category}, and the approval \
                     policy does not cover {}.",
                    call.tool
                ),
            ),
            (_, true) if given.reachable => {
                (Verdict::Ask, format!("The approval policy covers {}.", call.tool))
            }
            (_, true) => (Verdict::Deny, ending::unasked(&call.tool, &call.args)),
            (CategoryPermission::Allowed, false) => {
                (Verdict::Allow, format!("The approval policy does not cover {}.", call.tool))
            }
        };
        let reason = match &self.settings.doubt {
            Some(doubt) if given.mode.is_none() => format!("{reason} {doubt}"),
            _ => reason,
        };
        let rule = Some(format!("{} ({})", self.policy, self.name));
        Ok(Ruling {
            verdict,
            rule,
            reason,
            always: Vec::new(),
            exact: Vec::new(),
            ..facts(call, given)
        })
    }

    fn manners(&self) -> Manners {
        let secs = self.settings.approval.auto_approve_timeout_secs;
        Manners {
            choices: &[],
            deny: Then::GoOn,
            always: Life::Session,
            patience: match u32::try_from(secs) {
                Ok(0) => Patience::Wait,
                Ok(secs) => Patience::Approve(secs),
                Err(_) => Patience::Approve(u32::MAX),
            },
            cascade: false,
            parting: Parting::Deny,
        }
    }

    fn told(&self, call: &Call, end: &End<'_>) -> Option<String> {
        let denied = |reason: String| ApprovalResponse::Denied(reason).told(&call.tool);
        match end {
            End::Approved { .. } => None,
            End::Denied { by, reason, .. } => {
                denied(reason.map_or_else(|| format!("Denied by {by}."), str::to_owned))
            }
            End::TimedOut { .. } => ApprovalResponse::TimedOut.told(&call.tool),
            End::Unreachable => Some(ending::unasked(&call.tool, &call.args)),
            End::Forbidden { reason, .. } => Some((*reason).to_owned()),
            End::Cancelled { reason } => {
                Some(format!("Tool '{}' was cancelled and was not executed. {reason}", call.tool))
            }
            End::BatchStopped { tool, .. } => Some(format!(
                "Tool '{}' was not executed: '{tool}' before it was denied.",
                call.tool
            )),
        }
    }

    fn has_mode(&self, word: &str) -> bool {
        word.parse::<AgentMode>().is_ok()
    }
}

/// What our own engine knows about the call, with no rule in it.
fn facts(call: &Call, given: &Given<'_>) -> Ruling {
    let none = Rules::default();
    let guardrail = Guardrail::default();
    let layers = Layers {
        agent: None,
        rules: &none,
        grants: &none,
        guardrail: &guardrail,
        now_ms: given.now_ms,
    };
    ruling::rule(call, &layers, ruling::Mode::Default)
}
