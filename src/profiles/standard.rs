//! The profile `standard`: `permissions.jsonc`, with everything that this project adds to it.

use countersign_policy::decision::{Decision, Mode};
use countersign_policy::rules::{DEFAULT_RULES, Rules, sentences};
use countersign_policy::{call::Call, decision};

use crate::{
    CallEnd, DefaultTimeout, EvaluationContext, GrantLifetime, OnDeny, OnDisconnect,
    PromptBehaviour, PromptChoice, System,
};

/// The rules of a `permissions.jsonc`.
#[derive(Clone, Debug)]
struct Standard {
    rules: Rules,
}

/// Reads a `permissions.jsonc`.
///
/// # Errors
/// Sentences that name each mistake and its place.
pub fn open(
    text: Option<&str>,
    name: &str,
    home: Option<&str>,
    compat: bool,
) -> Result<Box<dyn System>, String> {
    if compat {
        return Err("the profile standard is nobody else's; it has no compat mode".to_owned());
    }
    let rules = Rules::parse(text.unwrap_or(DEFAULT_RULES), name, home)
        .map_err(|problems| sentences(&problems))?;
    Ok(Box::new(Standard { rules }))
}

impl System for Standard {
    fn decide(&self, call: &Call, context: &EvaluationContext<'_>) -> Result<Decision, String> {
        let mode = mode(context.mode.unwrap_or("default"))?;
        let layers = context.layers(&self.rules);
        Ok(decision::decide(call, &layers, mode))
    }

    fn prompt_behaviour(&self) -> PromptBehaviour {
        PromptBehaviour {
            choices: &[
                PromptChoice::Always,
                PromptChoice::Timed,
                PromptChoice::Session,
                PromptChoice::Exact,
            ],
            deny: OnDeny::GoOn,
            always: GrantLifetime::Durable,
            timeout: DefaultTimeout::Deny(300),
            cascade: true,
            on_disconnect: OnDisconnect::Cancel,
        }
    }

    fn text_for_model(&self, _call: &Call, _end: &CallEnd<'_>) -> Option<String> {
        None
    }

    fn check_mode(&self, word: &str) -> Result<(), String> {
        mode(word).map(|_| ())
    }
}

fn mode(word: &str) -> Result<Mode, String> {
    match word {
        "default" | "ask" | "standard" => Ok(Mode::Default),
        "yolo" => Ok(Mode::Yolo),
        _ => Err(format!("there is no mode {word:?}; the modes are default and yolo")),
    }
}
