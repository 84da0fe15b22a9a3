//! The profile `molf`: molf's approval gate.
//!
//! The strict profile decides a call twice: as molf would (its globs, its layers), and with the
//! engine of the profile `standard` over the same rules. The stricter decision counts. It
//! is therefore never looser than molf, with one exception: a pattern that Always stores covers the
//! command it was made from. Bypasses of molf's globs do not bypass it. With `compat` only the
//! first decision counts. Guardrails are above both.

pub mod commands;
pub mod file;
mod lenient;
pub mod ruleset;
mod strict;
mod texts;

use countersign_policy::decision::{Decision, Layers, Mode};
use countersign_policy::rules::{OPTIONS, Rule, Rules, sentences};
use countersign_policy::{call::Call, decision, verdict::Verdict};
use jsonc_parser::parse_to_serde_value;
use serde_json::Value;

use crate::molf::commands::Piece;
use crate::molf::ruleset::{RuleAction, Ruleset};
use crate::{
    CallEnd, DefaultTimeout, EvaluationContext, GrantLifetime, OnDeny, OnDisconnect,
    PromptBehaviour, PromptChoice, System,
};

/// molf's gate with a worker's rules.
#[derive(Clone, Debug)]
struct Molf {
    rules: PermissionsFile,
    home: Option<String>,
}

/// A parsed `permissions.jsonc`.
#[derive(Clone, Debug)]
enum PermissionsFile {
    Strict(Rules),
    Compat(Ruleset),
}

/// Returns the id under which molf's clients know an approval.
#[must_use]
pub fn approval_id(session: &str, random: u32) -> String {
    format!("{session}:{random:08x}")
}

/// Reads a worker's `permissions.jsonc`.
///
/// # Errors
/// Strict only: sentences that name each mistake and its place.
pub fn open(
    text: Option<&str>,
    name: &str,
    home: Option<&str>,
    compat: bool,
) -> Result<Box<dyn System>, String> {
    let text = text.unwrap_or(file::DEFAULT);
    let rules = if compat {
        PermissionsFile::Compat(file::load(text, home))
    } else {
        // An empty object is not a decision, so molf's defaults apply.
        let text = if says_nothing(text) { file::DEFAULT } else { text };
        PermissionsFile::Strict(
            Rules::parse(text, name, home).map_err(|problems| sentences(&problems))?,
        )
    };
    Ok(Box::new(Molf { rules, home: home.map(ToOwned::to_owned) }))
}

fn says_nothing(text: &str) -> bool {
    let value = parse_to_serde_value::<Option<Value>>(text, &OPTIONS).ok().flatten();
    value.as_ref().and_then(Value::as_object).is_some_and(serde_json::Map::is_empty)
}

impl System for Molf {
    fn decide(&self, call: &Call, context: &EvaluationContext<'_>) -> Result<Decision, String> {
        // molf reads every command as bash's grammar says.
        let call = &Call { agent: Some("molf".to_owned()), ..call.clone() };
        let pieces = commands::pieces_of_call(call);
        let gate = approval(context.mode.unwrap_or("on"))?;
        let mut decision = match &self.rules {
            PermissionsFile::Strict(rules) => self.strict(rules, call, &pieces, context)?,
            PermissionsFile::Compat(rules) => self.literal(rules, call, &pieces, context)?,
        };
        // The switch lifts everything except a deny of the agent's own rules.
        if gate == Approval::Off && !self.vetoed(call, &pieces, context)? {
            decision.verdict = Verdict::Allow;
            (decision.rule, decision.deciding_rule) = (None, None);
            decision.reason = "The approval gate is off.".to_owned();
            decision.always.clear();
        }
        Ok(decision)
    }

    fn prompt_behaviour(&self) -> PromptBehaviour {
        PromptBehaviour {
            choices: &[PromptChoice::Always],
            deny: OnDeny::GoOn,
            always: GrantLifetime::Durable,
            // molf has no timer.
            timeout: DefaultTimeout::Wait,
            cascade: true,
            // molf rejects what waits when its worker disconnects.
            on_disconnect: OnDisconnect::Deny,
        }
    }

    fn text_for_model(&self, call: &Call, end: &CallEnd<'_>) -> Option<String> {
        texts::told(call, end)
    }

    fn check_mode(&self, word: &str) -> Result<(), String> {
        approval(word).map(|_| ())
    }
}

/// molf's switch `approval`.
#[derive(PartialEq, Eq)]
enum Approval {
    On,
    /// Allows every call, even denied reads.
    Off,
}

fn approval(word: &str) -> Result<Approval, String> {
    match word {
        "on" | "default" => Ok(Approval::On),
        "off" => Ok(Approval::Off),
        _ => Err(format!("there is no mode {word:?}; the modes are on and off")),
    }
}

impl Molf {
    /// Decides as molf does, with the facts that people want to see.
    fn literal(
        &self,
        rules: &Ruleset,
        call: &Call,
        pieces: &[Piece],
        context: &EvaluationContext<'_>,
    ) -> Result<Decision, String> {
        let home = self.home.as_deref();
        let agent = context.agent_rules.map(|rules| Ruleset::of(rules, home, context.now_ms));
        let runtime = Ruleset::of(&context.grants.rules, home, context.now_ms);
        let layers: Vec<&Ruleset> = agent.iter().chain([rules, &runtime]).collect();
        let tool = call.tool.as_str();
        // The agent's own rules alone first, so that no later allow lifts their deny.
        let veto: &[&Ruleset] = &agent.iter().collect::<Vec<_>>();
        let deciding = match ruleset::evaluate(tool, pieces, veto)? {
            RuleAction::Known(Verdict::Deny) => veto,
            _ => &layers,
        };
        let RuleAction::Known(verdict) = ruleset::evaluate(tool, pieces, deciding)? else {
            // FAIL-CLOSED: molf runs a call whose action is not one of its three words.
            return Err("a rule says neither allow nor ask nor deny".to_owned());
        };
        let mut decision = self.facts(call, pieces, context);
        decision.verdict = verdict;
        (decision.rule, decision.deciding_rule) = (None, None);
        decision.reason = match verdict {
            Verdict::Deny => texts::denied(call, pieces, deciding, None)?,
            Verdict::Ask => "No rule allows it.".to_owned(),
            Verdict::Allow => "The rules allow it.".to_owned(),
        };
        if verdict == Verdict::Ask {
            decision.always = commands::remembered(pieces, |always| Rule::allow(tool, always));
        }
        Ok(decision)
    }

    /// Returns what is known about the call, whatever is decided.
    fn facts(&self, call: &Call, pieces: &[Piece], context: &EvaluationContext<'_>) -> Decision {
        // Decided without rules, which leaves the facts.
        let none = Rules::default();
        let layers = Layers::new(&none, &none, context.guardrail, context.now_ms);
        let mut decision = decision::decide(call, &layers, Mode::Default);
        decision.patterns = commands::shown(pieces);
        decision.always.clear();
        decision.exact.clear();
        decision
    }

    /// Returns true when the agent's own rules deny the call: nothing lifts that except molf's
    /// switch.
    fn vetoed(
        &self,
        call: &Call,
        pieces: &[Piece],
        context: &EvaluationContext<'_>,
    ) -> Result<bool, String> {
        // Under compat the switch lifts this as well, as in molf.
        let (Some(agent), PermissionsFile::Strict(_)) = (context.agent_rules, &self.rules) else {
            return Ok(false);
        };
        let none = Rules::default();
        let only = Layers::new(agent, &none, context.guardrail, context.now_ms);
        let theirs = Ruleset::of(agent, self.home.as_deref(), context.now_ms);
        let theirs = ruleset::evaluate(call.canonical_tool(), pieces, &[&theirs])?;
        let ours = decision::decide(call, &only, Mode::Default).verdict;
        Ok(theirs == RuleAction::Known(Verdict::Deny) || ours == Verdict::Deny)
    }
}
