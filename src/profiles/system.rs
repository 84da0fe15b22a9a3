//! The interface of a profile.

use std::fmt;
use std::str::FromStr;

use countersign_policy::{
    call::Call,
    decision::{Decision, Layers},
    guardrail::Guardrail,
    rules::Rules,
    tools::Kind,
};

use crate::wcore::paths::Roots;
use crate::{OnDeny, PromptBehaviour, connectonion, molf, ohmypi, standard, wcore, zeptoclaw};

/// A profile with its own configuration.
pub trait System: fmt::Debug + Send + Sync {
    /// Decides a call. Guardrails are not considered here: [`crate::decide`] applies them
    /// afterwards.
    ///
    /// # Errors
    /// A sentence when the call itself cannot be decided, for example because of an unknown mode.
    /// Never an allow.
    fn decide(&self, call: &Call, context: &EvaluationContext<'_>) -> Result<Decision, String>;

    /// Returns the system's treatment of asks and their answers.
    fn prompt_behaviour(&self) -> PromptBehaviour;

    /// Returns the text for the system's model about the end of an ask, or of a call that was never
    /// asked about: in its own exact words, with the person who decided. `None` when the call
    /// simply runs.
    fn text_for_model(&self, call: &Call, end: &CallEnd<'_>) -> Option<String>;

    /// Finds the session mode that a word names.
    ///
    /// # Errors
    /// A sentence that names the modes.
    fn check_mode(&self, word: &str) -> Result<(), String>;

    /// Returns what one more call costs in a mode that lasts for a number of turns; `None` for all
    /// others.
    fn turn(&self, _mode: &str) -> Option<ModeTurn> {
        None
    }

    /// Returns true when a call is a question to a person, which no policy answers.
    fn is_question(&self, call: &Call) -> bool {
        call.kind() == Kind::Question
    }
}

/// The context of a call.
#[derive(Clone, Copy, Debug)]
pub struct EvaluationContext<'a> {
    /// The session's mode in the profile's own words; `None` means the configured one.
    pub mode: Option<&'a str>,
    /// The grants of the session so far.
    pub grants: &'a Grants,
    /// The agent's own rules (molf: its `permission` set); a deny of theirs is a veto.
    pub agent_rules: Option<&'a Rules>,
    /// The guardrail, which nothing lifts.
    pub guardrail: &'a Guardrail,
    /// True when someone could answer an ask.
    pub reachable: bool,
    /// The current time in milliseconds since 1970.
    pub now_ms: i64,
}

impl EvaluationContext<'_> {
    /// What decides beside these rules.
    pub(crate) fn layers<'r>(&'r self, rules: &'r Rules) -> Layers<'r> {
        let agent = self.agent_rules;
        Layers { agent, ..Layers::new(rules, &self.grants.rules, self.guardrail, self.now_ms) }
    }
}

/// A turn of a mode that has a number of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModeTurn {
    /// The rule in decisions that the mode has made; only these cost a turn.
    pub rule: String,
    /// The mode with one turn less.
    pub next: String,
}

/// One of the systems, by name.
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

impl Profile {
    /// Reads the profile's own configuration; without a text its system's defaults apply.
    ///
    /// # Errors
    /// Sentences that name each mistake and its place.
    pub fn open(
        self,
        text: Option<&str>,
        name: &str,
        home: Option<&str>,
        compat: bool,
    ) -> Result<Box<dyn System>, String> {
        match self {
            Self::Wcore => wcore::open(text, name, compat),
            Self::Connectonion => connectonion::open(text, name, compat),
            Self::Ohmypi => ohmypi::open(text, name, compat),
            Self::Zeptoclaw => zeptoclaw::open(text, name, compat),
            Self::Standard => standard::open(text, name, home, compat),
            Self::Molf => molf::open(text, name, home, compat),
        }
    }

    /// Returns the text that the rules file of every worker starts with; `None` when workers have no
    /// file of their own.
    #[must_use]
    pub fn worker_seed(self) -> Option<&'static str> {
        (self == Self::Molf).then_some(molf::DEFAULT)
    }

    /// Returns the profile's name.
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
                "there is no profile {text:?}; the profiles are standard, wcore, connectonion, \
                 molf, ohmypi and zeptoclaw"
            )
        })
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The way in which a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallEnd<'a> {
    /// It may run.
    Approved {
        /// The person or grant that approved it.
        by: &'a str,
    },
    /// A person denied it.
    Denied {
        /// The person.
        by: &'a str,
        /// The person's words.
        reason: Option<&'a str>,
        /// The effect of the denial besides denying.
        then: OnDeny,
    },
    /// Policy denied it; nobody was asked.
    Forbidden {
        /// The decision's reason.
        reason: &'a str,
        /// The rule that decided.
        rule: Option<&'a str>,
    },
    /// Nobody answered in time.
    TimedOut {
        /// The time that it waited, in seconds.
        after_s: u64,
    },
    /// Nobody could be asked.
    Unreachable,
    /// The agent cancelled the call, or its turn ended.
    Cancelled {
        /// The reason.
        reason: &'a str,
    },
    /// An earlier call of the same batch was denied, and with it the rest.
    BatchStopped {
        /// The tool of that earlier call.
        tool: &'a str,
        /// The words of the person who denied it.
        reason: Option<&'a str>,
    },
}

/// Remembered approvals, in the forms that the five systems use.
#[derive(Clone, Debug, Default)]
pub struct Grants {
    /// Every call of a tool of this name.
    pub tools: Vec<String>,
    /// Every call of a tool of this category.
    pub categories: Vec<String>,
    /// Shell texts of which every command starts with one of these.
    pub prefixes: Vec<Prefix>,
    /// Directories outside the workspace.
    pub roots: Roots,
    /// Calls that these rules allow.
    pub rules: Rules,
}

/// A granted command prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// The words, as the grant spells them.
    pub text: String,
    /// The category of tools that it applies to.
    pub category: String,
}
