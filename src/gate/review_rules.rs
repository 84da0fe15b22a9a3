//! Which of the calls that ran without asking are shown to people afterwards. Pure: the random
//! number is given.

use super::answer_rules::{AskConditions, SeenCall, fitting};
use std::num::NonZeroU32;

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewRule {
    /// For people to read.
    pub name: String,
    /// What it fits.
    pub when: AskConditions,
    /// By what the call was allowed; by anything where `None`.
    pub allowed_by: Option<AllowedBy>,
    /// One call in so many is shown; none where `None`.
    pub one_in: Option<NonZeroU32>,
    /// How long its card waits for somebody; milliseconds.
    pub timeout_ms: i64,
}

/// What let a call run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllowedBy {
    /// A rule of the operator's, or a mode.
    Rule,
    /// What a person granted.
    Grant,
}

/// How often calls of one kind are shown, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReviewRate {
    pub(super) one_in: NonZeroU32,
    pub(super) timeout_ms: i64,
}

/// How often such calls are shown; `None`: never.
///
/// Where it is not certain which rule is meant, the one that shows most of them counts.
pub(super) fn rate(rules: &[ReviewRule], seen: SeenCall<'_>, by: AllowedBy) -> Option<ReviewRate> {
    let of = |rule: &&ReviewRule| rule.allowed_by.is_none_or(|it| it == by);
    let rules: Vec<&ReviewRule> = rules.iter().filter(of).collect();
    let fitting = fitting(&rules, |rule| rule.when.fit(seen));
    let rate = |rule: &&&ReviewRule| {
        Some(ReviewRate { one_in: rule.one_in?, timeout_ms: rule.timeout_ms })
    };
    fitting.rules.iter().filter_map(rate).min_by_key(|rate| rate.one_in)
}

/// The rate of the calls that are shown most often, which every shown call passes.
pub(super) fn most_often(rules: &[ReviewRule]) -> Option<NonZeroU32> {
    rules.iter().filter_map(|rule| rule.one_in).min()
}

/// Whether a call is shown, of which one in so many is.
// INVARIANT: with the same number, what is shown at one rate is shown at every higher one.
pub(super) fn is_sampled(one_in: NonZeroU32, random: u32) -> bool {
    u64::from(random) * u64::from(one_in.get()) <= u64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use crate::call::Call;
    use countersign_policy::Matcher;
    use proptest::prelude::*;
    use serde_json::json;

    fn one_in(n: u32) -> NonZeroU32 {
        NonZeroU32::new(n).unwrap()
    }

    fn rule(agent: &[&str], n: u32) -> ReviewRule {
        let agent = agent.iter().map(|it| (*it).to_owned()).collect();
        ReviewRule {
            name: "a".to_owned(),
            when: AskConditions { agent, ..AskConditions::default() },
            allowed_by: None,
            one_in: NonZeroU32::new(n),
            timeout_ms: 1,
        }
    }

    fn rate_of(rules: &[ReviewRule], call: &Call, by: AllowedBy) -> Option<u32> {
        let facts = call.for_policy(None);
        let seen = SeenCall { call, facts: &Matcher::new(&facts, &[]), critical: false };
        rate(rules, seen, by).map(|rate| rate.one_in.get())
    }

    #[test]
    fn the_first_rule_that_fits_says_how_often_and_none_is_never() {
        let call = |agent: &str| Call::new(agent, "s", "shell_exec", json!({"command": "ls"}));
        let (quiet, bot, rest) = (rule(&["quiet"], 0), rule(&["bot"], 2), rule(&[], 9));
        let rules = [quiet, bot, rest];
        let of = |agent| rate_of(&rules, &call(agent), AllowedBy::Rule);
        assert_eq!(["quiet", "bot", "x"].map(of), [None, Some(2), Some(9)]);
        assert_eq!(rate_of(&[], &call("bot"), AllowedBy::Rule), None);
        assert_eq!(most_often(&rules), Some(one_in(2)));
        assert_eq!(most_often(&[rule(&[], 0)]), None);
    }

    #[test]
    fn a_rule_for_grants_passes_over_what_rules_allowed() {
        let call = Call::new("a", "s", "shell_exec", json!({"command": "ls"}));
        let granted = ReviewRule { allowed_by: Some(AllowedBy::Grant), ..rule(&[], 1) };
        let rules = [granted, rule(&[], 5)];
        assert_eq!(rate_of(&rules, &call, AllowedBy::Grant), Some(1));
        assert_eq!(rate_of(&rules, &call, AllowedBy::Rule), Some(5));
    }

    #[test]
    fn of_a_call_that_may_be_meant_the_higher_rate_counts() {
        let call = Call::new("a", "s", "shell_exec", json!({"command": "ls && make all"}));
        let when = AskConditions { command: vec!["make *".to_owned()], ..Default::default() };
        let make = ReviewRule { when, ..rule(&[], 3) };
        assert_eq!(rate_of(&[make.clone(), rule(&[], 7)], &call, AllowedBy::Rule), Some(3));
        assert_eq!(rate_of(&[make, rule(&[], 2)], &call, AllowedBy::Rule), Some(2));
    }

    proptest! {
        #[test]
        fn one_in_one_is_every_call_and_a_higher_rate_shows_all_of_a_lower(
            random: u32, few in 1u32.., more in 1u32..
        ) {
            prop_assert!(is_sampled(one_in(1), random));
            let (few, more) = (few.max(more), few.min(more));
            prop_assert!(!is_sampled(one_in(few), random) || is_sampled(one_in(more), random));
        }
    }

    #[test]
    fn one_in_n_is_that_part_of_all_numbers() {
        for n in [2, 3, 10, 1_000] {
            let last = u32::MAX / n;
            assert!(is_sampled(one_in(n), 0) && is_sampled(one_in(n), last), "{n}");
            assert!(!is_sampled(one_in(n), last + 1) && !is_sampled(one_in(n), u32::MAX), "{n}");
        }
    }
}
