//! Reviews: some of the calls that ran without asking are shown to people afterwards, and what they
//! say makes calls ask. They are noted in memory and shown by a task of their own: an allowed call
//! waits for none of it, and nothing that fails here changes what became of the call. A crash loses
//! those of the last moment.

use super::{
    Gate, Reply, SubmitError, Told,
    answering::reply,
    ask::{
        Answer, Ask, Body, Decision as AnswerDecision,
        review::{CallReview, REVIEWER, Tightening},
    },
    call::Call,
    evaluate::{Handling, HasVerdict, bytes},
    grants::is_of,
    own,
    rules::SeenCall,
    rules::{AllowedBy, ReviewRate, is_sampled, most_often, rate},
    to_the_end,
};
use countersign_domain::{GrantScope, wire::TokenScope};
use countersign_policy::{
    self as policy, Decision, Matcher, Rule, RuleFit, Verdict, effects, tools::may_be_granted,
};
use countersign_port::locked;
use countersign_store::{Grant, OpenReviews, StoreError};
use countersign_tokens::{clock, ids};
use std::{collections::VecDeque, sync::Mutex};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// How many may be open at once, so that a burst of allowed calls floods no chat.
const OPEN: OpenReviews = OpenReviews { of_agent: 3, of_all: 20 };
/// How many calls wait to be shown at most, and how many of them may be large.
const WAITING: usize = 64;
const LARGE: usize = 4;
/// From how many bytes on a call is large.
const LARGE_BYTES: usize = 32 << 10;
/// Characters with a meaning in a pattern.
const GLOB: [char; 6] = ['*', '?', '[', '{', '\\', '!'];
/// How classes of calls begin, such as the one that only reads.
const CLASS: char = '@';

impl Gate {
    /// Notes a call that a rule or a grant allowed, if its number is among those that are shown.
    // SECURITY: the number is drawn here, so no agent knows which of its calls is shown.
    pub(super) fn consider_review(
        &self,
        call: &Call,
        decided: &Decision,
        digest: &str,
        scope: Option<TokenScope>,
    ) {
        let Some(one_in) = most_often(&self.choices().reviews) else { return };
        let random = rand::random();
        if !is_sampled(one_in, random) {
            return;
        }
        let is_large = bytes(call) >= LARGE_BYTES;
        let mut waiting = locked(&self.reviews.waiting);
        let large = waiting.iter().filter(|it| it.is_large).count();
        if waiting.len() >= WAITING || (is_large && large >= LARGE) {
            tracing::info!(agent = %call.agent, tool = %call.tool, digest,
                "a call that ran is not shown for review: too many wait");
            return;
        }
        let call = call.clone();
        let decided = decided.clone();
        let digest = digest.to_owned();
        let at = clock::now_ms();
        waiting.push_back(RanCall { call, decided, digest, at, random, scope, is_large });
        drop(waiting);
        self.reviews.news.notify_one();
    }

    /// Shows some of the calls that ran without asking, until told to stop.
    pub async fn show_reviews(&self, stop: CancellationToken) {
        while stop.run_until_cancelled(self.reviews.news.notified()).await.is_some() {
            while let Some(ran) = self.reviews.next().filter(|_| !stop.is_cancelled()) {
                if let Err(error) = self.show_review(&ran).await {
                    tracing::warn!(agent = %ran.call.agent, tool = %ran.call.tool,
                        digest = ran.digest, %error, "a call that ran could not be shown for \
                        review");
                }
            }
        }
        while let Some(ran) = self.reviews.next() {
            tracing::warn!(agent = %ran.call.agent, tool = %ran.call.tool, digest = ran.digest,
                "a call that ran is not shown for review: the daemon stops");
        }
    }

    async fn show_review(&self, ran: &RanCall) -> Result<(), SubmitError> {
        let call = &ran.call;
        let choices = self.choices();
        let facts = self.facts(call).await;
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
        let Some((seen, rate, stores)) = self.beside(bytes(call), look).await else {
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
        let mut handling = self.handling(call, &facts, &seen).await;
        if let Some(scope) = &ran.scope {
            handling = self.scoped(handling, &seen, scope).await?;
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
        let grants = self.store.grants(clock::now_ms()).await?;
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
        let new = own(body, now, Some(now.saturating_add(rate.timeout_ms)));
        let _opening = self.opening.read().await;
        let cards = self.choices().cards(new.body.plan.as_ref());
        let store = self.store.clone();
        let storing =
            to_the_end(async move { store.insert_review(&new, &cards, OPEN).await }).await?;
        match storing {
            Some(ask) => {
                tracing::info!(ask_id = %ask.id, agent = %ran.call.agent, tool = %ran.call.tool,
                    "a call that ran is shown for review");
                self.changed();
            }
            None => tracing::info!(agent = %ran.call.agent, tool = %ran.call.tool,
                digest = ran.digest,
                "a call that ran is not shown for review: as many are open as may be"),
        }
        Ok(())
    }

    /// After the commit: the rule of a revoked grant leaves the file, and the presser learns what
    /// becomes of the same call now.
    pub(super) async fn reviewed(&self, ask: Ask, review: &CallReview, answer: &Answer) -> Reply {
        if answer.decision != AnswerDecision::Deny {
            return reply(Told::Applied, "Noted as fine. Nothing changes.", Some(ask));
        }
        let done = match &review.tightening {
            Tightening::Revoke { rule, .. } => match self.remove_pending().await {
                Ok(()) => format!("Noted, and the grant is revoked: {rule}."),
                Err(problem) => format!(
                    "Noted, and the grant is revoked: {rule}. But its rule is still in the \
                         rules file: {problem}."
                ),
            },
            Tightening::Ask { rule } => format!(
                "Noted. Such calls ask from now on: {rule}. `countersign grants` lists that."
            ),
        };
        // INVARIANT: nobody is told that a call asks which is still allowed.
        let call = review.reviewed(&ask.body.call);
        let but = match self.decide_anew(&call).await {
            Ok(now) if now.verdict == Verdict::Allow => {
                format!(" But the same call is still allowed: {}", now.reason)
            }
            Ok(_) => String::new(),
            Err(error) => format!(" But it could not be checked that the call asks: {error}"),
        };
        reply(Told::Applied, &format!("{done}{but}"), Some(ask))
    }
}

/// A call that ran, and may be shown.
#[derive(Debug)]
struct RanCall {
    call: Call,
    decided: Decision,
    digest: String,
    at: i64,
    random: u32,
    /// Where the token of its agent has its asks shown.
    scope: Option<TokenScope>,
    is_large: bool,
}

/// The calls that ran and may be shown.
#[derive(Debug, Default)]
pub(super) struct ReviewQueue {
    waiting: Mutex<VecDeque<RanCall>>,
    news: Notify,
}

impl ReviewQueue {
    fn next(&self) -> Option<RanCall> {
        locked(&self.waiting).pop_front()
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
    Body {
        effects: seen.effects.iter().map(ToString::to_string).collect(),
        choices: Vec::new(),
        requirements: handling.requirements,
        // Nobody waits for it, so nobody is reminded of it and it goes to no others.
        plan: handling.plan,
        review: Some(Box::new(review)),
        ..Body::new(shown, "it ran without asking, and is shown for review")
    }
}

/// The decision with what people said in reviews.
// SECURITY: an allow becomes an ask, and nothing else changes: no review allows anything, and no
// rule, grant or mode lifts what one said. Like a deny, such a rule covers every call of which a
// part may be meant.
pub(super) fn applied<T: HasVerdict>(decided: T, reviewed: &[Grant], facts: &policy::Call) -> T {
    if reviewed.is_empty() || decided.verdict() != Verdict::Allow {
        return decided;
    }
    let matcher = Matcher::new(facts, &[]);
    let covers = |grant: &&Grant| matcher.rule(&grant.rule) != RuleFit::No;
    let Some(grant) = reviewed.iter().find(covers) else { return decided };
    let mut asks = policy::decision::facts(facts);
    (asks.verdict, asks.rule, asks.deciding_rule) = (Verdict::Ask, None, None);
    // Always could not win against it, so it is not offered.
    (asks.always, asks.always_from) = (Vec::new(), Vec::new());
    (asks.exact, asks.prefix) = (Vec::new(), Vec::new());
    asks.reason = format!(
        "{} said in a review that such calls should ask: {} (`countersign grants revoke {}` ends \
         that)",
        grant.by, grant.rule, grant.id
    );
    asks.into()
}

/// The rule that a review of this call stores, if it should have asked: as narrow as the rule that
/// allowed it, or exactly this call, or else its tool. `None` where no rule can name it.
fn rule_for(decided: &Decision, facts: &policy::Call) -> Option<Rule> {
    let tool = facts.canonical_tool();
    // SECURITY: an agent chooses the names of its tools; none is read as a pattern.
    if !may_be_granted(tool) {
        return None;
    }
    let asks = |pattern: &str| Rule { verdict: Verdict::Ask, ..Rule::allow(tool, pattern) };
    let narrow = |pattern: &&str| !pattern.starts_with(CLASS) && !matches!(*pattern, "*" | "**");
    let allowed = decided.deciding_rule.iter().map(|rule| rule.pattern.as_str()).filter(narrow);
    let exact = match decided.patterns.as_slice() {
        [one] if !one.trim().is_empty() && !one.contains(GLOB) => Some(one.trim()),
        _ => None,
    };
    let exact = exact.into_iter().filter(narrow);
    let matcher = Matcher::new(facts, &[]);
    // INVARIANT: the same call again asks.
    allowed.chain(exact).chain(["*"]).map(asks).find(|rule| matcher.rule(rule) != RuleFit::No)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use crate::call::Call;
    use countersign_domain::By;
    use countersign_policy::{Guardrail, Layers, Mode, Rules, decide};
    use proptest::prelude::*;
    use serde_json::json;

    fn decided(call: &Call, rules: &str) -> (Decision, policy::Call) {
        let rules = Rules::parse(rules, "rules", None).unwrap();
        let none = Rules::default();
        let guardrail = Guardrail::default();
        let layers =
            Layers { agent: None, rules: &rules, grants: &none, guardrail: &guardrail, now_ms: 0 };
        let facts = call.for_policy(None);
        (decide(&facts, &layers, Mode::Default), facts)
    }

    fn shell(command: &str) -> Call {
        let call = Call::new("a", "s", "shell_exec", json!({ "command": command }));
        Call { cwd: Some("/home/a/shop".to_owned()), ..call }
    }

    fn stored(call: &Call, rules: &str) -> Option<String> {
        let (decided, facts) = decided(call, rules);
        assert_eq!(decided.verdict, Verdict::Allow);
        rule_for(&decided, &facts).map(|rule| format!("{}: {}", rule.tool, rule.pattern))
    }

    fn grant(rule: Rule) -> Grant {
        Grant {
            id: "g1".to_owned(),
            ask: "g1".to_owned(),
            rule,
            scope: GrantScope::Review,
            agent: String::new(),
            session: String::new(),
            owner: None,
            folder: None,
            by: By::Person { platform: "inbox".into(), id: "1".into(), name: "Ana".into() },
            created_at: 0,
            expires_at: None,
            digest: None,
            in_file: false,
        }
    }

    #[test]
    fn a_review_stores_the_pattern_that_allowed_or_exactly_this_call_or_its_tool() {
        let some = |text: &str| Some(text.to_owned());
        let git = r#"{"shell_exec": {"git *": "allow"}}"#;
        assert_eq!(stored(&shell("git push origin"), git), some("shell_exec: git *"));
        let both = r#"{"shell_exec": {"git *": "allow", "make *": "allow"}}"#;
        let of_both = stored(&shell("git status && make all"), both);
        assert!(matches!(of_both.as_deref(), Some("shell_exec: git *" | "shell_exec: make *")));
        // A class or everything is wider than what a person saw.
        let reads = r#"{"shell_exec": {"@reads": "allow"}}"#;
        assert_eq!(stored(&shell("ls src"), reads), some("shell_exec: ls src"));
        let all = r#"{"*": "allow"}"#;
        assert_eq!(stored(&shell("make all"), all), some("shell_exec: make all"));
        assert_eq!(stored(&shell("make a && make b"), all), some("shell_exec: *"));
        let tool = Call::new("a", "s", "mcp__db__query", json!({"sql": "x"}));
        assert_eq!(stored(&tool, all), some("mcp__db__query: *"));
        let odd = Call::new("a", "s", "mcp__*", json!({"sql": "x"}));
        assert_eq!(stored(&odd, all), None, "no pattern comes of an agent's words");
    }

    #[test]
    fn an_allow_that_a_review_covers_asks_and_says_who_said_so() {
        let rules = r#"{"shell_exec": {"git *": "allow", "make *": "allow", "git rm *": "deny"}}"#;
        let said = [grant(Rule { verdict: Verdict::Ask, ..Rule::allow("shell_exec", "git *") })];
        let of = |command: &str| {
            let (decided, facts) = decided(&shell(command), rules);
            let now = applied(decided, &said, &facts);
            (now.verdict, now.reason)
        };
        let (verdict, reason) = of("git push origin main");
        assert_eq!(verdict, Verdict::Ask);
        assert_eq!(
            reason,
            "Ana said in a review that such calls should ask: shell: git * (`countersign grants \
             revoke g1` ends that)"
        );
        for spelling in ["make a && git push", "git  push", "'git' push", "/usr/bin/git push"] {
            assert_eq!(of(spelling).0.max(Verdict::Ask), Verdict::Ask, "{spelling}");
        }
        assert_eq!(of("make a && git push").0, Verdict::Ask);
        assert_eq!(of("make all").0, Verdict::Allow);
        assert_eq!(of("git rm x").0, Verdict::Deny);
    }

    proptest! {
        #[test]
        fn no_review_loosens_anything(
            command in "(git|make|ls|rm) ?[a-z*./-]{0,8}( (&&|;|\\|) (git|make) [a-z]{1,4})?",
            pattern in "(\\*|@reads|git \\*|make [a-z*]{1,4}|[a-z*\\[{]{1,6})",
            rules in prop::sample::select(vec![
                r#"{"*": "allow"}"#,
                r#"{"*": "ask"}"#,
                r#"{"*": "allow", "shell_exec": {"git *": "deny"}}"#,
                r#"{"shell_exec": {"@reads": "allow", "make *": "allow"}}"#,
            ]),
        ) {
            let (before, facts) = decided(&shell(&command), rules);
            let was = before.verdict;
            let rule = Rule { verdict: Verdict::Ask, ..Rule::allow("shell_exec", pattern) };
            let now = applied(before.clone(), &[grant(rule)], &facts).verdict;
            prop_assert!(now == was || (was == Verdict::Allow && now == Verdict::Ask));
            // What a review would store makes the same call ask.
            if was == Verdict::Allow {
                let rule = rule_for(&before, &facts).unwrap();
                prop_assert_eq!(applied(before, &[grant(rule)], &facts).verdict, Verdict::Ask);
            }
        }
    }
}
