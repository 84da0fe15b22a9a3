//! The profile `ohmypi`: decides as oh-my-pi's approval modes do.
//!
//! A call carries its tool's declaration (`tier`, `override`, `policy`, `policyKey`, `reason`). The
//! user's `config.yml` has a mode and a policy per tool. The system's two orders, that of its first
//! document and the later one with tool-owned policies, agree for tools without a policy of their
//! own. There is therefore one order here: [`resolve`].

pub mod bash;
pub mod config;
pub mod declare;
pub mod mode;
pub mod prompt;
pub mod resolve;

use countersign_policy::{
    call::Call, decision, decision::Decision, glob::escape, rules::Rule, tools::Kind,
    verdict::Verdict,
};
use serde_json::Value;

use crate::ohmypi::config::OhMyPiSettings;
use crate::ohmypi::declare::Declared;
use crate::ohmypi::mode::ApprovalMode;
use crate::ohmypi::resolve::{ApprovalSource, Resolved};
use crate::{
    CallEnd, DefaultTimeout, EvaluationContext, GrantLifetime, Grants, OnDeny, OnDisconnect,
    PromptBehaviour, PromptChoice, System,
};

/// oh-my-pi's parsed configuration.
#[derive(Debug)]
struct Ohmypi {
    settings: OhMyPiSettings,
    name: String,
    compat: bool,
}

/// Reads oh-my-pi's own `config.yml`, as YAML or as JSON.
///
/// # Errors
/// Sentences that name each mistake and its place.
pub fn open(text: Option<&str>, name: &str, compat: bool) -> Result<Box<dyn System>, String> {
    let settings = OhMyPiSettings::read(text.unwrap_or_default(), name, compat)?;
    Ok(Box::new(Ohmypi { settings, name: name.to_owned(), compat }))
}

impl System for Ohmypi {
    fn decide(&self, call: &Call, context: &EvaluationContext<'_>) -> Result<Decision, String> {
        let mode = match context.mode {
            Some(word) => word.parse()?,
            None => self.settings.mode,
        };
        let facts = decision::facts(call);
        let declared = self.declared(call, &facts);
        let resolved = resolve::resolve(&call.tool, &declared, mode, &self.settings.approval);
        let verdict = self.verdict(call, context, &resolved);
        let offers = verdict == Verdict::Ask && offers_grants(call, &resolved);
        Ok(Decision {
            verdict,
            rule: self.rule_behind(&resolved, mode),
            deciding_rule: None,
            reason: self.reason(call, &resolved, verdict, mode),
            critical: self.is_critical(call, &facts),
            always: if offers { vec![Rule::allow(&call.tool, "*")] } else { Vec::new() },
            always_from: Vec::new(),
            exact: if offers { file_grants(call) } else { Vec::new() },
            prompt: if verdict == Verdict::Ask { prompt_of(call, &resolved) } else { Vec::new() },
            ..facts
        })
    }

    fn prompt_behaviour(&self) -> PromptBehaviour {
        PromptBehaviour {
            choices: &[PromptChoice::Session, PromptChoice::Exact],
            deny: OnDeny::GoOn,
            always: GrantLifetime::Session,
            timeout: DefaultTimeout::Wait,
            cascade: false,
            on_disconnect: OnDisconnect::Cancel,
        }
    }

    fn text_for_model(&self, call: &Call, end: &CallEnd<'_>) -> Option<String> {
        let tool = &call.tool;
        let text = match end {
            CallEnd::Approved { .. } => return None,
            // The decision's reason is the system's own error text.
            CallEnd::Forbidden { reason, .. } => (*reason).to_owned(),
            CallEnd::Denied { by, reason, .. } => {
                let why = reason.map(|why| format!("\nReason: {why}")).unwrap_or_default();
                format!("Tool \"{tool}\" was denied by {by}.{why}")
            }
            CallEnd::TimedOut { after_s } => {
                format!(
                    "Tool \"{tool}\" was not approved: nobody answered within {after_s} seconds."
                )
            }
            CallEnd::Unreachable => unreachable_text(tool),
            CallEnd::Cancelled { reason } => format!("Tool \"{tool}\" was cancelled: {reason}."),
            CallEnd::BatchStopped { tool: first, .. } => {
                format!("Tool \"{tool}\" was not run: \"{first}\" before it was denied.")
            }
        };
        Some(text)
    }

    fn check_mode(&self, word: &str) -> Result<(), String> {
        word.parse::<ApprovalMode>().map(|_| ())
    }
}

impl Ohmypi {
    /// Combines the tool's declaration with what is known about the call.
    fn declared(&self, call: &Call, facts: &Decision) -> Declared {
        let said = Declared::of(call, self.compat);
        let known = match call.command().filter(|_| call.tool == bash::TOOL) {
            Some(command) => bash::declare(command, &self.settings.bash, self.compat),
            None if self.is_critical(call, facts) => Declared::critical(),
            None => Declared::default(),
        };
        said.with(known)
    }

    fn is_critical(&self, call: &Call, facts: &Decision) -> bool {
        let raw =
            || call.kind() == Kind::Shell && call.command().is_some_and(bash::has_critical_shape);
        raw() || (!self.compat && facts.critical)
    }

    fn verdict(
        &self,
        call: &Call,
        context: &EvaluationContext<'_>,
        resolved: &Resolved,
    ) -> Verdict {
        // A grant answers the prompts of the user and the mode, not the tool's own.
        let covered = resolved.source != ApprovalSource::Tool && granted(call, context.grants);
        let wanted = match resolved.verdict {
            Verdict::Deny => return Verdict::Deny,
            // SECURITY: a call that the model's provider holds back for a person needs a person in
            // every mode.
            _ if held_by_provider(call) => Verdict::Ask,
            Verdict::Ask if covered => Verdict::Allow,
            verdict => verdict,
        };
        // A prompt that nobody can answer rejects the call.
        match wanted {
            Verdict::Ask if !context.reachable => Verdict::Deny,
            verdict => verdict,
        }
    }

    fn rule_behind(&self, resolved: &Resolved, mode: ApprovalMode) -> Option<String> {
        let name = &self.name;
        Some(match &resolved.source {
            ApprovalSource::User => {
                let word = resolve::word(resolved.verdict);
                format!("tools.approval.{}: {word} ({name})", resolved.key)
            }
            ApprovalSource::Mode => format!("tools.approvalMode: {mode} ({name})"),
            ApprovalSource::Tool => return None,
        })
    }

    fn reason(
        &self,
        call: &Call,
        resolved: &Resolved,
        verdict: Verdict,
        mode: ApprovalMode,
    ) -> String {
        let tool = &call.tool;
        let held = held_by_provider(call);
        match (verdict, &resolved.reason) {
            (Verdict::Deny, _) if resolved.verdict == Verdict::Deny => resolved.error(tool),
            (Verdict::Deny, _) if held => {
                "pending provider safety checks but no interactive UI is available".to_owned()
            }
            (Verdict::Deny, _) => unreachable_text(tool),
            (Verdict::Ask, _) if held => "The provider asks for a safety check.".to_owned(),
            (_, Some(reason)) => reason.clone(),
            (Verdict::Allow, None) if resolved.verdict == Verdict::Ask => {
                format!("{tool} is approved for this session.")
            }
            (Verdict::Allow, None) => match resolved.source {
                ApprovalSource::Tool => "The tool's own policy allows it.".to_owned(),
                ApprovalSource::User => "The user's policy allows it.".to_owned(),
                ApprovalSource::Mode => {
                    format!("Mode {mode} allows calls of tier {}.", resolved.tier)
                }
            },
            (Verdict::Ask, None) => match resolved.source {
                ApprovalSource::Tool => "The tool itself asks for a person.".to_owned(),
                ApprovalSource::User => "The user's policy asks for a person.".to_owned(),
                ApprovalSource::Mode => {
                    format!("Mode {mode} asks about calls of tier {}.", resolved.tier)
                }
            },
        }
    }
}

/// Returns the prompt in the system's own words.
fn prompt_of(call: &Call, resolved: &Resolved) -> Vec<String> {
    let declared =
        call.own.tier.is_some() || call.own.overrides.is_some() || call.own.policy.is_some();
    prompt::lines(&call.tool, declared, resolved.reason.as_deref(), &prompt::details(call))
}

fn unreachable_text(tool: &str) -> String {
    format!("Tool \"{tool}\" requires approval but nobody can be asked.")
}

/// Returns true for calls that carry safety checks of the model's provider.
fn held_by_provider(call: &Call) -> bool {
    let checks = call.args.get("pendingSafetyChecks");
    checks.is_some_and(|checks| !matches!(checks, Value::Null | Value::Array(_)))
        || checks.and_then(Value::as_array).is_some_and(|checks| !checks.is_empty())
}

/// The tool whose calls have no bounds that a grant could name.
const SUBAGENT: &str = "task";

fn offers_grants(call: &Call, resolved: &Resolved) -> bool {
    call.tool != SUBAGENT
        && resolved.source != ApprovalSource::Tool
        && call.kind() != Kind::Question
        && !held_by_provider(call)
}

/// Returns grants for a written file: approving a write covers later writes and edits of that file,
/// never its removal.
fn file_grants(call: &Call) -> Vec<Rule> {
    let (Some(path), false) = (written_file(call), removes(call)) else { return Vec::new() };
    ["write_file", "edit_file"].map(|tool| Rule::allow(tool, escape(path))).into()
}

fn written_file(call: &Call) -> Option<&str> {
    let writes = matches!(call.kind(), Kind::Write | Kind::Edit);
    let path = ["path", "file_path"].iter().find_map(|key| call.args.get(key)?.as_str());
    path.filter(|_| writes)
}

/// Returns true when the call deletes its file or moves it away.
fn removes(call: &Call) -> bool {
    let args = &call.args;
    let moves = ["rename", "move", "new_path", "destination"];
    let op = ["op", "operation", "action"].iter().find_map(|key| args.get(key)?.as_str());
    moves.iter().any(|key| args.get(key).is_some_and(|to| !to.is_null()))
        || op.is_some_and(|op| ["delete", "remove", "move", "rename"].contains(&op))
}

fn granted(call: &Call, grants: &Grants) -> bool {
    if call.tool == SUBAGENT || call.kind() == Kind::Question {
        return false;
    }
    if grants.tools.contains(&call.tool) {
        return true;
    }
    let whole_tool = |rule: &Rule| rule.pattern == "*" && rule.tool == call.tool;
    if grants.rules.iter().any(|rule| rule.verdict == Verdict::Allow && whole_tool(rule)) {
        return true;
    }
    let file = written_file(call).map(escape).filter(|_| !removes(call));
    file.is_some_and(|file| {
        grants.rules.iter().any(|rule| {
            rule.verdict == Verdict::Allow
                && rule.pattern == file
                && rule.tool == call.canonical_tool()
        })
    })
}
