//! Rules of the config about asks: whose answers they need, and which calls that ran are reviewed.
//! The first that fits decides. Pure: the random number is given.
//!
//! A rule with commands or paths fits a call if any of its commands may be meant, and ends the
//! search only if it is certain that all are: `cargo test && git push` meets the rules of both.
//! [`Matcher`] says what fits.

use crate::approvers::People;
use countersign_domain::{
    call::Call,
    requirement::{Exclusion, Requirement, VoteCount},
};
use countersign_policy::{Matcher, RuleFit, matcher::name};
use std::num::NonZeroU32;

/// One rule.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnswerRule {
    /// For people to read.
    pub name: String,
    /// What it fits.
    pub when: AskConditions,
    /// Only members of this group count.
    pub group: Option<String>,
    /// How many have to approve.
    pub approvals: u32,
    /// How many denials deny.
    pub deny: u32,
    /// Whose votes are one.
    pub count: VoteCount,
    /// Who may not answer though they could.
    pub exclude: Option<Excluded>,
    /// Whether a call has to say why it is made before anybody is asked.
    pub needs_reason: bool,
}

/// Who a rule keeps from answering.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Excluded {
    /// The person whose agent asks.
    Requester,
}

/// What a rule fits; an empty list fits everything. Each is a list of patterns, of which one has to
/// fit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AskConditions {
    /// Names of agents.
    pub agent: Vec<String>,
    /// Names of sessions.
    pub session: Vec<String>,
    /// Names of machines.
    pub host: Vec<String>,
    /// Working directories.
    pub folder: Vec<String>,
    /// Names of tools.
    pub tool: Vec<String>,
    /// Commands, as in rules files.
    pub command: Vec<String>,
    /// Paths, as in rules files.
    pub path: Vec<String>,
    /// Names of effects.
    pub effect: Vec<String>,
    /// Whether the call is critical.
    pub critical: Option<bool>,
}

/// A call as rules see it.
#[derive(Debug, Clone, Copy)]
pub struct SeenCall<'c> {
    /// As submitted.
    pub call: &'c Call,
    /// Its facts, as conditions are matched with them.
    pub facts: &'c Matcher<'c>,
    /// Whether it is critical.
    pub critical: bool,
}

/// The names of effects, as conditions have them.
pub const EFFECTS: [&str; 12] = [
    "runs",
    "reads",
    "writes",
    "deletes",
    "moves",
    "rights",
    "reaches",
    "publishes",
    "changes",
    "privilege",
    "background",
    "unknown",
];

/// What these rules require for a call, each with its place among them; nothing where none fits.
// FAIL-CLOSED: where it is not certain which rule is meant, all that may be have to be met.
#[must_use]
pub fn requirements(rules: &[AnswerRule], people: &People, seen: SeenCall<'_>) -> Vec<Requirement> {
    let fitting = fitting(rules, |rule| rule.when.fit(seen));
    let wanted = fitting.rules.into_iter().filter(|rule| rule.wants_answers());
    wanted.map(|rule| rule.requirement(people, seen.call)).collect()
}

/// The rule by which a call has to say why it is made, where it says nothing.
// FAIL-CLOSED: a rule that may be meant counts.
#[must_use]
pub fn unexplained<'r>(rules: &'r [AnswerRule], seen: SeenCall<'_>) -> Option<&'r str> {
    let said = [&seen.call.reason, &seen.call.description];
    let is_said = said.iter().any(|text| text.as_ref().is_some_and(|it| !it.trim().is_empty()));
    if is_said {
        return None;
    }
    let fitting = fitting(rules, |rule| rule.when.fit(seen)).rules;
    fitting.into_iter().find(|rule| rule.needs_reason).map(|rule| &*rule.name)
}

/// The rules that may be meant, up to the first that certainly is.
#[derive(Debug)]
pub(crate) struct Fitting<'r, R> {
    pub(crate) rules: Vec<&'r R>,
    /// Whether the last of them certainly is; else it may be that none is.
    pub(crate) is_certain: bool,
}

pub(crate) fn fitting<R>(rules: &[R], fit: impl Fn(&R) -> RuleFit) -> Fitting<'_, R> {
    let mut fitting = Fitting { rules: Vec::new(), is_certain: false };
    for rule in rules {
        match fit(rule) {
            RuleFit::No => {}
            RuleFit::Maybe => fitting.rules.push(rule),
            RuleFit::Yes => {
                fitting.rules.push(rule);
                fitting.is_certain = true;
                break;
            }
        }
    }
    fitting
}

impl AnswerRule {
    /// Whether it says who answers, and not only that a call says why it is made.
    fn wants_answers(&self) -> bool {
        let more = self.approvals > 1 || self.deny > 1;
        !self.needs_reason || more || self.group.is_some() || self.exclude.is_some()
    }

    fn requirement(&self, people: &People, call: &Call) -> Requirement {
        // A question is answered, and one answer is enough for that.
        let is_question = !call.questions.is_empty();
        let at_most = if is_question { 1 } else { u32::MAX };
        let exclude = match self.exclude {
            None => Exclusion::Nobody,
            Some(Excluded::Requester) => {
                let person =
                    people.requester(call, call.owner.as_ref()).map(|person| person.name.clone());
                Exclusion::Requester { person }
            }
        };
        Requirement {
            rule: self.name.clone(),
            group: self.group.clone(),
            also: Vec::new(),
            approvals: self.approvals.clamp(1, at_most),
            deny: self.deny.clamp(1, at_most),
            count: self.count,
            exclude,
        }
    }
}

impl AskConditions {
    pub(crate) fn fit(&self, seen: SeenCall<'_>) -> RuleFit {
        let SeenCall { call, facts, critical } = seen;
        let critical = self.critical.is_none_or(|wanted| critical == wanted);
        let all = [
            RuleFit::from(critical),
            name(&self.agent, Some(&call.agent)),
            name(&self.session, Some(&call.session)),
            name(&self.host, call.host.as_deref()),
            facts.tool(&self.tool),
            facts.folder(&self.folder),
            facts.effect(&self.effect),
            facts.command(&self.command),
            facts.path(&self.path),
        ];
        all.into_iter().min().unwrap_or(RuleFit::No)
    }
}

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
pub struct ReviewRate {
    pub one_in: NonZeroU32,
    pub timeout_ms: i64,
}

/// How often such calls are shown; `None`: never.
///
/// Where it is not certain which rule is meant, the one that shows most of them counts.
pub fn rate(rules: &[ReviewRule], seen: SeenCall<'_>, by: AllowedBy) -> Option<ReviewRate> {
    let of = |rule: &&ReviewRule| rule.allowed_by.is_none_or(|it| it == by);
    let rules: Vec<&ReviewRule> = rules.iter().filter(of).collect();
    let fitting = fitting(&rules, |rule| rule.when.fit(seen));
    let rate = |rule: &&&ReviewRule| {
        Some(ReviewRate { one_in: rule.one_in?, timeout_ms: rule.timeout_ms })
    };
    fitting.rules.iter().filter_map(rate).min_by_key(|rate| rate.one_in)
}

/// The rate of the calls that are shown most often, which every shown call passes.
pub fn most_often(rules: &[ReviewRule]) -> Option<NonZeroU32> {
    rules.iter().filter_map(|rule| rule.one_in).min()
}

/// Whether a call is shown, of which one in so many is.
// INVARIANT: with the same number, what is shown at one rate is shown at every higher one.
pub fn is_sampled(one_in: NonZeroU32, random: u32) -> bool {
    u64::from(random) * u64::from(one_in.get()) <= u64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]
    use super::*;
    use crate::approvers::tests::named;
    use countersign_policy as policy;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn rule(name: &str, when: AskConditions) -> AnswerRule {
        AnswerRule { name: name.to_owned(), when, approvals: 1, deny: 1, ..AnswerRule::default() }
    }

    fn list(patterns: &[&str]) -> Vec<String> {
        patterns.iter().map(|&pattern| pattern.to_owned()).collect()
    }

    fn commands(patterns: &[&str]) -> AskConditions {
        AskConditions { command: list(patterns), ..AskConditions::default() }
    }

    /// The names of the rules that a call of this tool has to meet.
    fn met(rules: &[AnswerRule], tool: &str, args: Value) -> Vec<String> {
        let mut call = Call::new("claude-code", "one", tool, args);
        call.cwd = Some("/home/ana/shop".to_owned());
        call.host = Some("mill".to_owned());
        let facts = call.for_policy(Some("/home/ana"));
        let decided = policy::decision::facts(&facts);
        let facts = &Matcher::new(&facts, &decided.effects);
        let critical = decided.critical;
        let seen = SeenCall { call: &call, facts, critical };
        requirements(rules, &People::default(), seen).into_iter().map(|it| it.rule).collect()
    }

    fn of_command(rules: &[AnswerRule], command: &str) -> Vec<String> {
        met(rules, "Bash", json!({"command": command}))
    }

    #[test]
    fn the_first_rule_that_is_certain_ends_the_search_and_what_may_be_meant_counts_too() {
        let rules = [
            rule("dry", commands(&["git push --dry-run *"])),
            rule("push", commands(&["git push *"])),
            rule("cargo", commands(&["cargo *"])),
            rule("rest", AskConditions::default()),
        ];
        for (command, wanted) in [
            ("git push --dry-run origin", &["dry"][..]),
            ("git push origin main", &["push"]),
            ("sudo git push origin main", &["push", "rest"]),
            ("bash -c 'git push origin main'", &["push"]),
            ("/usr/bin/git push origin main", &["push", "rest"]),
            ("cargo test && git push origin main", &["push", "cargo", "rest"]),
            ("$PROGRAM push", &["dry", "push", "cargo", "rest"]),
            ("eval \"$(cat x)\"", &["dry", "push", "cargo", "rest"]),
            ("ls", &["rest"]),
        ] {
            assert_eq!(of_command(&rules, command), wanted, "{command}");
        }
    }

    #[test]
    fn a_rule_can_want_a_reason_of_whatever_may_be_meant_and_nobody_in_particular() {
        let why = AnswerRule { needs_reason: true, ..rule("why", commands(&["git push *"])) };
        let rules = [why, rule("rest", AskConditions::default())];
        let wants = |command: &str, reason: Option<&str>, description: Option<&str>| {
            let call = Call::new("a", "s", "Bash", json!({"command": command}));
            let said = |text: Option<&str>| text.map(str::to_owned);
            let call = Call { reason: said(reason), description: said(description), ..call };
            let facts = call.for_policy(None);
            let facts = &Matcher::new(&facts, &[]);
            let seen = SeenCall { call: &call, facts, critical: false };
            unexplained(&rules, seen).map(str::to_owned)
        };
        for (command, wanted) in [
            ("git push origin main", Some("why")),
            ("ls && git push origin main", Some("why")),
            ("eval \"$(cat x)\"", Some("why")),
            ("ls", None),
        ] {
            assert_eq!(wants(command, None, None).as_deref(), wanted, "{command}");
            assert_eq!(wants(command, Some(" "), None).as_deref(), wanted, "{command}");
            assert_eq!(wants(command, Some("Release 7"), None), None);
            assert_eq!(wants(command, None, Some("Push the release")), None);
        }
        assert_eq!(of_command(&rules, "git push origin main"), [""; 0], "anybody answers");
    }

    #[test]
    fn each_condition_has_to_fit_and_what_a_caller_leaves_out_may_be_anything() {
        let of = |when: AskConditions| of_command(&[rule("r", when)], "git push origin main").len();
        let [fits, no] = [list(&["*"]), list(&["other*"])];
        let when = AskConditions::default;
        assert_eq!(of(AskConditions { agent: list(&["claude-*"]), ..when() }), 1);
        assert_eq!(of(AskConditions { agent: no.clone(), ..when() }), 0);
        assert_eq!(of(AskConditions { session: fits.clone(), host: no.clone(), ..when() }), 0);
        assert_eq!(of(AskConditions { host: list(&["mill", "x"]), ..when() }), 1);
        assert_eq!(of(AskConditions { folder: list(&["/home/ana/**"]), ..when() }), 1);
        assert_eq!(of(AskConditions { folder: list(&["/srv/**"]), ..when() }), 0);
        for tool in ["Bash", "shell_exec"] {
            assert_eq!(of(AskConditions { tool: list(&[tool]), ..when() }), 1, "{tool}");
        }
        assert_eq!(of(AskConditions { tool: list(&["Write"]), ..when() }), 0);
        assert_eq!(of(AskConditions { effect: list(&["publishes"]), ..when() }), 1);
        assert_eq!(of(AskConditions { effect: list(&["deletes"]), ..when() }), 0);
        assert_eq!(of(AskConditions { critical: Some(true), ..when() }), 0);
        assert_eq!(of(AskConditions { critical: Some(false), ..when() }), 1);
        let critical = [rule("r", AskConditions { critical: Some(true), ..when() })];
        assert_eq!(of_command(&critical, "git push --force origin main"), ["r"]);
        let hosts = [rule("r", AskConditions { host: no, ..when() })];
        let call = Call::new("a", "s", "Bash", json!({"command": "ls"}));
        let facts = call.for_policy(None);
        let seen = SeenCall { call: &call, facts: &Matcher::new(&facts, &[]), critical: false };
        assert_eq!(requirements(&hosts, &People::default(), seen).len(), 1);
    }

    #[test]
    fn a_rule_that_may_fit_adds_its_demands_to_those_of_the_next() {
        let folder =
            AskConditions { folder: list(&["/home/ana/shop"]), ..AskConditions::default() };
        let rules = [
            rule("dry", commands(&["git push --dry-run *"])),
            rule("push", commands(&["git push *"])),
            rule("shop", folder),
            rule("rest", AskConditions::default()),
        ];
        for (command, wanted) in [
            ("git push --dry-run origin", &["dry"][..]),
            ("env -S 'git push --dry-run origin'", &["dry", "push", "shop"]),
            ("printf 'git push' | sh", &["dry", "push", "shop", "rest"]),
            ("git -c alias.p=push p", &["dry", "push", "shop", "rest"]),
            ("make all", &["shop"]),
            ("cd sub && make all", &["shop", "rest"]),
        ] {
            assert_eq!(of_command(&rules, command), wanted, "{command}");
        }
    }

    #[test]
    fn a_path_is_met_by_tools_that_name_it_and_by_shells_that_write_to_it() {
        let path = AskConditions { path: list(&["/srv/prod/**"]), ..AskConditions::default() };
        let rules = [rule("prod", path)];
        let write = |path: &str| met(&rules, "Write", json!({"file_path": path, "content": "x"}));
        assert_eq!(write("/srv/prod/a.conf"), ["prod"]);
        assert_eq!(write("/srv/prod/../prod/a.conf"), ["prod"]);
        assert_eq!(write("/srv/test/a.conf"), [""; 0]);
        assert_eq!(of_command(&rules, "echo x > /srv/prod/a.conf"), ["prod"]);
        assert_eq!(of_command(&rules, "echo x > /srv/test/a.conf"), [""; 0]);
    }

    #[test]
    fn the_requester_is_the_person_of_the_calls_machine_and_a_question_needs_one_answer() {
        let mut ana = named("Ana", &[("telegram", "1")], &["ops"]);
        ana.hosts = ["mill".to_owned()].into();
        let people = People { named: vec![ana], ..People::default() };
        let two = AnswerRule {
            approvals: 2,
            deny: 2,
            exclude: Some(Excluded::Requester),
            ..rule("two", AskConditions::default())
        };
        let of = |host: &str, questions: Value| {
            let call = json!({"agent": "a", "session": "s", "tool": "AskUserQuestion", "args": {},
            "host": host, "questions": questions});
            let call: Call = serde_json::from_value(call).unwrap();
            let facts = call.for_policy(None);
            let seen = SeenCall { call: &call, facts: &Matcher::new(&facts, &[]), critical: false };
            requirements(std::slice::from_ref(&two), &people, seen).remove(0)
        };
        let excluded =
            |person: Option<&str>| Exclusion::Requester { person: person.map(str::to_owned) };
        let known = of("mill", json!([]));
        assert_eq!((known.approvals, &known.exclude), (2, &excluded(Some("Ana"))));
        assert_eq!(of("lathe", json!([])).exclude, excluded(None));
        let question = of("mill", json!([{"question": "Which?", "options": []}]));
        assert_eq!((question.approvals, question.deny), (1, 1));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]
        #[test]
        fn no_spelling_of_a_command_needs_fewer_answers(
            command in prop::sample::select(vec![
                "git push origin main", "git push --dry-run origin", "make deploy", "make all",
                "rm -r /srv/prod/x", "cp a /srv/prod/b", "ls -l", "terraform apply",
            ]),
            wraps in prop::collection::vec(0..WRAPS.len(), 1..4),
        ) {
            let path = AskConditions { path: list(&["/srv/prod/**"]), ..AskConditions::default() };
            let rules = [
                rule("dry", commands(&["git push --dry-run *"])),
                rule("push", commands(&["git push *"])),
                rule("deploy", commands(&["make deploy*", "terraform *"])),
                rule("prod", path),
                rule("rest", AskConditions::default()),
            ];
            let wrapped = wraps.iter().fold(command.to_owned(), |text, at| WRAPS[*at](&text));
            let plain = of_command(&rules, command);
            let needed = of_command(&rules, &wrapped);
            for rule in &plain {
                prop_assert!(needed.contains(rule), "{wrapped}: {needed:?} lacks {rule}");
            }
        }
    }

    fn quoted(text: &str) -> String {
        format!("'{}'", text.replace('\'', r"'\''"))
    }

    /// Ways to run a text that change nothing of what it does.
    const WRAPS: &[fn(&str) -> String] = &[
        |text| format!("sh -c {}", quoted(text)),
        |text| format!("bash -lc {}", quoted(text)),
        |text| format!("eval {}", quoted(text)),
        |text| format!("printf %s {} | sh", quoted(text)),
        |text| format!("env -S {}", quoted(&format!("sh -c {}", quoted(text)))),
        |text| format!("bash <<< {}", quoted(text)),
        |text| format!("bash <<'EOF'\n{text}\nEOF"),
        |text| format!("ssh localhost {}", quoted(text)),
        |text| format!("timeout 5 sh -c {}", quoted(text)),
        |text| format!("sudo bash -c {}", quoted(text)),
        |text| format!("env X=1 sh -c {}", quoted(text)),
        |text| format!("echo x | xargs -I_ sh -c {}", quoted(text)),
        |text| format!("find . -maxdepth 0 -exec sh -c {} \\;", quoted(text)),
        |text| format!("bash -c \"$(echo {})\"", quoted(text)),
        |text| format!("python3 -c {}", quoted(&format!("import os; os.system({text:?})"))),
        |text| format!("f() {{ {text}\n}}; f"),
        |text| format!("({text}\n)"),
        |text| format!("if true; then {text}\nfi"),
        |text| format!("cd . && {{ {text}\n}}"),
        |text| format!("true\n{text}"),
        |text| format!("x=$({text}\n)"),
    ];

    fn one_in(n: u32) -> NonZeroU32 {
        NonZeroU32::new(n).unwrap()
    }

    fn review(agent: &[&str], n: u32) -> ReviewRule {
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
        let quiet = review(&["quiet"], 0);
        let bot = review(&["bot"], 2);
        let rest = review(&[], 9);
        let rules = [quiet, bot, rest];
        let of = |agent| rate_of(&rules, &call(agent), AllowedBy::Rule);
        assert_eq!(["quiet", "bot", "x"].map(of), [None, Some(2), Some(9)]);
        assert_eq!(rate_of(&[], &call("bot"), AllowedBy::Rule), None);
        assert_eq!(most_often(&rules), Some(one_in(2)));
        assert_eq!(most_often(&[review(&[], 0)]), None);
    }

    #[test]
    fn a_rule_for_grants_passes_over_what_rules_allowed() {
        let call = Call::new("a", "s", "shell_exec", json!({"command": "ls"}));
        let granted = ReviewRule { allowed_by: Some(AllowedBy::Grant), ..review(&[], 1) };
        let rules = [granted, review(&[], 5)];
        assert_eq!(rate_of(&rules, &call, AllowedBy::Grant), Some(1));
        assert_eq!(rate_of(&rules, &call, AllowedBy::Rule), Some(5));
    }

    #[test]
    fn of_a_call_that_may_be_meant_the_higher_rate_counts() {
        let call = Call::new("a", "s", "shell_exec", json!({"command": "ls && make all"}));
        let when = AskConditions { command: vec!["make *".to_owned()], ..Default::default() };
        let make = ReviewRule { when, ..review(&[], 3) };
        assert_eq!(rate_of(&[make.clone(), review(&[], 7)], &call, AllowedBy::Rule), Some(3));
        assert_eq!(rate_of(&[make, review(&[], 2)], &call, AllowedBy::Rule), Some(2));
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
    #[test]
    fn a_rule_that_wants_a_reason_and_something_else_says_who_answers_too() {
        let reason = || AnswerRule { needs_reason: true, ..rule("why", AskConditions::default()) };
        let asks = |rule: AnswerRule| of_command(&[rule], "ls");
        assert_eq!(asks(reason()), Vec::<String>::new());
        for more in [
            AnswerRule { approvals: 2, ..reason() },
            AnswerRule { deny: 2, ..reason() },
            AnswerRule { group: Some("ops".to_owned()), ..reason() },
            AnswerRule { exclude: Some(Excluded::Requester), ..reason() },
        ] {
            assert_eq!(asks(more.clone()), ["why"], "{more:?}");
        }
    }
}
