//! The narrowest rule that would have saved asks of one kind, as the rules in force say.

use super::super::{SubmitError, TrialError, evaluate::Evaluator, trial::RuleTrials};
use super::candidates::candidates;
use super::closed::{ANSWER_RULE, AskEnd, ClosedAsk};
use countersign_policy::{Rule, Verdict, tools::canonical};
use std::collections::{BTreeMap, BTreeSet};

/// How many different calls a rule is tried on.
const TRIED: usize = 200;
/// How many different calls that people denied.
const DENIED_TRIED: usize = 500;

const FEW: &str = "Fewer than two of these calls were approved.";
const NOT_OFFERED: &str = "No card offers Always for these calls.";
const DENIED: &str = "People denied or changed some of these calls.";
const COVERS_DENIED: &str = "A rule for these calls would cover a call that people denied.";
const MANY_DENIED: &str = "People denied too many calls to check a rule against all of them.";
const DENY_RULE: &str = "A rule denies some of these calls.";
const ALLOWED: &str = "The rules in force do not ask about these calls any more.";
const NOT_SAFE_IN_FILE: &str = "No narrow rule for these calls is safe beside the rules in force.";

/// Rules that together would have saved asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleSuggestion {
    /// The rules: one, or for calls with several commands one for each that no rule allows.
    pub rules: Vec<Rule>,
    /// Whether they are safe as lines of the rules file. If not, Always on a card stores them as
    /// grants, which lifts no deny and answers for nobody whom an answer rule asks.
    pub is_line: bool,
    /// How many asks it would have saved that people approved.
    pub saves: usize,
    /// The different calls that it covers, as far as they were asked about, most asked first.
    pub covers: Vec<CoveredCall>,
}

/// A call that a suggested rule covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoveredCall {
    /// The first line of its card.
    pub title: String,
    /// How often it was asked about.
    pub asks: usize,
    /// How often people approved it.
    pub approved: usize,
}

/// Finds rules that would have saved asks.
pub(super) struct Suggester<'a> {
    pub(super) trials: &'a RuleTrials,
    pub(super) evaluator: &'a Evaluator,
    pub(super) all: &'a [ClosedAsk],
}

type Suggested = Result<RuleSuggestion, String>;

impl Suggester<'_> {
    /// The narrowest rule that would have saved most of these asks, or a sentence why there is
    /// none.
    // SECURITY: no rule for critical calls, none that is wider than Always, none against a deny, an
    // answer rule or what people denied.
    pub(super) async fn suggest(&self, asks: &[&ClosedAsk]) -> Result<Suggested, SubmitError> {
        let Some(first) = asks.first() else { return none(FEW) };
        if let Some(why) = first.never {
            return none(why);
        }
        let offered = first.always.as_slice();
        if offered.is_empty() {
            return none(NOT_OFFERED);
        }
        if asks.iter().any(|ask| matches!(ask.end, AskEnd::Denied | AskEnd::Edited)) {
            return none(DENIED);
        }
        let approved: Vec<&ClosedAsk> =
            asks.iter().copied().filter(|ask| ask.end == AskEnd::Approved).collect();
        if approved.len() < 2 {
            return none(FEW);
        }
        let mut best: Option<RuleSuggestion> = None;
        let mut why = FEW.to_owned();
        for rules in candidates(offered, &approved) {
            match self.tried(rules, offered, asks).await? {
                Err(reason) => why = reason,
                Ok(found) if found.saves > best.as_ref().map_or(0, |best| best.saves) => {
                    best = Some(found);
                }
                Ok(_) => {}
            }
        }
        Ok(best.ok_or(why))
    }

    async fn tried(
        &self,
        rules: Vec<Rule>,
        offered: &[Rule],
        asks: &[&ClosedAsk],
    ) -> Result<Suggested, SubmitError> {
        let trial = match self.trials.begin(&rules).await {
            Ok(trial) => trial,
            Err(TrialError::Refused(why)) => return Ok(Err(why)),
            Err(TrialError::Failed(error)) => return Err(error),
        };
        let answer_rules = self.evaluator.has_answer_rules();
        let is_line = !answer_rules && !rules.iter().any(|rule| trial.may_meet_deny(rule));
        let on_cards = rules == offered || asks.iter().any(|ask| ask.exact == rules);
        if !is_line && !on_cards {
            return none(NOT_SAFE_IN_FILE);
        }
        let mut covers: BTreeMap<&str, CoveredCall> = BTreeMap::new();
        let mut left_out: BTreeSet<&str> = BTreeSet::new();
        for ask in asks {
            // Not of each different call: an answer rule may name the agent or the machine.
            if answer_rules && self.has_answer_rule(ask).await? {
                return none(ANSWER_RULE);
            }
            let approved = usize::from(ask.end == AskEnd::Approved);
            if let Some(covered) = covers.get_mut(ask.same.as_str()) {
                covered.asks += 1;
                covered.approved += approved;
                continue;
            }
            if left_out.contains(ask.same.as_str()) || covers.len() >= TRIED {
                continue;
            }
            let tried = trial.of(&ask.call).await;
            if tried.before == Verdict::Deny || tried.after == Verdict::Deny {
                return none(DENY_RULE);
            }
            if (tried.before, tried.after) != (Verdict::Ask, Verdict::Allow) {
                left_out.insert(&ask.same);
                continue;
            }
            let covered = CoveredCall { title: ask.title.clone(), asks: 1, approved };
            covers.insert(&ask.same, covered);
        }
        let saves = covers.values().map(|covered| covered.approved).sum();
        if saves == 0 {
            return none(ALLOWED);
        }
        let mut denied: BTreeMap<&str, &ClosedAsk> = BTreeMap::new();
        let is_denied = |ask: &&ClosedAsk| matches!(ask.end, AskEnd::Denied | AskEnd::Edited);
        for ask in self.all.iter().filter(is_denied) {
            if rules.iter().any(|rule| canonical(&ask.call.tool) == canonical(&rule.tool)) {
                denied.insert(&ask.same, ask);
            }
        }
        if denied.len() > DENIED_TRIED {
            return none(MANY_DENIED);
        }
        for ask in denied.values() {
            if trial.of(&ask.call).await.after == Verdict::Allow {
                return none(COVERS_DENIED);
            }
        }
        let mut covers: Vec<CoveredCall> = covers.into_values().collect();
        covers.sort_by_key(|covered| std::cmp::Reverse(covered.asks));
        Ok(Ok(RuleSuggestion { rules, is_line, saves, covers }))
    }

    async fn has_answer_rule(&self, ask: &ClosedAsk) -> Result<bool, SubmitError> {
        let decision = self.evaluator.judge(&ask.call).await?;
        Ok(!self.evaluator.handling(&ask.call, &decision).await.requirements.is_empty())
    }
}

fn none(why: &str) -> Result<Suggested, SubmitError> {
    Ok(Err(why.to_owned()))
}
