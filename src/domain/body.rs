//! What an ask is about: the call, the decision on it and what its card offers.

use super::{
    Owner, call::Call, deadline::AskStep, plan::RoutePlan, requirement::Requirement,
    review::CallReview,
};
use crate::{GrantLifetime, OnDeny, PromptChoice};
use countersign_policy::Rule;
use serde::{Deserialize, Serialize};

/// The unchanging part of an ask.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Body {
    /// The call as submitted.
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
    /// What makes policy looser than it may seem at the moment: a mode that asks nobody, a rule that
    /// is void.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cautions: Vec<String>,
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
    /// For how long a late yes holds, once nobody has answered in time; seconds.
    #[serde(default = "a_day", skip_serializing_if = "is_a_day")]
    pub late_yes_s: u32,
    /// The prompt as the agent's own system words it, line by line; empty for most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prompt: Vec<String>,
    /// Whose answers it needs; of everybody who may answer one is enough where none is named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<Requirement>,
    /// Where it is shown; every target shows it where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<RoutePlan>,
    /// What happens while nobody answers, in the order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<AskStep>,
    /// Whose session the call was made in; of asks of earlier versions nobody's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
    /// The agent's own token whose agent its approval resumes, where it is no call of an agent but
    /// the daemon's question whether to. The daemon sets it; a caller cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumes: Option<String>,
    /// The call that ran without asking, where the ask is a review of that. The daemon sets it; a
    /// caller cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<Box<CallReview>>,
}

/// For how long a late yes holds where the config says nothing: a day, in seconds.
pub const LATE_YES_S: u32 = 86_400;

fn a_day() -> u32 {
    LATE_YES_S
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_a_day(seconds: &u32) -> bool {
    *seconds == LATE_YES_S
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
            cautions: Vec::new(),
            choices: every_choice(),
            deny: OnDeny::GoOn,
            lasts: GrantLifetime::Durable,
            silence: Silence::Deny,
            late_yes_s: LATE_YES_S,
            prompt: Vec::new(),
            requirements: Vec::new(),
            plan: None,
            steps: Vec::new(),
            owner: call.owner.clone(),
            resumes: None,
            review: None,
            call,
        }
    }

    /// Whether countersign asks it itself, in no session of an agent: whether to resume an agent,
    /// or a review.
    #[must_use]
    pub fn is_own(&self) -> bool {
        self.resumes.is_some() || self.review.is_some()
    }

    /// Whether it is no call that would run, and shares no message and no rule with calls that do:
    /// a budget, whether to resume an agent, or a review.
    #[must_use]
    pub fn is_no_call(&self) -> bool {
        self.is_own() || self.call.budget.is_some()
    }

    /// Whether one answer may not be enough.
    #[must_use]
    pub fn takes_votes(&self) -> bool {
        self.requirements.iter().any(|it| it.needed() > 1 || it.denials() > 1)
            || self.requirements.len() > 1
    }
}

/// What cards of the profile `standard` offer; asks of earlier versions name none.
fn every_choice() -> Vec<PromptChoice> {
    vec![PromptChoice::Always, PromptChoice::Timed, PromptChoice::Session, PromptChoice::Exact]
}

fn durable() -> GrantLifetime {
    GrantLifetime::Durable
}
