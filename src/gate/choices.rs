//! What the operator has chosen, as it is in force now. A reload replaces all of it at once.

use super::{
    Gate, Limits, Policy,
    approvers::{Approver, Approvers, Stranger, Who, person},
    ask::{By, plan::RoutePlan},
    routes::Routes,
    rules::ReviewRule,
};
use countersign_domain::wire::TokenScope;
use countersign_port::line;
use countersign_profiles::System;
use countersign_store::{NewCard, StoreError};
use countersign_tokens::ids;
use std::sync::{Arc, PoisonError};

/// Why what only approvers do was not done.
#[derive(Debug, thiserror::Error)]
pub enum ApproverError {
    /// Only approvers may.
    #[error(transparent)]
    NotAllowed(#[from] Stranger),
    /// Ours.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What the operator has chosen.
#[derive(Debug)]
pub struct Choices {
    /// The policy. A reload that leaves it as it is keeps the same one, with its last good rules.
    pub policy: Arc<Policy>,
    /// The approvers.
    pub approvers: Approvers,
    /// Where every ask is shown that no route leads elsewhere.
    pub audience: Vec<Audience>,
    /// Where some asks are shown instead.
    pub routes: Routes,
    /// Which of the calls that ran without asking are shown afterwards.
    pub reviews: Vec<ReviewRule>,
    /// The rest.
    pub settings: GateSettings,
}

impl Choices {
    /// Checks that this config has what the scope of a token names.
    ///
    /// # Errors
    /// What is missing, as the end of a sentence about the token.
    // FAIL-CLOSED: a token for what is not there asks nobody.
    pub(super) fn fit(&self, scope: &TokenScope) -> Result<(), String> {
        let profile = self.policy.profile().name();
        if let Some(wanted) = scope.profile.as_deref().filter(|wanted| *wanted != profile) {
            return Err(format!(
                "is for the profile `{}`, and this daemon decides by `{profile}`",
                line(wanted)
            ));
        }
        match scope.target.as_deref().filter(|name| !self.routes.knows(name)) {
            None => Ok(()),
            Some(name) => {
                let known = self.routes.known().join(", ");
                Err(format!(
                    "is for the target `{}`, which this daemon's config does not have; it has \
                     {known}",
                    line(name)
                ))
            }
        }
    }

    fn audience_at(&self, adapter: &str, target: &str) -> Option<&Audience> {
        self.audience.iter().find(|it| it.adapter == adapter && it.target == target)
    }

    /// The cards of a new ask: where its route leads, or everywhere. The inbox has one of every
    /// ask.
    pub(super) fn cards(&self, plan: Option<&RoutePlan>) -> Vec<NewCard> {
        let everywhere = plan.is_none_or(|plan| plan.everywhere);
        let all = || self.audience.iter().filter(|it| everywhere || it.adapter == INBOX);
        let planned = plan.into_iter().flat_map(|plan| &plan.targets);
        let more = planned.filter(|it| !all().any(|at| it.is(&at.adapter, &at.target)));
        let cards = all().map(|it| new_card(&it.adapter, &it.target));
        cards.chain(more.map(|it| new_card(&it.adapter, &it.target))).collect()
    }
}

/// The name of the adapter that shows every ask.
pub(super) const INBOX: &str = "inbox";

pub(super) fn new_card(adapter: &str, target: &str) -> NewCard {
    NewCard { nonce: ids::nonce(), adapter: adapter.to_owned(), target: target.to_owned() }
}

/// Where every ask is to be shown unless a route leads elsewhere. The gate stores it and asks no
/// more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Audience {
    /// Which adapter.
    pub adapter: String,
    /// Where, in the adapter's spelling.
    pub target: String,
    /// Whether each session has a thread of its own there, and how long that may rest before it is
    /// closed; milliseconds.
    pub thread_idle_ms: Option<i64>,
}

/// What the operator has chosen.
#[derive(Debug, Clone)]
pub struct GateSettings {
    /// How long a person has; milliseconds.
    pub timeout_ms: i64,
    /// For how long a late yes holds; seconds.
    pub late_yes_s: u32,
    /// What happens then.
    pub on_timeout: OnTimeout,
    /// The mode of sessions that have none of their own, in the profile's own words; its default
    /// where `None`.
    pub mode: Option<String>,
    /// The home folder of the user who runs the agents.
    pub home: Option<String>,
    /// This machine's name: only of calls from here can be seen where their paths lead.
    pub host: String,
    /// This daemon's name among those that share the store; no two processes have the same.
    pub daemon: String,
    /// How long a settled ask is kept; milliseconds.
    pub keep_ms: i64,
    /// The inbox's address, for links to it.
    pub inbox: String,
    /// How much may be open at once.
    pub limits: Limits,
}

impl Choices {
    /// What makes policy looser than it may seem, as sentences for people.
    #[must_use]
    pub fn cautions(&self) -> Vec<String> {
        let yolo = self.settings.mode.as_deref() == Some("yolo");
        let yolo = yolo.then(|| {
            "mode = \"yolo\" is in force: what would be asked runs without asking, critical calls too"
                .to_owned()
        });
        let void = self.policy.warnings().into_iter();
        yolo.into_iter().chain(void.map(|warning| format!("the rules file: {warning}"))).collect()
    }
}

/// What happens to an ask that nobody answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OnTimeout {
    /// It is denied.
    Deny,
    /// It waits on.
    Wait,
    /// Calls of exactly these tools are approved, all others denied; never a critical call, never a
    /// question.
    Approve(Vec<String>),
}

impl Gate {
    /// What the operator has chosen, as it is in force now.
    #[must_use]
    pub fn choices(&self) -> Arc<Choices> {
        self.in_force.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Puts other choices in force, at once and for every ask. This daemon's name, host and home
    /// folder stay as they are.
    // INVARIANT: when this returns, every ask with an earlier audience is stored, so the worker
    // of a new target finds all asks that have no card there.
    pub async fn adopt(&self, choices: Choices) {
        {
            let _none_opens = self.opening.write().await;
            *self.in_force.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(choices);
        }
        self.forget_sign_ins_of_nobody();
        // The deadlines of open asks are looked at under the new choices.
        self.changed();
    }

    /// How the profile's system treats asks.
    pub(super) fn system(&self) -> Arc<dyn System> {
        self.choices().policy.system()
    }

    /// Says who somebody is where they may answer; a sentence for them alone where they may not.
    /// The one check of identity, see [`Approvers::admit`].
    ///
    /// # Errors
    /// [`Stranger`]
    pub fn admit(&self, who: Who) -> Result<Approver, Stranger> {
        self.choices().approvers.admit(who)
    }

    /// The same, as the log and the cards name them.
    pub(super) fn person(&self, who: Who) -> Result<By, Stranger> {
        Ok(person(&self.admit(who)?))
    }

    /// Whether every ask is shown at this target that no route leads elsewhere.
    #[must_use]
    pub fn shows_at(&self, adapter: &str, target: &str) -> bool {
        self.choices().audience_at(adapter, target).is_some()
    }

    /// How long the thread of a session may rest at this target; `None` where sessions have none.
    #[must_use]
    pub fn thread_idle_ms(&self, adapter: &str, target: &str) -> Option<i64> {
        self.choices().audience_at(adapter, target)?.thread_idle_ms
    }
}
