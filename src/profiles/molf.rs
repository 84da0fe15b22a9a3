//! The profile `molf`: molf's approval gate.
//!
//! The strict profile decides a call twice: as molf would (its globs, its layers), and with the
//! engine of the profile `standard` over the same rules. The stricter decision counts. It
//! is therefore never looser than molf, with one exception: a pattern that Always stores covers the
//! command it was made from. Bypasses of molf's globs do not bypass it. With `compat` only the
//! first decision counts. Guardrails are above both.
//!
//! Files are read and written as those of `standard`, with `compat` too: molf's own reader takes a
//! truncated file and a misspelt action for what they are not, and its writer keeps the last
//! command of a pipeline alone.

mod both;
pub mod commands;
pub mod ruleset;
mod texts;

use countersign_policy::call::Call;
use countersign_policy::decision::Decision;
use countersign_policy::rules::{OPTIONS, Rules, sentences};
use countersign_policy::verdict::Verdict;
use jsonc_parser::parse_to_serde_value;
use serde_json::Value;

use crate::molf::both::Both;
use crate::{
    CallEnd, DefaultTimeout, EvaluationContext, GrantLifetime, OnDeny, OnDisconnect,
    PromptBehaviour, PromptChoice, System,
};

/// The file that every worker starts with.
pub const DEFAULT: &str = include_str!("molf/default.jsonc");

/// molf's gate with a worker's rules.
#[derive(Clone, Debug)]
struct Molf {
    rules: Rules,
    home: Option<String>,
    compat: bool,
}

/// Returns the id under which molf's clients know an approval.
#[must_use]
pub fn approval_id(session: &str, random: u32) -> String {
    format!("{session}:{random:08x}")
}

/// Reads a worker's `permissions.jsonc`.
///
/// # Errors
/// Sentences that name each mistake and its place.
pub fn open(
    text: Option<&str>,
    name: &str,
    home: Option<&str>,
    compat: bool,
) -> Result<Box<dyn System>, String> {
    // An empty object is not a decision, so molf's defaults apply.
    let text = text.filter(|text| !says_nothing(text)).unwrap_or(DEFAULT);
    let rules = Rules::parse(text, name, home).map_err(|problems| sentences(&problems))?;
    Ok(Box::new(Molf { rules, home: home.map(ToOwned::to_owned), compat }))
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
        let layers = context.layers(&self.rules);
        let home = self.home.as_deref();
        let both = Both { call, pieces: &pieces, layers, home };
        let mut decision = if self.compat { both.literal() } else { both.strict() };
        // The switch lifts everything except a deny of the agent's own rules; under compat that as
        // well, as in molf.
        if gate == Approval::Off && (self.compat || !both.vetoed()) {
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
