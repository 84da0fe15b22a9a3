//! Which rules could have saved asks of one kind, the narrowest first. Pure.

use super::super::saving::is_within;
use super::closed::ClosedAsk;
use countersign_policy::{Rule, tools::canonical};

const SHELL: &str = "shell_exec";

/// What could have saved these asks, of which each offered these rules as Always: one rule, or
/// several together.
// SECURITY: nothing is wider than what Always offered for every one of them.
pub(super) fn candidates(offered: &[Rule], asks: &[&ClosedAsk]) -> Vec<Vec<Rule>> {
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
        let (one, two) =
            (ask(["cargo build -q", "docker build a"]), ask(["cargo build -q", "docker build b"]));
        assert_eq!(candidates(&offered, &[&one, &two]), [offered.to_vec()]);
        assert_eq!(candidates(&offered, &[&one, &one]), [one.exact.clone(), offered.to_vec()]);
    }
}
