//! The declaration of a tool about itself.

use std::fmt;

use serde_json::Value;

use countersign_policy::{call::Call, verdict::Verdict};

/// The breadth of what a tool's calls may do, in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// Reads data, or changes only what a screen shows.
    Read,
    /// Changes the workspace or the session and runs no code.
    Write,
    /// Runs code, controls a browser, starts agents, or the like.
    Exec,
}

/// A tool's declaration for one call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Declared {
    /// The tier, if named; without one it counts as [`Tier::Exec`].
    pub tier: Option<Tier>,
    /// The tool asks for a person, whatever its user allows. Yolo ignores it.
    pub overrides: bool,
    /// The tool's own verdict.
    pub policy: Option<Verdict>,
    /// The name under `tools.approval` that is looked up before the tool's.
    pub policy_key: Option<String>,
    /// The reason, in the tool's words.
    pub reason: Option<String>,
}

impl Declared {
    /// Reads the declaration that the caller passes on.
    // FAIL-CLOSED: an unknown tier is exec. An override that is neither yes nor no is a yes, except
    // under `compat`, where it is a no as in the system itself.
    #[must_use]
    pub fn of(call: &Call, compat: bool) -> Self {
        // A policy may contain its key: `{"policy": "prompt", "policyKey": "write"}`.
        let said = |name| call.own.policy.as_ref().and_then(|policy| policy.get(name));
        let key = said("policyKey").and_then(Value::as_str);
        Self {
            tier: call.own.tier.as_deref().and_then(Tier::from_word),
            overrides: match &call.own.overrides {
                None | Some(Value::Null) => false,
                Some(Value::Bool(overrides)) => *overrides,
                Some(_) => !compat,
            },
            policy: said("policy")
                .or(call.own.policy.as_ref())
                .and_then(Value::as_str)
                .and_then(from_word),
            policy_key: call
                .own
                .policy_key
                .as_deref()
                .or(key)
                .filter(|key| !key.is_empty())
                .map(str::to_owned),
            reason: call.reason.clone().filter(|reason| !reason.is_empty()),
        }
    }

    /// Creates the declaration of a call that always needs a person.
    #[must_use]
    pub fn critical() -> Self {
        Self {
            tier: Some(Tier::Exec),
            overrides: true,
            reason: Some("Critical pattern detected".to_owned()),
            ..Self::default()
        }
    }

    /// Returns the tier that counts.
    #[must_use]
    pub fn tier(&self) -> Tier {
        self.tier.unwrap_or(Tier::Exec)
    }

    /// Combines this declaration with what is known about the call; the stricter one counts.
    #[must_use]
    pub fn with(self, known: Self) -> Self {
        let bare = !self.overrides && self.policy.is_none();
        let decides = known.overrides || known.policy.is_some();
        let stricter = known.policy == Some(Verdict::Deny) && self.policy != Some(Verdict::Deny);
        // The tool's own declaration stays unless what is known is stricter.
        match (bare, decides) {
            (_, false) => self,
            (true, true) => Self { policy_key: self.policy_key, ..known },
            (false, true) if stricter => Self { policy_key: self.policy_key, ..known },
            (false, true) if known.overrides && self.policy != Some(Verdict::Deny) => Self {
                overrides: true,
                policy: known.policy.or(self.policy.filter(|own| *own != Verdict::Allow)),
                reason: known.reason.or(self.reason),
                ..self
            },
            (false, true) => self,
        }
    }
}

impl Tier {
    /// Reads one of the three words.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "read" => Some(Self::Read),
            "write" => Some(Self::Write),
            "exec" => Some(Self::Exec),
            _ => None,
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Exec => "exec",
        })
    }
}

/// Reads the system's word for a verdict: trimmed, in any case. Any other word counts as absent.
#[must_use]
pub fn from_word(word: &str) -> Option<Verdict> {
    match word.trim().to_lowercase().as_str() {
        "allow" => Some(Verdict::Allow),
        "prompt" => Some(Verdict::Ask),
        "deny" => Some(Verdict::Deny),
        _ => None,
    }
}
