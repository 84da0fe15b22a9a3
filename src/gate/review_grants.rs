//! What people said in reviews: the rules that make calls ask, and which rule a review would store.
//! Pure.

use super::decided::HasVerdict;
use countersign_policy::{
    self as policy, Decision, Matcher, Rule, RuleFit, Verdict, tool_name::may_be_granted,
};
use countersign_store::Grant;

/// Characters with a meaning in a pattern.
const GLOB: [char; 6] = ['*', '?', '[', '{', '\\', '!'];
/// How classes of calls begin, such as the one that only reads.
const CLASS: char = '@';

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
pub(super) fn rule_for(decided: &Decision, facts: &policy::Call) -> Option<Rule> {
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
    use countersign_store::GrantScope;
    use proptest::prelude::*;
    use serde_json::json;

    fn decided(call: &Call, rules: &str) -> (Decision, policy::Call) {
        let rules = Rules::parse(rules, "rules", None).unwrap();
        let (none, guardrail) = (Rules::default(), Guardrail::default());
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
            by: By::Person { platform: "inbox".into(), id: "1".into(), name: "Ana".into() },
            created_at: 0,
            expires_at: None,
            digest: None,
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
