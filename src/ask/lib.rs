//! An ask and its answer: the states and what they hold. Pure.

pub mod attached;
pub mod call;
pub mod edit;
mod extent;
mod for_policy;
pub mod late;
mod malformed;
mod offers;
pub mod owner;
pub mod pause;
mod proposed;
pub mod question;
mod stopped;

use attached::AttachedDaemons;
use call::Call;
use countersign_policy::Rule;
use countersign_profiles::{GrantLifetime, OnDeny, PromptChoice};
pub use offers::{OfferedPart, StoredRules, Undone};
use owner::Owner;
use proposed::UpdatedInput;
use question::Progress;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt;
pub use stopped::StoppedClock;

/// A call or question that waits, or waited, for a person.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    /// Its short public id.
    pub id: String,
    /// The call and the ruling on it; never changes.
    pub body: Body,
    /// SHA-256 of the call.
    pub digest: String,
    /// Open, or how it ended.
    pub state: State,
    /// What has been answered of its questions.
    pub progress: Progress,
    /// Counts every change.
    pub version: i64,
    /// Whether its caller waits on a connection.
    pub attended: bool,
    /// The daemons at which its callers wait.
    pub attached: AttachedDaemons,
    /// Unix milliseconds.
    pub created_at: i64,
    /// Unix milliseconds; `None` waits for ever.
    pub deadline_at: Option<i64>,
    /// What is left of its deadline, while everything is paused.
    pub stopped: Option<StoppedClock>,
}

/// The unchanging part of an ask.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Body {
    /// The call as handed in.
    pub call: Call,
    /// Why it must be asked, from the ruling.
    pub why: String,
    /// The rule behind that, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Exactly what Always would store; empty: it is not offered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub always: Vec<Rule>,
    /// The parts of the call that the rules of `always` come from, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub always_from: Vec<String>,
    /// Exactly what Always would store if it covered only this very call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exact: Vec<Rule>,
    /// Exactly what "Always, commands that begin so" would store.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prefix: Vec<Rule>,
    /// What the call touches, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<String>,
    /// Whether the call is on the list of critical ones.
    #[serde(default)]
    pub critical: bool,
    /// Whether a rule or grant would have allowed it, and it was held because of a pause.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
    /// What is wrong with the rules at the moment, where something is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules_problem: Option<String>,
    /// What its card offers beside Approve and Deny.
    #[serde(default = "every_choice")]
    pub choices: Vec<PromptChoice>,
    /// What a plain Deny does beside denying.
    #[serde(default)]
    pub deny: OnDeny,
    /// How long what Always remembers lasts.
    #[serde(default = "durable")]
    pub lasts: GrantLifetime,
    /// What it comes to when nobody answers.
    #[serde(default)]
    pub silence: Silence,
    /// The prompt as the agent's own system words it, line by line; empty for most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prompt: Vec<String>,
    /// Whose session the call was made in; of asks of earlier versions nobody's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
}

/// What an ask comes to when nobody answers in time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Silence {
    /// It is denied.
    #[default]
    Deny,
    /// It is approved, because the operator named its tool; its cards say so.
    Approve,
}

/// Open, or how an ask ended. The answer is there exactly when it is no longer open.
#[derive(Debug, Clone, PartialEq)]
pub enum State {
    /// Waits for a person.
    Open,
    /// A person, or a grant, decided.
    Answered(Answer),
    /// Nobody did in time.
    Expired(Answer),
    /// Its caller took it back.
    Cancelled(Answer),
}

/// What an ask resolved to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Yes or no.
    pub decision: Decision,
    /// What an approval covers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// Which rules it stored, and what became of them.
    #[serde(flatten)]
    pub stored: StoredRules,
    /// Words for the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What a denial does beside denying.
    #[serde(flatten)]
    pub then: OnDeny,
    /// Answers to questions, by question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<Map<String, Value>>,
    /// What may run instead of what was submitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated: Option<UpdatedInput>,
    /// Who decided.
    pub by: By,
    /// When, Unix milliseconds.
    pub at: i64,
}

/// What an ask came to, as a person says it. There is no default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[must_use]
pub enum Decision {
    /// The call may run.
    Approve,
    /// Its questions are answered. Nothing may run because of that.
    Answer,
    /// The call may run with the arguments that the answer holds, and only with those.
    Edit,
    /// The call may not run; or the questions are not answered.
    Deny,
}

/// Who decided, so that nobody is told that "the user" said what no user said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum By {
    /// A person.
    Person {
        /// Where they pressed: the name of a platform, `inbox` or `api`.
        platform: String,
        /// Their lasting id there.
        id: String,
        /// For people to read.
        name: String,
    },
    /// A rule or grant that came to cover the call while it waited.
    Policy {
        /// The grant, in words.
        grant: String,
    },
    /// Nobody did in time.
    Timeout,
    /// Nobody could: no card reached anyone.
    NoApprover,
    /// The caller took the ask back.
    Caller,
}

/// What an approval covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// This call.
    Once,
    /// Calls of the same session that the rules of its button cover.
    Session,
    /// Calls of any session that the offered rules cover, until revoked.
    Always,
    /// This very call, of any session, until revoked.
    Exact,
    /// Calls of the same session whose commands begin as the offered ones do.
    Prefix,
    /// This very call in the same session, for so many seconds.
    Timed(u32),
}

impl Ask {
    /// Whether it still waits.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.state == State::Open
    }

    /// Whether it asks questions rather than for permission.
    #[must_use]
    pub fn is_question(&self) -> bool {
        !self.body.call.questions.is_empty()
    }

    /// Its answer, once it has one.
    #[must_use]
    pub fn answer(&self) -> Option<&Answer> {
        self.state.answer()
    }
}

impl Body {
    /// A call that must be asked about for this reason, with nothing to remember.
    #[must_use]
    pub fn new(call: Call, why: impl Into<String>) -> Self {
        Self {
            why: why.into(),
            rule: None,
            always: Vec::new(),
            always_from: Vec::new(),
            exact: Vec::new(),
            prefix: Vec::new(),
            effects: Vec::new(),
            critical: false,
            held: false,
            rules_problem: None,
            choices: every_choice(),
            deny: OnDeny::GoOn,
            lasts: GrantLifetime::Durable,
            silence: Silence::Deny,
            prompt: Vec::new(),
            owner: call.owner.clone(),
            call,
        }
    }
}

/// What cards of the profile `standard` offer; asks of earlier versions name none.
fn every_choice() -> Vec<PromptChoice> {
    vec![PromptChoice::Always, PromptChoice::Timed, PromptChoice::Session, PromptChoice::Exact]
}

fn durable() -> GrantLifetime {
    GrantLifetime::Durable
}

impl State {
    /// The answer, once there is one.
    #[must_use]
    pub fn answer(&self) -> Option<&Answer> {
        match self {
            Self::Open => None,
            Self::Answered(answer) | Self::Expired(answer) | Self::Cancelled(answer) => {
                Some(answer)
            }
        }
    }

    /// The state's name on the wire and in the store.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Answered(_) => "answered",
            Self::Expired(_) => "expired",
            Self::Cancelled(_) => "cancelled",
        }
    }
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Person { platform, name, .. } if platform == "inbox" || platform == "api" => {
                f.write_str(name)
            }
            Self::Person { platform, name, .. } => write!(f, "{name} ({platform})"),
            Self::Policy { grant } => write!(f, "the grant {grant}"),
            Self::Timeout => f.write_str("the deadline"),
            Self::NoApprover => f.write_str("the deadline, with no approver reachable"),
            Self::Caller => f.write_str("its caller"),
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Once => f.write_str("once"),
            Self::Session => f.write_str("session"),
            Self::Always => f.write_str("always"),
            Self::Exact => f.write_str("exact"),
            Self::Prefix => f.write_str("always_prefix"),
            Self::Timed(seconds) if seconds % 3600 == 0 => write!(f, "{}h", seconds / 3600),
            Self::Timed(seconds) if seconds % 60 == 0 => write!(f, "{}m", seconds / 60),
            Self::Timed(seconds) => write!(f, "{seconds}s"),
        }
    }
}

impl std::str::FromStr for Scope {
    type Err = String;

    // FAIL-CLOSED: an unknown scope is refused, never taken for `once`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || {
            format!(
                "`{text}` is no scope; say once, session, always, always_prefix, exact, or a time such \
                 as 10m or 24h"
            )
        };
        match text {
            "once" => Ok(Self::Once),
            "session" => Ok(Self::Session),
            "always" => Ok(Self::Always),
            "exact" => Ok(Self::Exact),
            "always_prefix" => Ok(Self::Prefix),
            _ => {
                let (number, unit) =
                    text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(unknown)?;
                let unit = match unit {
                    "s" => 1,
                    "m" => 60,
                    "h" => 3600,
                    _ => return Err(unknown()),
                };
                let number: u32 = number.parse().map_err(|_| unknown())?;
                let seconds = number.checked_mul(unit).filter(|s| (1..=30 * 86_400).contains(s));
                seconds.map(Self::Timed).ok_or_else(unknown)
            }
        }
    }
}

impl Serialize for Scope {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for Scope {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Scope".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "What an approval covers: `once`, `session`, `always`, `always_prefix`, \
                `exact`, or a time such as `10m`.",
            "pattern": "^(once|session|always|always_prefix|exact|[0-9]+[smh])$",
        })
    }
}

impl<'de> Deserialize<'de> for Scope {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_read_and_written_in_the_same_words() {
        for (text, scope) in [
            ("once", Scope::Once),
            ("session", Scope::Session),
            ("always", Scope::Always),
            ("exact", Scope::Exact),
            ("always_prefix", Scope::Prefix),
            ("10m", Scope::Timed(600)),
            ("24h", Scope::Timed(86_400)),
            ("90s", Scope::Timed(90)),
        ] {
            assert_eq!((text.parse(), scope.to_string()), (Ok(scope), text.to_owned()));
        }
    }

    #[test]
    fn an_unknown_scope_is_refused_and_never_taken_for_once() {
        for text in ["", "Once", "forever", "0m", "m", "-5m", "99999999999h", "10", "é"] {
            assert_eq!(
                text.parse::<Scope>(),
                Err(format!(
                    "`{text}` is no scope; say once, session, always, always_prefix, exact, or a \
                     time such as 10m or 24h"
                ))
            );
        }
    }
}
