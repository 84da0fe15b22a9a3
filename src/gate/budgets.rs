//! Budgets: calls that are approved at the start of a task, to run once each within a time.

use super::{
    Gate, SubmitError,
    ask::{
        Answer, Ask, By, Decision as AnswerDecision, Execution, NextTry, budget::Budget,
        requirement::Requirement,
    },
    call::Call,
    grants::short,
};
use countersign_domain::GrantScope;
use countersign_policy::{Decision, Rule, Verdict, decision::facts};
use countersign_port::{brief, line};
use countersign_store::{Grant, StoreError};
use countersign_tokens::clock;

/// How much of a call is kept with a grant that it spent, in characters.
const CALL: usize = 200;

impl Gate {
    /// Decides on a budget, and says whose answers its calls need: people are asked, unless one of its
    /// calls may not be approved ahead.
    // SECURITY: a critical call is asked for when it is due, with its second press; a call that
    // the rules deny is never asked for. The answers that the budget needs are those of all its
    // calls together.
    pub(super) async fn decide_budget(
        &self,
        call: &Call,
        budget: &Budget,
    ) -> Result<(Decision, Vec<Requirement>), SubmitError> {
        let mut decision = facts(&call.for_policy(None));
        let mut effects_of_all = Vec::new();
        let mut requirements = Vec::<Requirement>::new();
        (decision.verdict, decision.rule) = (Verdict::Ask, None);
        let many = budget.calls.len();
        decision.reason = format!("the agent asks for {many} calls ahead");
        for (at, part) in call.ahead().enumerate() {
            let number = at.saturating_add(1);
            let given = self.given(&part).await?;
            let decided = self.judge(&part, &given).await?;
            let why = match (decided.verdict, decided.critical) {
                (Verdict::Deny, _) => Some(format!("the rules deny it: {}", decided.reason)),
                (Verdict::Allow | Verdict::Ask, true) => {
                    Some("it is critical, so it is asked for when it is due".to_owned())
                }
                (Verdict::Allow | Verdict::Ask, false) => None,
            };
            if let Some(why) = why {
                decision.verdict = Verdict::Deny;
                decision.reason =
                    format!("call {number} of the budget cannot be approved ahead: {why}");
                return Ok((decision, Vec::new()));
            }
            for one in self.handling(&part, &given.facts, &decided).await.requirements {
                if !requirements.contains(&one) {
                    requirements.push(one);
                }
            }
            for effect in decided.effects {
                if !effects_of_all.contains(&effect) {
                    effects_of_all.push(effect);
                }
            }
        }
        (decision.effects, decision.critical) = (effects_of_all, false);
        Ok((decision, requirements))
    }

    /// The grants in force for exactly this call, whatever words its agent has for it.
    pub(super) async fn ahead_of(
        &self,
        call: &Call,
        digest: &str,
        now: i64,
    ) -> Result<Vec<Grant>, StoreError> {
        let owner = call.owner.as_ref();
        let mut grants = self.store.budget_for(digest, owner, now).await?;
        if let Some(plain) = call.digest_without_words() {
            grants.extend(self.store.budget_for(&plain, owner, now).await?);
        }
        Ok(grants)
    }

    /// Spends a grant for exactly this call, where one is in force; why the call may run then.
    // INVARIANT: a guardrail and a deny were looked for before; only an ask is spared by a budget.
    // SECURITY: a critical call and a question are answered by a person, at the time. An answer
    // rule that was added since, or whose group has changed, holds over what was approved before.
    pub(super) async fn spend(
        &self,
        call: &Call,
        ruling: &Decision,
        digest: &str,
        required: &[Requirement],
        take: Take,
    ) -> Result<Option<String>, StoreError> {
        if ruling.verdict != Verdict::Ask || !call.questions.is_empty() || call.budget.is_some() {
            return Ok(None);
        }
        let store = &self.store;
        let now = clock::now_ms();
        for grant in self.ahead_of(call, digest, now).await? {
            // FAIL-CLOSED: of a budget that is forgotten nobody knows who approved it.
            let Some(ask) = self.ask_of(&grant).await? else { continue };
            if !covers(&ask, call, required) || ruling.critical && !is_released(&ask) {
                continue;
            }
            let by = line(&grant.by.to_string());
            let approved = format!("approved ahead by {by}, once (grant {})", grant.id);
            if take == Take::Look {
                return Ok(Some(approved));
            }
            let as_call = call.id_at_agent().map(str::to_owned);
            let started = Execution { started_at: now, as_call, end: None };
            if store.spend(&grant, &brief(&line(&grant.rule.pattern), CALL), &started).await? {
                // Its card says so.
                self.changed();
                return Ok(Some(approved));
            }
        }
        Ok(None)
    }
}

/// Whether a grant is spent, or only looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Take {
    /// The call runs now.
    Spend,
    /// It is asked for again before it runs.
    Look,
}

/// Whether a person has taken the second step for exactly this critical call, whose retry it is.
fn is_released(ask: &Ask) -> bool {
    ask.body.critical && ask.body.call.appeal.is_some()
}

/// Whether a budget that was approved covers a call with the digest of one of its own.
// SECURITY: machine and mode are not in the digest, and both say what a call may do.
fn covers(budget: &Ask, call: &Call, required: &[Requirement]) -> bool {
    let asked = &budget.body.call;
    asked.host == call.host
        && asked.agent_mode == call.agent_mode
        && Requirement::unmet(required, &budget.body.requirements).is_none()
}

/// The grant of a late yes, and of an appeal that a person allowed: the next try of exactly this
/// call, once.
pub(super) fn grant_of_next(ask: &Ask, next: &NextTry) -> Grant {
    let call = &ask.body.call;
    let rule = Rule::allow(&call.tool, short(call));
    Grant {
        expires_at: Some(next.until),
        digest: Some(match call.appeal {
            Some(_) => call.without_words().digest(),
            None => ask.digest.clone(),
        }),
        ..Grant::new(rule, GrantScope::Budget, next.by.clone(), next.at).given_on(ask, call)
    }
}

/// The grant that the approval of an appeal makes. It is for the retry, which comes at once.
pub(super) fn grant_of_appeal(ask: &Ask, answer: &Answer, by: &By) -> Vec<Grant> {
    if answer.decision != AnswerDecision::Approve {
        return Vec::new();
    }
    let next = NextTry { by: by.clone(), at: answer.at, until: answer.at + RETRY_MS };
    vec![grant_of_next(ask, &next)]
}

/// How long an agent has for the retry of a call that a person released.
const RETRY_MS: i64 = 900_000;

/// The grants that the approval of a budget makes: one for each call.
pub(super) fn grants_of(ask: &Ask, budget: &Budget, answer: &Answer, by: &By) -> Vec<Grant> {
    if answer.decision != AnswerDecision::Approve {
        return Vec::new();
    }
    let lasts = i64::try_from(budget.for_s).unwrap_or_default().saturating_mul(1_000);
    let whole = &ask.body.call;
    let one = |(text, call): (String, Call)| {
        let rule = Rule::allow(&call.tool, text);
        Grant {
            expires_at: Some(answer.at.saturating_add(lasts)),
            digest: Some(call.digest()),
            ..Grant::new(rule, GrantScope::Budget, by.clone(), answer.at).given_on(ask, &call)
        }
    };
    let texts = budget.calls.iter().map(|call| call.text(whole.cwd.as_deref()));
    texts.zip(whole.ahead()).map(one).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use crate::{
        Told,
        answer::Action,
        ask::{Body, Scope},
        rules::{AnswerRule, AskConditions},
        testkit::{ana, appeal, asked, command, gate},
    };
    use countersign_domain::requirement::{Exclusion, VoteCount};
    use countersign_profiles::Profile;
    use countersign_store::testkit::engines::on_both;
    use serde_json::json;

    fn budget(commands: &[&str]) -> Call {
        let call = |command: &&str| json!({"tool": "shell_exec", "args": {"command": command}});
        let calls: Vec<_> = commands.iter().map(call).collect();
        let budget = serde_json::from_value(json!({"for_s": 60, "calls": calls})).unwrap();
        Call { budget, ..Call::new("a", "s", "budget", json!({})) }
    }

    fn needs(approvals: u32) -> Requirement {
        Requirement {
            rule: "some".to_owned(),
            group: None,
            also: Vec::new(),
            approvals,
            deny: 1,
            count: VoteCount::People,
            exclude: Exclusion::Nobody,
        }
    }

    fn of(call: Call, critical: bool, requirements: Vec<Requirement>) -> Ask {
        let digest = call.digest();
        let body = Body { critical, requirements, ..Body::new(call, "no rule") };
        Ask::opened("one", digest, body, 0)
    }

    #[test]
    fn what_was_approved_covers_its_call_on_its_machine_in_its_mode_under_no_harder_rule() {
        let made = || Call {
            host: Some("laptop".to_owned()),
            agent_mode: Some("code".to_owned()),
            ..command("make")
        };
        let ask = of(made(), false, vec![needs(2)]);
        for (call, required, covered) in [
            (made(), vec![], true),
            (made(), vec![needs(1), needs(2)], true),
            (made(), vec![needs(1), needs(3)], false),
            (Call { host: None, ..made() }, vec![], false),
            (Call { agent_mode: Some("plan".to_owned()), ..made() }, vec![], false),
        ] {
            assert_eq!(covers(&ask, &call, &required), covered, "{call:?} {required:?}");
        }
    }

    #[test]
    fn a_critical_call_is_released_by_an_appeal_that_was_critical_and_by_nothing_else() {
        let released = |call, critical| is_released(&of(call, critical, Vec::new()));
        assert!(released(appeal("rm -rf /"), true));
        assert!(!released(appeal("rm -rf /"), false));
        assert!(!released(command("rm -rf /"), true));
    }

    #[test]
    fn an_approval_grants_each_call_for_its_time_and_nothing_else_grants_anything() {
        let ask = of(budget(&["make", "git push"]), false, Vec::new());
        let by = By::Caller;
        let granted = |ask: &Ask, decision| {
            let answer = Answer::new(decision, By::Caller, 5);
            let grants = match &ask.body.call.budget {
                Some(budget) => grants_of(ask, budget, &answer, &by),
                None => grant_of_appeal(ask, &answer, &by),
            };
            let told = |it: Grant| (it.rule.pattern, it.scope, it.expires_at, it.digest);
            grants.into_iter().map(told).collect::<Vec<_>>()
        };
        let grant = |text: &str, until| {
            let digest = Some(command(text).digest());
            (text.to_owned(), GrantScope::Budget, Some(until), digest)
        };
        let blocked = of(appeal("make"), false, Vec::new());
        let both = [grant("make", 60_005), grant("git push", 60_005)];
        assert_eq!(granted(&ask, AnswerDecision::Approve), both);
        assert_eq!(granted(&blocked, AnswerDecision::Approve), [grant("make", 900_005)]);
        for no in [AnswerDecision::Deny, AnswerDecision::Edit, AnswerDecision::Answer] {
            assert_eq!(granted(&ask, no), []);
            assert_eq!(granted(&blocked, no), []);
        }
    }

    #[tokio::test]
    async fn a_budget_needs_the_answers_of_all_its_calls_and_says_what_they_touch() {
        on_both(async |store| {
            let rule = |name: &str, command: &str| AnswerRule {
                name: name.to_owned(),
                when: AskConditions { command: vec![command.to_owned()], ..Default::default() },
                approvals: 2,
                ..AnswerRule::default()
            };
            let rules = vec![rule("builds", "make *"), rule("pushes", "git push *")];
            let (gate, _kept) = gate(&store, Profile::Standard, rules);
            let body = asked(&gate, budget(&["make a", "rm x", "make b", "git push x"])).await.body;
            let required: Vec<_> = body.requirements.iter().map(|it| &*it.rule).collect();
            assert_eq!(required, ["builds", "pushes"]);
            let effects = [
                "deletes x",
                "publishes to x (git push)",
                "runs make a",
                "runs rm",
                "runs make b",
                "runs git push",
            ];
            assert_eq!(body.effects, effects);
        })
        .await;
    }

    #[tokio::test]
    async fn only_what_would_be_asked_is_spared_by_a_grant_and_no_question_or_budget_is() {
        on_both(async |store| {
            let (gate, _kept) = gate(&store, Profile::Standard, Vec::new());
            let ask = asked(&gate, budget(&["make"])).await;
            let once = Action::Approve { scope: Scope::Once };
            assert_eq!(gate.answer(ask, ana(), once).await.told, Told::Applied);
            let questions = json!([{"question": "Which?", "options": []}]);
            let questions = serde_json::from_value(questions).unwrap();
            let digest = command("make").digest();
            let spent = async |call: Call, verdict, take| {
                let decision = Decision { verdict, ..facts(&call.for_policy(None)) };
                gate.spend(&call, &decision, &digest, &[], take).await.unwrap().is_some()
            };
            for (call, verdict) in [
                (command("make"), Verdict::Deny),
                (command("make"), Verdict::Allow),
                (Call { questions, ..command("make") }, Verdict::Ask),
                (Call { budget: budget(&["make"]).budget, ..command("make") }, Verdict::Ask),
            ] {
                assert!(!spent(call.clone(), verdict, Take::Spend).await, "{call:?} {verdict}");
            }
            let moved = Call { host: Some("other".to_owned()), ..command("make") };
            assert!(!spent(moved, Verdict::Ask, Take::Spend).await, "another machine");
            assert!(spent(command("make"), Verdict::Ask, Take::Look).await);
            let at_once = tokio::join!(
                spent(command("make"), Verdict::Ask, Take::Spend),
                spent(command("make"), Verdict::Ask, Take::Spend)
            );
            assert!(at_once.0 != at_once.1, "once: {at_once:?}");
            assert!(!spent(command("make"), Verdict::Ask, Take::Spend).await);
        })
        .await;
    }
}
