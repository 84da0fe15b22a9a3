//! Reviews: some of the calls that ran without asking are shown to people afterwards. They are
//! noted in memory and shown by a task of their own: an allowed call waits for none of it, and
//! nothing that fails here changes what became of the call. A crash loses those of the last moment.

use super::{
    ask::{
        Body,
        requirement::Requirement,
        review::{CallReview, REVIEWER, Tightening},
    },
    call::Call,
    evaluate::Evaluator,
    granted_rules::is_of,
    handling::Handling,
    in_force::InForce,
    large,
    open_asks::{OpenAsks, to_the_end},
    review_grants::rule_for,
    rules::SeenCall,
    rules::{AllowedBy, ReviewRate, is_sampled, most_often, rate},
    submit_error::SubmitError,
};
use countersign_policy::{Decision, Matcher, effects};
use countersign_store::{AgentScope, Grant, GrantScope, OpenReviews, StoreError};
use countersign_tokens::{clock, ids};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// How many may be open at once, so that a burst of allowed calls floods no chat.
const OPEN: OpenReviews = OpenReviews { of_agent: 3, of_all: 20 };
/// How many calls wait to be shown at most, and how many of them may be large.
const WAITING: usize = 64;
const LARGE: usize = 4;
/// From how many bytes on a call is large.
const LARGE_BYTES: usize = 32 << 10;

/// A call that ran, and may be shown.
#[derive(Debug)]
struct RanCall {
    call: Call,
    decided: Decision,
    digest: String,
    at: i64,
    random: u32,
    /// Where the token of its agent has its asks shown.
    scope: Option<AgentScope>,
    is_large: bool,
}

/// Shows some of the calls that ran.
#[derive(Debug)]
pub(super) struct Reviews {
    open: Arc<OpenAsks>,
    in_force: Arc<InForce>,
    evaluator: Arc<Evaluator>,
    waiting: Mutex<VecDeque<RanCall>>,
    news: Notify,
}

impl Reviews {
    pub(super) fn new(
        open: Arc<OpenAsks>,
        in_force: Arc<InForce>,
        evaluator: Arc<Evaluator>,
    ) -> Self {
        Self { open, in_force, evaluator, waiting: Mutex::default(), news: Notify::new() }
    }

    /// Notes a call that a rule or a grant allowed, if its number is among those that are shown.
    // SECURITY: the number is drawn here, so no agent knows which of its calls is shown.
    pub(super) fn consider(
        &self,
        call: &Call,
        decided: &Decision,
        digest: &str,
        scope: Option<AgentScope>,
    ) {
        let Some(one_in) = most_often(&self.in_force.now().reviews) else { return };
        let random = rand::random();
        if !is_sampled(one_in, random) {
            return;
        }
        let is_large = large::bytes(call) >= LARGE_BYTES;
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let large = waiting.iter().filter(|it| it.is_large).count();
        if waiting.len() >= WAITING || (is_large && large >= LARGE) {
            tracing::info!(agent = %call.agent, tool = %call.tool, digest,
                "a call that ran is not shown for review: too many wait");
            return;
        }
        let (call, decided, digest) = (call.clone(), decided.clone(), digest.to_owned());
        let at = clock::now_ms();
        waiting.push_back(RanCall { call, decided, digest, at, random, scope, is_large });
        drop(waiting);
        self.news.notify_one();
    }

    /// Shows what was noted, until told to stop.
    pub(super) async fn show_all(&self, stop: CancellationToken) {
        while stop.run_until_cancelled(self.news.notified()).await.is_some() {
            while let Some(ran) = self.next().filter(|_| !stop.is_cancelled()) {
                if let Err(error) = self.show(&ran).await {
                    tracing::warn!(agent = %ran.call.agent, tool = %ran.call.tool,
                        digest = ran.digest, %error, "a call that ran could not be shown for \
                        review");
                }
            }
        }
        while let Some(ran) = self.next() {
            tracing::warn!(agent = %ran.call.agent, tool = %ran.call.tool, digest = ran.digest,
                "a call that ran is not shown for review: the daemon stops");
        }
    }

    fn next(&self) -> Option<RanCall> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    async fn show(&self, ran: &RanCall) -> Result<(), SubmitError> {
        let (call, choices) = (&ran.call, self.in_force.now());
        let facts = self.evaluator.facts(call).await;
        let grant = self.grant_behind(ran).await?;
        let by = if grant.is_some() { AllowedBy::Grant } else { AllowedBy::Rule };
        let look = || {
            // An allowed call has no effects yet, and one that asks has.
            let seen = countersign_policy::decision::facts(&facts);
            let matcher = Matcher::new(&facts, &seen.effects);
            let of = SeenCall { call, facts: &matcher, critical: false };
            let rate = rate(&choices.reviews, of, by)?;
            let stores = rule_for(&ran.decided, &facts);
            is_sampled(rate.one_in, ran.random).then_some((seen, rate, stores))
        };
        let Some((seen, rate, stores)) = self.evaluator.beside(large::bytes(call), look).await
        else {
            return Ok(());
        };
        let tightening = match (&grant, stores) {
            (Some(grant), _) => {
                Tightening::Revoke { grant: grant.id.clone(), rule: grant.rule.to_string() }
            }
            (None, Some(rule)) => Tightening::Ask { rule },
            (None, None) => {
                tracing::warn!(agent = %call.agent, tool = %call.tool, digest = ran.digest,
                    "a call that ran is not shown for review: no rule can name its tool");
                return Ok(());
            }
        };
        let seen = Decision { critical: false, ..seen };
        let mut handling = self.evaluator.handling(call, &seen).await;
        if let Some(scope) = &ran.scope {
            handling = self.evaluator.scoped(handling, &seen, scope).await?;
        }
        let through = through(&ran.decided, grant.as_ref());
        self.open_review(ran, body(ran, seen, handling, through, tightening), rate).await?;
        Ok(())
    }

    /// The grant that let a call run, if one did.
    async fn grant_behind(&self, ran: &RanCall) -> Result<Option<Grant>, StoreError> {
        let Some(rule) = &ran.decided.deciding_rule else { return Ok(None) };
        let holds = |grant: &Grant| match grant.scope {
            GrantScope::Always => true,
            GrantScope::Session | GrantScope::Timed => is_of(grant, &ran.call),
            GrantScope::Budget | GrantScope::Review => false,
        };
        let grants = self.open.store.grants(clock::now_ms()).await?;
        // The latest, where several have the same rule.
        Ok(grants.into_iter().rev().find(|grant| grant.rule == *rule && holds(grant)))
    }

    async fn open_review(
        &self,
        ran: &RanCall,
        body: Body,
        rate: ReviewRate,
    ) -> Result<(), StoreError> {
        let now = clock::now_ms();
        let new = self.open.own(body, now, Some(now.saturating_add(rate.timeout_ms)));
        let _opening = self.in_force.opening().await;
        let cards = self.in_force.now().cards(new.body.plan.as_ref());
        let store = self.open.store.clone();
        let storing =
            to_the_end(async move { store.insert_review(&new, &cards, OPEN).await }).await?;
        match storing {
            Some(ask) => {
                tracing::info!(ask_id = %ask.id, agent = %ran.call.agent, tool = %ran.call.tool,
                    "a call that ran is shown for review");
                self.open.changed();
            }
            None => tracing::info!(agent = %ran.call.agent, tool = %ran.call.tool,
                digest = ran.digest,
                "a call that ran is not shown for review: as many are open as may be"),
        }
        Ok(())
    }
}

/// What let a call run, in words.
fn through(decided: &Decision, grant: Option<&Grant>) -> String {
    match (grant, &decided.rule) {
        (Some(grant), _) => format!("the grant {} ({}) by {}", grant.rule, grant.id, grant.by),
        (None, Some(rule)) => format!("the rule {rule}"),
        (None, None) => decided.reason.clone(),
    }
}

/// The unchanging part of a review's ask.
// SECURITY: nobody is its caller: no agent reads it, waits for it, cancels it or gets a token for
// it, and its session is one that no agent knows.
fn body(
    ran: &RanCall,
    mut seen: Decision,
    handling: Handling,
    through: String,
    tightening: Tightening,
) -> Body {
    let call = &ran.call;
    let review = CallReview {
        agent: call.agent.clone(),
        session: call.session.clone(),
        owner: call.owner.clone(),
        worker: call.worker.clone(),
        digest: ran.digest.clone(),
        at: ran.at,
        through,
        tightening,
    };
    let shown = Call {
        key: None,
        agent: REVIEWER.to_owned(),
        session: format!("review-{}", ids::nonce()),
        worker: None,
        owner: None,
        batch_remaining: None,
        expires_in_s: None,
        accepts: Vec::new(),
        ..call.clone()
    };
    effects::worst_first(&mut seen.effects);
    let requirements: Vec<Requirement> = handling.requirements;
    Body {
        effects: seen.effects.iter().map(ToString::to_string).collect(),
        choices: Vec::new(),
        requirements,
        // Nobody waits for it, so nobody is reminded of it and it goes to no others.
        plan: handling.plan,
        review: Some(Box::new(review)),
        ..Body::new(shown, "it ran without asking, and is shown for review")
    }
}
