//! The profile `standard`: `permissions.jsonc`, with everything this project adds to it.

use super::{Choice, Dialect, End, Given, Life, Manners, Parting, Patience, Then};
use countersign_policy::call::Call;
use countersign_policy::rules::{DEFAULT_RULES, Rules, sentences};
use countersign_policy::ruling::{self, Layers, Mode, Ruling};

/// Rules of a `permissions.jsonc`.
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
) -> Result<Box<dyn Dialect>, String> {
    if compat {
        return Err("the profile standard is nobody else's; it has no compat mode".to_owned());
    }
    let rules = Rules::parse(text.unwrap_or(DEFAULT_RULES), name, home)
        .map_err(|problems| sentences(&problems))?;
    Ok(Box::new(Standard { rules }))
}

impl Dialect for Standard {
    fn rule(&self, call: &Call, given: &Given<'_>) -> Result<Ruling, String> {
        let mode = match given.mode {
            None | Some("default" | "ask" | "standard") => Mode::Default,
            Some("yolo") => Mode::Yolo,
            Some(other) => {
                return Err(format!("there is no mode {other:?}; the modes are default and yolo"));
            }
        };
        let layers = Layers {
            agent: given.agent_rules,
            rules: &self.rules,
            grants: &given.grants.rules,
            guardrail: given.guardrail,
            now_ms: given.now_ms,
        };
        Ok(ruling::rule(call, &layers, mode))
    }

    fn manners(&self) -> Manners {
        Manners {
            choices: &[Choice::Always, Choice::Timed, Choice::Session, Choice::Exact],
            deny: Then::GoOn,
            always: Life::Durable,
            patience: Patience::Deny(300),
            cascade: true,
            parting: Parting::Cancel,
        }
    }

    fn told(&self, _call: &Call, _end: &End<'_>) -> Option<String> {
        None
    }

    fn has_mode(&self, word: &str) -> bool {
        matches!(word, "default" | "ask" | "standard" | "yolo")
    }
}
