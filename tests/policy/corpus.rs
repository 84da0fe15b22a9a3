//! The corpora and the thresholds that hold for them. `cargo test --test corpus -- --nocapture`
//! prints the table.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

use countersign_policy::{Call, Decision, Guardrail, Layers, Mode, Rule, Rules, Verdict, decide};
use countersign_policy_tools::score::{ScoreTable, defaults, score};
use serde_json::Value;

fn read(names: &[&str]) -> Vec<(String, String)> {
    let folder = format!("{}/../../tests/corpus", env!("CARGO_MANIFEST_DIR"));
    let file = |name: &&str| {
        let text = std::fs::read_to_string(format!("{folder}/{name}.jsonl")).unwrap();
        ((*name).to_owned(), text)
    };
    names.iter().map(file).collect()
}

fn corpora() -> ScoreTable {
    score(&read(&["bypass", "benign", "critical", "always", "defaults"])).unwrap()
}

#[test]
fn the_corpora_come_out_as_they_must() {
    let table = corpora();
    println!("{table}");
    let least = [
        ("bypass tier 1", 1.0),
        ("bypass tier 2", 1.0),
        ("bypass tier 3", 0.99),
        ("critical tier 1", 0.98),
        ("critical look-alikes", 0.99),
        ("benign", 0.98),
        ("always", 1.0),
    ];
    for (name, least) in least {
        let row = table.row(name).unwrap_or_else(|| panic!("no line {name}"));
        assert!(row.share() >= least, "{name}: {} of {}\n{:#?}", row.right, row.cases, row.wrong);
    }
}

#[test]
fn the_built_in_rules_alone_are_silent_about_reading_and_ask_about_everything_else() {
    let table = defaults(&read(&["bypass", "benign", "critical", "defaults"])).unwrap();
    println!("{table}");
    for (name, least) in [
        ("reading commands, silent", 0.98),
        ("changing commands, asked", 1.0),
        ("reading unseen, asked", 1.0),
    ] {
        let row = table.row(name).unwrap_or_else(|| panic!("no line {name}"));
        assert!(row.cases > 40, "{row:?}");
        assert!(row.share() >= least, "{name}: {} of {}\n{:#?}", row.right, row.cases, row.wrong);
    }
}

/// What a card would offer for a command for which there is no rule.
fn asked(command: &str) -> Decision {
    let rules = Rules::from_rules(&[Rule {
        tool: "shell_exec".to_owned(),
        pattern: "*".to_owned(),
        verdict: Verdict::Ask,
    }]);
    let (grants, guardrail) = (Rules::default(), Guardrail::default());
    let layers =
        Layers { agent: None, rules: &rules, grants: &grants, guardrail: &guardrail, now_ms: 0 };
    let mut call = Call::shell(command);
    call.cwd = Some("/home/u/work".to_owned());
    call.home = Some("/home/u".to_owned());
    decide(&call, &layers, Mode::Default)
}

/// Beginnings of commands that delete, overwrite, publish, pay, gain rights or run what they are
/// given.
const NEVER_WIDE: &[&str] = &[
    "rm",
    "rmdir",
    "mv",
    "cp",
    "ln",
    "dd",
    "tee",
    "truncate",
    "shred",
    "install",
    "rsync",
    "scp",
    "chmod",
    "chown",
    "sed",
    "tar",
    "unzip",
    "curl",
    "wget",
    "ssh",
    "sudo",
    "su",
    "doas",
    "env",
    "bash",
    "sh",
    "zsh",
    "eval",
    "python",
    "python3",
    "node",
    "perl",
    "ruby",
    "xargs",
    "parallel",
    "psql",
    "mysql",
    "sqlite3",
    "make",
    "just",
    "npx",
    "git push",
    "git checkout",
    "git restore",
    "git reset",
    "git clean",
    "git rm",
    "git branch",
    "git tag",
    "git stash",
    "npm publish",
    "cargo publish",
    "cargo install",
    "docker exec",
    "docker run",
    "docker rm",
    "docker push",
    "kubectl delete",
    "kubectl apply",
    "kubectl exec",
    "terraform apply",
    "gh pr create",
    "gh release create",
    "twine upload",
];

#[test]
fn everyday_commands_keep_their_wildcard_and_none_covers_what_cannot_be_taken_back() {
    let (mut wide, mut narrow, mut none, mut seen) = (0, 0, 0, 0);
    for (name, text) in read(&["bypass", "benign", "critical", "always", "defaults"]) {
        for line in text.lines().filter(|line| !line.is_empty()) {
            let case: Value = serde_json::from_str(line).unwrap();
            let Some(command) = case["command"].as_str() else { continue };
            let ruling = asked(command);
            if case["critical"] == true {
                assert!(ruling.always.is_empty() && ruling.exact.is_empty(), "{command}");
            }
            for rule in &ruling.always {
                let Some(head) = rule.pattern.strip_suffix(" *") else { continue };
                assert!(!NEVER_WIDE.contains(&head), "{command} offers {rule}");
            }
            if name != "benign" || ruling.verdict != Verdict::Ask {
                continue;
            }
            seen += 1;
            let is_wide = ruling.always.iter().any(|rule| rule.pattern.ends_with(" *"));
            match (is_wide, ruling.always.is_empty() && ruling.exact.is_empty()) {
                (true, _) => wide += 1,
                (false, true) => none += 1,
                (false, false) => narrow += 1,
            }
        }
    }
    println!(
        "{seen} everyday commands: {wide} offer a wildcard, {narrow} only exact rules, {none} none"
    );
    assert!(wide * 100 >= seen * 30, "{wide} of {seen}");
}

#[test]
fn always_names_every_word_of_what_it_should_not_cover_by_a_wildcard() {
    let patterns = |command: &str| -> Vec<String> {
        asked(command).always.into_iter().map(|rule| rule.pattern).collect()
    };
    for (command, offers) in [
        ("rm -rf build", &["rm -rf build"][..]),
        ("git push origin main", &["git push origin main"]),
        ("git push -u origin feature", &["git push -u origin feature"]),
        ("timeout 5 rm -rf build", &["rm -rf build"]),
        ("cp a b", &["cp a b"]),
        ("cargo publish", &["cargo publish"]),
        ("cargo install ripgrep", &["cargo install ripgrep"]),
        ("gh pr create --fill", &["gh pr create --fill"]),
        ("gh pr view 12", &["gh pr view *"]),
        ("git checkout main", &["git checkout main"]),
        ("mkdir -p a/b", &["mkdir *"]),
        ("cargo build --release", &["cargo build *"]),
        ("make test lint", &["make test lint"]),
        ("heroku apps:destroy -a x", &[]),
        ("xargs grep x", &[]),
        ("bash -c 'cargo build x'", &[]),
        ("docker exec app ls", &[]),
        ("ssh host ls", &[]),
        ("python3 -c 'print(1)'", &[]),
    ] {
        assert_eq!(patterns(command), offers, "{command}");
    }
}

#[test]
fn each_rule_of_always_names_the_command_that_it_comes_from() {
    let ruling = asked("cd x && cargo test --lib && git add -A");
    let rules: Vec<String> = ruling.always.iter().map(ToString::to_string).collect();
    assert_eq!(rules, ["shell: cargo test *", "shell: git add *"]);
    assert_eq!(ruling.always_from, ["cargo test --lib", "git add -A"]);
    let exact: Vec<String> = ruling.exact.iter().map(ToString::to_string).collect();
    assert_eq!(exact, ["shell: cd x && cargo test --lib && git add -A"]);
    let ruling = asked("cargo test --lib > log.txt");
    let rules: Vec<String> = ruling.always.iter().map(ToString::to_string).collect();
    assert_eq!(rules, ["shell: cargo test *", "write_file: log.txt"]);
    assert_eq!(ruling.always_from, ["cargo test --lib", "> log.txt"]);
}
