//! Profiles: five systems' own policies, each ruling as its system does.
//!
//! INVARIANT: a profile rules in the middle of a skeleton that it cannot reorder: guardrails first, then the
//! profile, then the ask, then the one answer function. Whatever a profile allows, a guardrail still denies
//! and a question still asks.

pub mod check;
pub mod connectonion;
pub mod molf;
pub mod ohmypi;
pub mod standard;
pub mod wcore;
pub mod zeptoclaw;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use countersign_policy::call::{Call, Kind};
use countersign_policy::guardrail::{Guardrail, Reach};
use countersign_policy::rules::Rules;
use countersign_policy::ruling::Ruling;
use countersign_policy::tool_name;
use countersign_policy::verdict::Verdict;
use wcore::paths::Roots;

/// A policy dialect by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// `permissions.jsonc`, with everything this project adds to it.
    Standard,
    /// wayland-core's tool approval manager.
    Wcore,
    /// ConnectOnion's tool approval plugin.
    Connectonion,
    /// molf's approval gate.
    Molf,
    /// oh-my-pi's approval modes.
    Ohmypi,
    /// zeptoclaw's approval gate.
    Zeptoclaw,
}

/// A profile with its own configuration read.
pub trait Dialect: fmt::Debug + Send + Sync {
    /// Rules on a call. Guardrails are not its business: [`rule`] puts them above it.
    ///
    /// # Errors
    /// A sentence where the call itself cannot be ruled on, such as an unknown mode. Never an allow.
    fn rule(&self, call: &Call, given: &Given<'_>) -> Result<Ruling, String>;

    /// How its system treats an ask and its answers.
    fn manners(&self) -> Manners;

    /// What the system's model is told of how an ask, or a call that was never asked about, ended:
    /// its own exact words, with who decided. `None` where the call simply runs.
    fn told(&self, call: &Call, end: &End<'_>) -> Option<String>;

    /// Whether a word names one of its session modes.
    fn has_mode(&self, word: &str) -> bool;

    /// What one more call costs in a mode that lasts for a number of turns; `None` for all others.
    fn turn(&self, _mode: &str) -> Option<Turn> {
        None
    }

    /// Whether a call is a question to a person, which no policy answers.
    fn is_question(&self, call: &Call) -> bool {
        call.kind() == Kind::Question
    }
}

/// A turn of a mode that has a number of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The rule that rulings name which the mode has decided; only these cost a turn.
    pub rule: String,
    /// The mode with one turn less.
    pub next: String,
}

/// How a system treats an ask and its answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manners {
    /// What people are offered beside Approve and Deny, in the order of the buttons.
    pub choices: &'static [Choice],
    /// What a plain Deny does beside denying.
    pub deny: Then,
    /// How long what Always remembers lasts.
    pub always: Life,
    /// How long a person has where nothing is configured.
    pub patience: Patience,
    /// Whether a new grant resolves the session's other open asks.
    pub cascade: bool,
    /// What becomes of the open asks of an agent or worker whose connection ends.
    pub parting: Parting,
}

/// An answer that a card may offer beside Approve and Deny.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// Approve, and remember for the session what `Ruling::always` names.
    Session,
    /// Approve, and remember it for ten minutes or for a day.
    Timed,
    /// Approve, and remember for [`Manners::always`] what `Ruling::always` names.
    Always,
    /// Approve, and remember what `Ruling::prefix` names.
    Prefix,
    /// Approve, and remember what `Ruling::exact` names.
    Exact,
    /// Deny this call only; the agent goes on.
    Skip,
    /// Deny, and end the agent's turn and the rest of the batch.
    DenyAndStop,
    /// Deny, and have the agent explain itself in plain words instead of trying again.
    DenyAndExplain,
}

/// What a denial does beside denying.
///
/// On the wire two flags, `stop` and `explain`, of which none or one is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Flags", into = "Flags")]
pub enum Then {
    /// The agent goes on with something else.
    #[default]
    GoOn,
    /// The agent's turn ends; the rest of the batch is denied too.
    Stop,
    /// The agent explains itself and does not try again.
    Explain,
}

/// How long something remembered lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Life {
    /// Until the session ends.
    Session,
    /// Until it is revoked.
    Durable,
}

/// How long a person has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// For ever.
    Wait,
    /// So many seconds; then it is denied.
    Deny(u32),
    /// So many seconds; then it is approved, for the tools that the operator has named.
    Approve(u32),
}

/// What becomes of open asks when whoever asked goes away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parting {
    /// They are denied.
    Deny,
    /// They are cancelled.
    Cancel,
    /// They wait for it to come back.
    Keep,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End<'a> {
    /// It may run.
    Approved {
        /// Who said so.
        by: &'a str,
    },
    /// A person said no.
    Denied {
        /// Who.
        by: &'a str,
        /// Their words.
        reason: Option<&'a str>,
        /// What else that does.
        then: Then,
    },
    /// Policy said no; nobody was asked.
    Forbidden {
        /// The ruling's reason.
        reason: &'a str,
        /// The rule behind it.
        rule: Option<&'a str>,
    },
    /// Nobody answered in time.
    TimedOut {
        /// How long it waited, in seconds.
        after_s: u64,
    },
    /// Nobody could be asked.
    Unreachable,
    /// Whoever asked took it back, or its turn was ended.
    Cancelled {
        /// Why.
        reason: &'a str,
    },
    /// An earlier call of the same batch was denied, and with it the rest.
    BatchStopped {
        /// The tool of that earlier call.
        tool: &'a str,
        /// The words of whoever denied it.
        reason: Option<&'a str>,
    },
}

/// What stands around a call.
#[derive(Clone, Copy, Debug)]
pub struct Given<'a> {
    /// The session's mode in the profile's own words; its configuration's where `None`.
    pub mode: Option<&'a str>,
    /// What people have granted to the session so far.
    pub grants: &'a Grants,
    /// The rules of the agent itself (molf: its `permission` set); its deny is a veto.
    pub agent_rules: Option<&'a Rules>,
    /// What nothing lifts.
    pub guardrail: &'a Guardrail,
    /// Whether anybody could answer an ask.
    pub reachable: bool,
    /// Now, in milliseconds since 1970.
    pub now_ms: i64,
}

/// Remembered approvals, in the forms that the five systems keep.
#[derive(Clone, Debug, Default)]
pub struct Grants {
    /// Every call of a tool of this name.
    pub tools: Vec<String>,
    /// Every call of a tool of this category.
    pub categories: Vec<String>,
    /// Shell texts whose every command begins so.
    pub prefixes: Vec<Prefix>,
    /// Directories beyond the workspace.
    pub roots: Roots,
    /// Calls that these rules allow.
    pub rules: Rules,
}

/// A granted beginning of commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// The words, as the grant spells them.
    pub text: String,
    /// The category of tools that it is for.
    pub category: String,
}

/// [`Then`] as the wire has it.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct Flags {
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    stop: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    explain: bool,
}

impl From<Then> for Flags {
    fn from(then: Then) -> Self {
        Self { stop: then == Then::Stop, explain: then == Then::Explain }
    }
}

impl TryFrom<Flags> for Then {
    type Error = &'static str;

    fn try_from(flags: Flags) -> Result<Self, Self::Error> {
        match (flags.stop, flags.explain) {
            (false, false) => Ok(Self::GoOn),
            (true, false) => Ok(Self::Stop),
            (false, true) => Ok(Self::Explain),
            (true, true) => Err("`stop` and `explain` exclude each other"),
        }
    }
}

impl Profile {
    /// Reads the profile's own configuration; its system's defaults where there is no text.
    ///
    /// # Errors
    /// Sentences that name each mistake and its place.
    pub fn open(
        self,
        text: Option<&str>,
        name: &str,
        home: Option<&str>,
        compat: bool,
    ) -> Result<Box<dyn Dialect>, String> {
        match self {
            Self::Wcore => wcore::open(text, name, compat),
            Self::Connectonion => connectonion::open(text, name, compat),
            Self::Ohmypi => ohmypi::open(text, name, compat),
            Self::Zeptoclaw => zeptoclaw::open(text, name, compat),
            Self::Standard => standard::open(text, name, home, compat),
            Self::Molf => molf::open(text, name, home, compat),
        }
    }

    /// The profile's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Wcore => "wcore",
            Self::Connectonion => "connectonion",
            Self::Molf => "molf",
            Self::Ohmypi => "ohmypi",
            Self::Zeptoclaw => "zeptoclaw",
        }
    }
}

impl FromStr for Profile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let all = [
            Self::Standard,
            Self::Wcore,
            Self::Connectonion,
            Self::Molf,
            Self::Ohmypi,
            Self::Zeptoclaw,
        ];
        all.into_iter().find(|profile| profile.name() == text).ok_or_else(|| {
            format!(
                "there is no profile {text:?}; the profiles are standard, wcore, connectonion, molf, \
                 ohmypi and zeptoclaw"
            )
        })
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The ruling of a profile, under the guardrail.
///
/// # Errors
/// As [`Dialect::rule`].
///
/// A denial keeps the profile's own words.
// FAIL-CLOSED: whatever the profile says, a guardrail denies and a question asks.
// SECURITY: and whatever it offers to remember, it is for a tool whose name is nothing but a name.
pub fn rule(dialect: &dyn Dialect, call: &Call, given: &Given<'_>) -> Result<Ruling, String> {
    let mut ruling = dialect.rule(call, given)?;
    let reach = match ruling.verdict {
        Verdict::Deny => None,
        Verdict::Allow | Verdict::Ask => {
            countersign_policy::ruling::guarded(call, given.guardrail, given.now_ms)
        }
    };
    match reach {
        Some(Reach::Denied(reason)) => forbid(&mut ruling, Verdict::Deny, reason),
        // What is asked about each time is never remembered.
        Some(Reach::Asks(reason)) if ruling.verdict == Verdict::Allow => {
            forbid(&mut ruling, Verdict::Ask, reason);
        }
        Some(Reach::Asks(_)) => forget(&mut ruling),
        None if dialect.is_question(call) && ruling.verdict == Verdict::Allow => {
            ruling.verdict = Verdict::Ask;
            ruling.reason = "A question is answered by a person.".to_owned();
        }
        None => {}
    }
    if !tool_name::may_be_granted(&call.tool) {
        forget(&mut ruling);
    }
    Ok(ruling)
}

fn forbid(ruling: &mut Ruling, verdict: Verdict, reason: String) {
    ruling.verdict = verdict;
    ruling.rule = None;
    ruling.reason = reason;
    forget(ruling);
}

/// Nothing of it can be remembered.
fn forget(ruling: &mut Ruling) {
    ruling.always.clear();
    ruling.exact.clear();
    ruling.prefix.clear();
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use countersign_policy::guardrail::Ours;
    use serde_json::{Value, json};

    fn standard(rules: &str) -> Box<dyn Dialect> {
        Profile::Standard.open(Some(rules), "permissions.jsonc", None, false).unwrap()
    }

    fn ruled(dialect: &dyn Dialect, call: &Call, guardrail: &Guardrail) -> Verdict {
        let given = Given {
            mode: Some("yolo"),
            grants: &Grants::default(),
            agent_rules: None,
            guardrail,
            reachable: true,
            now_ms: 0,
        };
        rule(dialect, call, &given).unwrap().verdict
    }

    #[test]
    fn no_profile_and_no_mode_lifts_a_guardrail_or_answers_a_question() {
        let guardrail = Guardrail::new(Ours {
            paths: vec!["/etc/countersign".to_owned()],
            programs: vec!["countersign".to_owned()],
            ..Ours::default()
        });
        let everything = standard(r#"{"*": "allow"}"#);
        let shell = |command| Call::shell(command);
        let none = Guardrail::default();
        assert_eq!(ruled(&*everything, &shell("countersign approve x"), &none), Verdict::Allow);
        assert_eq!(ruled(&*everything, &shell("countersign approve x"), &guardrail), Verdict::Deny);
        let question = Call::new("AskUserQuestion", json!({}));
        assert_eq!(ruled(&*everything, &question, &none), Verdict::Ask);
    }

    #[test]
    fn what_a_denial_does_is_one_flag_or_none_on_the_wire() {
        for (then, wire) in [
            (Then::GoOn, json!({})),
            (Then::Stop, json!({"stop": true})),
            (Then::Explain, json!({"explain": true})),
        ] {
            assert_eq!(serde_json::to_value(then).unwrap(), wire);
            assert_eq!(serde_json::from_value::<Then>(wire).unwrap(), then);
        }
        let both: Value = json!({"stop": true, "explain": true});
        assert!(serde_json::from_value::<Then>(both).is_err());
    }

    #[test]
    fn every_profile_is_found_by_its_name_and_nothing_else_is() {
        for name in ["standard", "wcore", "connectonion", "molf", "ohmypi", "zeptoclaw"] {
            assert_eq!(name.parse::<Profile>().unwrap().name(), name);
        }
        for name in ["", "Standard", "molf ", "yolo"] {
            assert!(name.parse::<Profile>().is_err(), "{name:?}");
        }
    }
}
