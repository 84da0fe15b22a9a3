//! What the card of a call offers to remember, and what an answer to it remembered.

use super::{Answer, Body, Scope};
use crate::PromptChoice;
use countersign_policy::{
    Rule,
    tools::{Kind, kind_of},
};

/// A rule that Always offers, and the part of the call that needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OfferedPart<'a> {
    /// What would be stored.
    pub rule: &'a Rule,
    /// The part of the call, such as one command of several; empty where there is but one.
    pub from: &'a str,
}

impl Body {
    /// Whether its card offers to approve with this scope.
    #[must_use]
    pub fn offers(&self, scope: Scope) -> bool {
        // A rule on plans would approve every later one, whatever it plans.
        if self.call.is_plan() && scope != Scope::Once {
            return false;
        }
        let choice = match scope {
            Scope::Once => return true,
            Scope::Session => PromptChoice::Session,
            Scope::Always => PromptChoice::Always,
            Scope::Exact => PromptChoice::Exact,
            Scope::Prefix => PromptChoice::Prefix,
            Scope::Timed(_) => PromptChoice::Timed,
        };
        self.choices.contains(&choice) && !self.remembers(scope).is_empty()
    }

    /// What an approval of this scope stores, in words.
    #[must_use]
    pub fn stores(&self, scope: Scope) -> Vec<String> {
        in_words(scope, self.remembers(scope))
    }

    /// What this answer stored, in words.
    #[must_use]
    pub fn stored(&self, answer: &Answer) -> Vec<String> {
        let Some(scope) = answer.scope else { return Vec::new() };
        in_words(scope, self.stored_rules(answer))
    }

    /// The rules that this answer stored: those that its scope remembers, without the parts that
    /// were left out.
    // FAIL-CLOSED: a part that does not exist stands for nothing.
    #[must_use]
    pub fn stored_rules(&self, answer: &Answer) -> Vec<&Rule> {
        let rules = self.remembers(answer.scope.unwrap_or(Scope::Once));
        match &answer.stored.parts {
            None => rules.iter().collect(),
            Some(parts) => parts.iter().filter_map(|at| rules.get(*at)).collect(),
        }
    }

    /// The rules that an approval of this scope remembers; none for once.
    ///
    /// What is remembered for a time is this very call. Only a call for which no such rule exists
    /// (one of a tool whose arguments mean nothing to rules) is remembered as Always remembers it;
    /// the button names the pattern then ([`Body::pattern`]). A session remembers what Always does.
    #[must_use]
    pub fn remembers(&self, scope: Scope) -> &[Rule] {
        match scope {
            Scope::Once => &[],
            Scope::Exact => &self.exact,
            Scope::Prefix => &self.prefix,
            Scope::Always => &self.always,
            Scope::Session if self.always.is_empty() => &self.exact,
            Scope::Session => &self.always,
            Scope::Timed(_) if self.exact.is_empty() => &self.always,
            Scope::Timed(_) => &self.exact,
        }
    }

    /// Whether an approval of this scope covers more than this very call, so that its button has to
    /// say what.
    // INVARIANT: a rule names one thing of a call: a file and no text, an address and not what is to
    // become of it. Only a command is all that its call does.
    #[must_use]
    pub fn widens(&self, scope: Scope) -> bool {
        let rules = self.remembers(scope);
        !rules.is_empty() && (rules != self.exact || kind_of(&self.call.tool) != Kind::Shell)
    }

    /// What a button of this scope names: its rule, as short as it can be told (`cargo build *`,
    /// `mcp__github__list_issues`), or how many they are. `None` where nothing is stored.
    #[must_use]
    pub fn pattern(&self, scope: Scope) -> Option<String> {
        let rules = self.remembers(scope);
        let first = rules.first()?;
        Some(match rules {
            [_] => short(first),
            _ if is_one_file(rules) => format!("any edit of {}", first.pattern),
            _ => format!("{} rules", rules.len()),
        })
    }

    /// Whether [`Body::pattern`] says all that this scope stores: one rule, or those of one file.
    #[must_use]
    pub fn is_told_by_pattern(&self, scope: Scope) -> bool {
        let rules = self.remembers(scope);
        rules.len() == 1 || is_one_file(rules)
    }

    /// The rules that Always offers, each with the part of the call that it comes from. Asks of
    /// earlier versions name no parts.
    pub fn parts(&self) -> impl Iterator<Item = OfferedPart<'_>> {
        self.always.iter().enumerate().map(|(at, rule)| OfferedPart {
            rule,
            from: self.always_from.get(at).map_or("", String::as_str),
        })
    }
}

/// Whether these are rules for the ways to change one file.
fn is_one_file(rules: &[Rule]) -> bool {
    let changes = |rule: &Rule| matches!(kind_of(&rule.tool), Kind::Write | Kind::Edit);
    let Some(first) = rules.first().filter(|it| it.pattern != "*") else { return false };
    rules.iter().all(|rule| changes(rule) && rule.pattern == first.pattern)
}

/// A rule as a button names it.
fn short(rule: &Rule) -> String {
    match (rule.tool.as_str(), rule.pattern.as_str()) {
        (tool, "*") => tool.to_owned(),
        // Each covers its own kind of tools, and no call of the other.
        (tool, pattern) if kind_of(tool) == Kind::Write => format!("any write to {pattern}"),
        (tool, pattern) if kind_of(tool) == Kind::Edit => format!("any edit of {pattern}"),
        ("shell_exec", pattern) => pattern.to_owned(),
        (tool, pattern) => format!("{tool} {pattern}"),
    }
}

fn in_words<'r>(scope: Scope, rules: impl IntoIterator<Item = &'r Rule>) -> Vec<String> {
    let words = |rule: &Rule| match scope {
        Scope::Prefix => format!("commands that begin with `{}`", rule.pattern),
        _ => rule.to_string(),
    };
    rules.into_iter().map(words).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use crate::{By, Decision, StoredRules, call::Call};
    use serde_json::json;

    const TIMED: Scope = Scope::Timed(600);

    fn body(always: &[Rule], exact: &[Rule]) -> Body {
        let call = json!({"agent": "a", "session": "s", "tool": "Bash", "args": {}});
        let call: Call = serde_json::from_value(call).unwrap();
        Body { always: always.to_vec(), exact: exact.to_vec(), ..Body::new(call, "no rule") }
    }

    fn shell(pattern: &str) -> Rule {
        Rule::allow("shell_exec", pattern)
    }

    #[test]
    fn a_time_covers_this_very_call_and_a_session_what_its_button_names() {
        let body = body(&[shell("cargo build *")], &[shell("cargo build --release")]);
        assert_eq!(body.remembers(TIMED), [shell("cargo build --release")]);
        assert!(!body.widens(TIMED) && !body.widens(Scope::Exact));
        for scope in [Scope::Session, Scope::Always] {
            assert_eq!(body.remembers(scope), [shell("cargo build *")]);
            assert!(body.widens(scope));
            assert_eq!(body.pattern(scope).as_deref(), Some("cargo build *"));
        }
        assert_eq!(body.stores(TIMED), ["shell: cargo build --release"]);
    }

    #[test]
    fn where_always_is_this_very_call_nothing_widens() {
        let exact = [shell("rm -rf build")];
        let body = body(&exact, &exact);
        for scope in [TIMED, Scope::Session, Scope::Always, Scope::Exact] {
            assert_eq!((body.remembers(scope), body.widens(scope)), (&exact[..], false));
        }
    }

    #[test]
    fn what_cannot_be_remembered_exactly_says_what_a_time_covers() {
        let body = body(&[Rule::allow("mcp__github__list_issues", "*")], &[]);
        assert!(body.offers(TIMED) && body.widens(TIMED));
        assert_eq!(body.pattern(TIMED).as_deref(), Some("mcp__github__list_issues"));
        assert!(!body.offers(Scope::Exact));
    }

    #[test]
    fn a_button_names_the_ways_to_change_a_file_that_it_covers() {
        let [write, edit] = ["write_file", "edit_file"].map(|tool| Rule::allow(tool, "src/a.rs"));
        let named = |rules: &[Rule]| body(rules, rules).pattern(Scope::Always).unwrap();
        assert_eq!(named(std::slice::from_ref(&write)), "any write to src/a.rs");
        assert_eq!(named(std::slice::from_ref(&edit)), "any edit of src/a.rs");
        assert_eq!(named(&[write, edit.clone()]), "any edit of src/a.rs");
        assert_eq!(named(&[edit, Rule::allow("edit_file", "b")]), "2 rules");
    }

    #[test]
    fn where_there_is_no_rule_for_always_a_session_covers_this_very_call() {
        let body = body(&[], &[shell("python3 -c 'print(1)'")]);
        assert!(body.offers(Scope::Session) && !body.widens(Scope::Session));
        assert!(!body.offers(Scope::Always));
        assert_eq!(body.pattern(Scope::Always), None);
    }

    #[test]
    fn an_answer_stored_the_parts_that_it_names_and_none_that_do_not_exist() {
        let mut body = body(&[shell("cargo test *"), shell("git add -A")], &[]);
        body.always_from = vec!["cargo test".into(), "git add -A".into()];
        let parts: Vec<_> = body.parts().map(|part| part.from).collect();
        assert_eq!(parts, ["cargo test", "git add -A"]);
        let answer = |parts: Option<Vec<usize>>| Answer {
            scope: Some(Scope::Always),
            stored: StoredRules { parts, ..StoredRules::default() },
            ..Answer::new(Decision::Approve, By::Timeout, 0)
        };
        assert_eq!(body.stored(&answer(None)), ["shell: cargo test *", "shell: git add -A"]);
        assert_eq!(body.stored(&answer(Some(vec![1]))), ["shell: git add -A"]);
        assert_eq!(body.stored(&answer(Some(vec![2, 9]))), Vec::<String>::new());
        assert_eq!(body.pattern(Scope::Always).as_deref(), Some("2 rules"));
    }
}
