//! The narrowest rule that would have saved asks of one kind, as the rules in force say.

use super::{ANSWER_RULE, AskEnd, ClosedAsk};
use crate::{Gate, SubmitError, TrialError, grants::is_within};
use countersign_domain::wire::{CoveredCallView, DigestSuggestion, SuggestedRule};
use countersign_policy::{Rule, Verdict, tools::canonical};
use serde_json::json;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

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
const SHELL: &str = "shell_exec";

/// Rules that together would have saved asks: one, or for calls with several commands one for each
/// that no rule allows.
type Suggested = Result<DigestSuggestion, String>;

impl Gate {
    /// The narrowest rule that would have saved most of these asks, or a sentence why there is
    /// none.
    // SECURITY: no rule for critical calls, none that is wider than Always, none against a deny, an
    // answer rule or what people denied.
    pub(super) async fn suggest(
        self: &Arc<Self>,
        all: &[ClosedAsk],
        asks: &[&ClosedAsk],
    ) -> Result<Suggested, SubmitError> {
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
        let mut best: Option<DigestSuggestion> = None;
        let mut why = FEW.to_owned();
        for rules in candidates(offered, &approved) {
            match self.tried(rules, offered, (all, asks)).await? {
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
        self: &Arc<Self>,
        rules: Vec<Rule>,
        offered: &[Rule],
        (all, asks): (&[ClosedAsk], &[&ClosedAsk]),
    ) -> Result<Suggested, SubmitError> {
        let trial = match self.try_rules(&rules).await {
            Ok(trial) => trial,
            Err(TrialError::Refused(why)) => return Ok(Err(why)),
            Err(TrialError::Failed(error)) => return Err(error),
        };
        let answer_rules = self.has_answer_rules();
        let is_line = !answer_rules && !rules.iter().any(|rule| trial.may_meet_deny(rule));
        let on_cards = rules == offered || asks.iter().any(|ask| ask.exact == rules);
        if !is_line && !on_cards {
            return none(NOT_SAFE_IN_FILE);
        }
        let mut covers: BTreeMap<&str, CoveredCallView> = BTreeMap::new();
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
            let covered = CoveredCallView { title: ask.title.clone(), asks: 1, approved };
            covers.insert(&ask.same, covered);
        }
        let saves = covers.values().map(|covered| covered.approved).sum();
        if saves == 0 {
            return none(ALLOWED);
        }
        let mut denied: BTreeMap<&str, &ClosedAsk> = BTreeMap::new();
        let is_denied = |ask: &&ClosedAsk| matches!(ask.end, AskEnd::Denied | AskEnd::Edited);
        for ask in all.iter().filter(is_denied) {
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
        let mut covers: Vec<CoveredCallView> = covers.into_values().collect();
        covers.sort_by_key(|covered| std::cmp::Reverse(covered.asks));
        // Where a line is not safe, Always on a card stores the rules as grants, which lifts no deny
        // and answers for nobody whom an answer rule asks.
        let mut rules = rules.into_iter().map(|rule| SuggestedRule {
            line: is_line.then(|| rule_line(&rule)),
            tool: rule.tool,
            pattern: rule.pattern,
        });
        let Some(SuggestedRule { tool, pattern, line }) = rules.next() else {
            return none(NOT_OFFERED);
        };
        let also = rules.collect();
        Ok(Ok(DigestSuggestion { tool, pattern, line, also, saves, covers }))
    }

    async fn has_answer_rule(&self, ask: &ClosedAsk) -> Result<bool, SubmitError> {
        let given = self.given(&ask.call).await?;
        let decision = self.judge(&ask.call, &given).await?;
        Ok(!self.handling(&ask.call, &given.facts, &decision).await.requirements.is_empty())
    }
}

/// A rule as it is written in a rules file.
#[must_use]
pub fn rule_line(rule: &Rule) -> String {
    let Rule { tool, pattern, verdict } = rule;
    format!("{}: {{ {}: {} }}", json!(tool), json!(pattern), json!(verdict.word()))
}

/// The rules of a suggestion, as people read them.
pub(super) fn rules_of(found: &DigestSuggestion) -> Vec<String> {
    let also = found.also.iter().map(|it| (&it.tool, &it.pattern));
    let all = std::iter::once((&found.tool, &found.pattern)).chain(also);
    let rule = |(tool, pattern): (&String, &String)| {
        let tool = tool.clone();
        let pattern = pattern.clone();
        Rule { tool, pattern, verdict: Verdict::Allow }.to_string()
    };
    all.map(rule).collect()
}

fn none(why: &str) -> Result<Suggested, SubmitError> {
    Ok(Err(why.to_owned()))
}

/// What could have saved these asks, of which each offered these rules as Always: one rule, or
/// several together.
// SECURITY: nothing is wider than what Always offered for every one of them.
fn candidates(offered: &[Rule], asks: &[&ClosedAsk]) -> Vec<Vec<Rule>> {
    match offered {
        [offered] => of_one(offered, asks).into_iter().map(|rule| vec![rule]).collect(),
        several => of_several(several, asks),
    }
}

/// Several rules as they were offered; and where all calls are the same one, those for it alone.
fn of_several(offered: &[Rule], asks: &[&ClosedAsk]) -> Vec<Vec<Rule>> {
    let exact = asks.split_first().map(|(first, rest)| {
        let same = rest.iter().all(|ask| ask.exact == first.exact);
        first.exact.clone().into_iter().filter(|_| same).collect::<Vec<Rule>>()
    });
    let exact = exact.filter(|exact| !exact.is_empty() && exact != offered);
    exact.into_iter().chain([offered.to_vec()]).collect()
}

fn of_one(offered: &Rule, asks: &[&ClosedAsk]) -> Vec<Rule> {
    let mut found = Vec::new();
    let exact = |ask: &&ClosedAsk| match ask.exact.as_slice() {
        [rule] => Some(rule.clone()),
        _ => None,
    };
    let exact: Option<Vec<Rule>> = asks.iter().map(exact).collect();
    if let Some(exact) = exact {
        match exact.split_first() {
            Some((first, rest)) if rest.iter().all(|it| it == first) => found.push(first.clone()),
            Some(_) => found.extend(narrowed(offered, &exact)),
            None => {}
        }
    }
    if !found.contains(offered) {
        found.push(offered.clone());
    }
    found
}

/// The rule for commands that begin with all the words that these have in common, where that is
/// narrower than the offered one.
fn narrowed(offered: &Rule, exact: &[Rule]) -> Option<Rule> {
    let head = offered.pattern.strip_suffix(" *").filter(|_| canonical(&offered.tool) == SHELL)?;
    let mut common: Option<Vec<&str>> = None;
    for rule in exact {
        let words: Vec<&str> = rule.pattern.split(' ').collect();
        common = Some(match common {
            None => words,
            Some(common) => {
                let same = common.iter().zip(&words).take_while(|(one, other)| one == other);
                let same = same.count();
                common.into_iter().take(same).collect()
            }
        });
    }
    let words = common?.join(" ");
    let rule = Rule { pattern: format!("{words} *"), ..offered.clone() };
    (words.len() > head.len() && is_within(&rule, offered)).then_some(rule)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;

    fn shell(pattern: &str) -> Rule {
        Rule::allow(SHELL, pattern)
    }

    fn of(offered: &str, exact: &[&str]) -> Option<String> {
        let exact: Vec<Rule> = exact.iter().map(|pattern| shell(pattern)).collect();
        narrowed(&shell(offered), &exact).map(|rule| rule.pattern)
    }

    #[test]
    fn commands_are_covered_by_the_words_that_all_of_them_begin_with() {
        let some = |pattern: &str| Some(pattern.to_owned());
        assert_eq!(
            of("cargo build *", &["cargo build --release -p a", "cargo build --release -p b"]),
            some("cargo build --release -p *")
        );
        // Nothing more in common than what is offered.
        assert_eq!(of("cargo build *", &["cargo build --release", "cargo build -q"]), None);
        // One of them is the common beginning itself: the wider rule may cover it, a trial says so.
        assert_eq!(
            of("git fetch *", &["git fetch origin", "git fetch origin a"]),
            some("git fetch origin *")
        );
    }

    #[test]
    fn nothing_wider_than_the_offered_rule_and_nothing_but_plain_words_comes_of_it() {
        assert_eq!(of("cargo build *", &["cargo test -p a", "cargo test -p b"]), None);
        assert_eq!(of("make *", &["make a && rm x", "make a && rm y"]), None);
        assert_eq!(of("make *", &["make $(x) a", "make $(x) b"]), None);
        assert_eq!(of("make *", &["make \\* a", "make \\* b"]), None);
        assert_eq!(of("make all", &["make all", "make all"]), None);
        let other = Rule::allow("write_file", "src/a *");
        assert_eq!(narrowed(&other, &[Rule::allow("write_file", "src/a b c")]), None);
    }

    #[test]
    fn several_rules_are_suggested_together_as_they_were_offered_or_for_one_call_alone() {
        let offered = [shell("cargo build *"), shell("docker build *")];
        let ask = |exact: [&str; 2]| -> ClosedAsk {
            let body = countersign_domain::Body::new(
                countersign_domain::call::Call::new("a", "s", "Bash", serde_json::json!({})),
                "no rule",
            );
            let mut ask = countersign_domain::Ask::opened("id", "digest", body, 0);
            let by = countersign_domain::By::Timeout;
            let yes = countersign_domain::Answer::new(countersign_domain::Decision::Approve, by, 1);
            ask.state = countersign_domain::State::Answered(yes);
            ask.body.exact = exact.into_iter().map(shell).collect();
            ClosedAsk::of(&ask, String::new(), true).unwrap()
        };
        let one = ask(["cargo build -q", "docker build a"]);
        let two = ask(["cargo build -q", "docker build b"]);
        assert_eq!(candidates(&offered, &[&one, &two]), [offered.to_vec()]);
        assert_eq!(candidates(&offered, &[&one, &one]), [one.exact.clone(), offered.to_vec()]);
    }
}
