//! What the operator has chosen, as it is in force now. A reload replaces all of it at once.

use super::{
    Audience, GateSettings, Policy, Routes,
    approvers::{Approver, Approvers, Stranger, Who},
    ask::plan::RoutePlan,
    rules::ReviewRule,
};
use countersign_profiles::System;
use countersign_store::NewCard;
use countersign_tokens::ids;
use std::sync::{Arc, PoisonError, RwLock};

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

/// The choices in force.
#[derive(Debug)]
pub(super) struct InForce {
    choices: RwLock<Arc<Choices>>,
    opening: tokio::sync::RwLock<()>,
}

impl InForce {
    pub(super) fn new(choices: Choices) -> Arc<Self> {
        let (choices, opening) = (RwLock::new(Arc::new(choices)), tokio::sync::RwLock::default());
        Arc::new(Self { choices, opening })
    }

    /// The choices in force now.
    pub(super) fn now(&self) -> Arc<Choices> {
        self.choices.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Held from before an ask's audience is read until the ask is stored.
    pub(super) async fn opening(&self) -> tokio::sync::RwLockReadGuard<'_, ()> {
        self.opening.read().await
    }

    /// Puts other choices in force.
    // INVARIANT: when this returns, every ask with an earlier audience is stored, so the worker
    // of a new target finds all asks that have no card there.
    pub(super) async fn replace(&self, choices: Choices) {
        let _none_opens = self.opening.write().await;
        *self.choices.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(choices);
    }

    /// How the profile's system treats asks.
    pub(super) fn system(&self) -> Arc<dyn System> {
        self.now().policy.system()
    }

    /// The one check of identity, see [`Approvers::admit`].
    pub(super) fn admit(&self, who: Who) -> Result<Approver, Stranger> {
        self.now().approvers.admit(who)
    }
}
