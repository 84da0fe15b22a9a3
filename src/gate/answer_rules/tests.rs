#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]
use super::{super::people::tests::named, *};
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
    let (facts, critical) = (&Matcher::new(&facts, &decided.effects), decided.critical);
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
    assert_eq!(of(AskConditions { critical: Some(Criticality::Critical), ..when() }), 0);
    assert_eq!(of(AskConditions { critical: Some(Criticality::Ordinary), ..when() }), 1);
    let critical = [rule("r", AskConditions { critical: Some(Criticality::Critical), ..when() })];
    assert_eq!(of_command(&critical, "git push --force origin main"), ["r"]);
    let hosts = [rule("r", AskConditions { host: no, ..when() })];
    let call = Call::new("a", "s", "Bash", json!({"command": "ls"}));
    let facts = call.for_policy(None);
    let seen = SeenCall { call: &call, facts: &Matcher::new(&facts, &[]), critical: false };
    assert_eq!(requirements(&hosts, &People::default(), seen).len(), 1);
}

#[test]
fn a_rule_that_may_fit_adds_its_demands_to_those_of_the_next() {
    let folder = AskConditions { folder: list(&["/home/ana/shop"]), ..AskConditions::default() };
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
        let (plain, needed) = (of_command(&rules, command), of_command(&rules, &wrapped));
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
