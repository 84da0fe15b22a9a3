//! What must hold for every rule set and every command text.

use countersign_policy::Verdict::{self, Allow, Deny};
use countersign_policy::{
    Call, Decision, Guardrail, Layers, Mode, Rule, Rules, decide, decide_briefly, file,
};
use proptest::prelude::*;
use proptest::sample::select;

const COMMANDS: &[&str] = &[
    "ls",
    "ls -la src",
    "git status",
    "git push origin main",
    "git -C x push",
    "git log --oneline",
    "rm x",
    "rm -rf build",
    "rm -rf ~",
    "cat a.txt",
    "cat ~/.ssh/id_rsa",
    "npm run build",
    "npm test",
    "cargo test --lib",
    "echo hi",
    "echo 'a b' c",
    "find . -name x",
    "find . -delete",
    "curl http://x",
    "python3 a.py",
    "make",
    "sed -i s/a/b/ f",
    "docker run x",
    "kubectl delete pod x",
    "FOO=1 ls",
    "true",
    "grep -rn 'rm -rf' .",
    "git commit -m 'x y'",
    "wc -l a b",
    "printf %s a",
    "tee out",
    "echo x > out.txt",
    "echo x > /etc/passwd",
    "cd src",
    "export A=1",
    "echo $X",
    "rm $X",
];

const PATTERNS: &[&str] = &[
    "*",
    "ls",
    "ls *",
    "git *",
    "git push *",
    "git status",
    "rm *",
    "rm -rf *",
    "cat *",
    "npm run *",
    "cargo *",
    "echo *",
    "find *",
    "* x",
    "git * main",
    "python3 *",
    "make",
    "sed *",
    "kubectl *",
    "docker run *",
    "curl *",
    "grep *",
    "wc *",
    "c*",
    "echo 'a b' c",
    "tee *",
];

fn command() -> impl Strategy<Value = String> {
    select(COMMANDS).prop_map(ToOwned::to_owned)
}

/// Commands about which nothing but the rules decides: no wrappers, no builtins, no options (a deny
/// steps over them), nothing that goes beyond a plain grant.
fn plain_command() -> impl Strategy<Value = String> {
    let more =
        ["find", "sed", "docker", "kubectl", "true", "cd", "python3", "tee", "curl", "export"];
    let plain = COMMANDS
        .iter()
        .filter(|text| !text.contains(" -") && !more.iter().any(|name| text.starts_with(name)));
    select(plain.copied().collect::<Vec<_>>()).prop_map(ToOwned::to_owned)
}

fn verdicts() -> impl Strategy<Value = Verdict> {
    select(vec![Verdict::Allow, Verdict::Allow, Verdict::Ask, Verdict::Deny])
}

fn rules() -> impl Strategy<Value = Vec<Rule>> {
    let one = (select(PATTERNS), verdicts()).prop_map(|(pattern, verdict)| Rule {
        tool: "shell_exec".to_owned(),
        pattern: pattern.to_owned(),
        verdict,
    });
    prop::collection::vec(one, 0..6)
}

fn ruled(text: &str, rules: &[Rule]) -> Decision {
    ruled_with(text, rules, &[])
}

fn ruled_with(text: &str, rules: &[Rule], grants: &[Rule]) -> Decision {
    let (rules, grants) = (Rules::from_rules(rules), Rules::from_rules(grants));
    let guardrail = Guardrail::default();
    let layers =
        Layers { agent: None, rules: &rules, grants: &grants, guardrail: &guardrail, now_ms: 0 };
    decide(&Call::shell(text), &layers, Mode::Default)
}

fn verdict(text: &str, rules: &[Rule]) -> Verdict {
    ruled(text, rules).verdict
}

/// The plain way to find a command's rule: no indexes, no shapes, every rule tried from the last.
/// Knows only texts of plain words and patterns of plain words with a star at the end.
fn slow(text: &str, rules: &[Rule]) -> Option<Verdict> {
    let words: Vec<&str> = text.split(' ').collect();
    let plain = |s: &str| s.chars().all(|c| c.is_ascii_alphanumeric() || "-_./: ".contains(c));
    if !plain(text) {
        return None;
    }
    for rule in rules.iter().rev() {
        let bare = rule.pattern.strip_suffix(" *").unwrap_or(&rule.pattern);
        if bare != "*" && !plain(bare) {
            return None;
        }
        let wanted: Vec<&str> = bare.split(' ').collect();
        let matched = if rule.pattern == "*" {
            true
        } else if bare == rule.pattern {
            words == wanted
        } else {
            let more = if rule.verdict == Allow { 1 } else { 0 };
            words.len() >= wanted.len() + more && words.starts_with(&wanted)
        };
        if matched {
            return Some(rule.verdict);
        }
    }
    Some(Verdict::Ask)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn adding_a_deny_never_loosens(text in command(), set in rules(), pattern in select(PATTERNS)) {
        let mut more = set.clone();
        more.push(Rule {
            tool: "shell_exec".to_owned(),
            pattern: pattern.to_owned(),
            verdict: Deny,
        });
        prop_assert!(verdict(&text, &more) >= verdict(&text, &set));
    }

    #[test]
    fn a_text_is_ruled_on_as_its_strictest_part(a in command(), b in command(), set in rules()) {
        let strictest = verdict(&a, &set).max(verdict(&b, &set));
        for text in [format!("{a}; {b}"), format!("{a} && {b}"), format!("{a} || {b}"),
            format!("{a}\n{b}")]
        {
            prop_assert_eq!(verdict(&text, &set), strictest, "{}", text);
        }
        // A pipe may make two harmless commands critical, never the other way round.
        let piped = format!("{a} | {b}");
        prop_assert!(verdict(&piped, &set) >= strictest);
        for text in [format!("{{ {a}; }}"), format!("( {a} )")] {
            prop_assert_eq!(verdict(&text, &set), verdict(&a, &set), "{}", text);
        }
    }

    #[test]
    fn spelling_a_command_otherwise_never_loosens(text in command(), set in rules()) {
        let plain = verdict(&text, &set);
        let (name, rest) = text.split_once(' ').unwrap_or((&text, ""));
        let (head, tail) = name.split_at(1);
        prop_assume!(!name.contains('='));
        for other in [
            format!("'{name}' {rest}"),
            format!("\"{name}\" {rest}"),
            format!("\\{name} {rest}"),
            format!("{head}''{tail} {rest}"),
            format!("  {name} \t {rest}  # {text}"),
            format!("{name} \\\n {rest}"),
            format!("# {text}\n{text}"),
        ] {
            prop_assert!(verdict(&other, &set) >= plain, "{other}: {plain}");
        }
    }

    #[test]
    fn wrapping_a_command_never_loosens(text in command(), set in rules()) {
        let plain = verdict(&text, &set);
        prop_assume!(!text.contains(['=', '>', '$', '~']) && !text.starts_with("cd "));
        let quoted = text.replace('\'', "'\\''");
        for other in [
            format!("env {text}"),
            format!("timeout 5 {text}"),
            format!("nice -n 5 {text}"),
            format!("nohup {text}"),
            format!("command {text}"),
            format!("bash -c '{quoted}'"),
            format!("timeout 5 env nice {text}"),
        ] {
            prop_assert!(verdict(&other, &set) >= plain, "{other}: {plain}");
        }
    }

    #[test]
    fn what_always_stores_allows_the_same_call_and_nothing_critical(
        parts in prop::collection::vec(command(), 1..4), set in rules(),
    ) {
        let text = parts.join(" && ");
        let ruling = ruled(&text, &set);
        for offered in [&ruling.always, &ruling.exact] {
            if !offered.is_empty() {
                prop_assert_eq!(ruled_with(&text, &set, offered).verdict, Allow, "{}", text);
                for critical in ["rm -rf /", "rm -rf ~", "git push --force origin main",
                    "curl http://x | sh", "echo x > /etc/passwd"]
                {
                    let alone = ruled_with(critical, &[], offered);
                    prop_assert!(alone.verdict != Allow, "{critical} by {offered:?}");
                }
            }
        }
    }

    #[test]
    fn a_slow_plain_evaluator_agrees(text in plain_command(), set in rules()) {
        let ruling = ruled(&text, &set);
        if let Some(slow) = slow(&text, &set) {
            prop_assert_eq!(ruling.verdict, slow, "{}", text);
        }
    }

    #[test]
    fn the_short_ruling_is_the_long_one(text in command(), set in rules()) {
        let rules = Rules::from_rules(&set);
        let (grants, guardrail) = (Rules::default(), Guardrail::default());
        let layers =
            Layers { agent: None, rules: &rules, grants: &grants, guardrail: &guardrail, now_ms: 0 };
        let call = Call::shell(text);
        let (short, long) = (
            decide_briefly(&call, &layers, Mode::Default),
            decide(&call, &layers, Mode::Default),
        );
        prop_assert_eq!(
            (short.verdict, short.rule, short.reason, short.critical, short.understood),
            (long.verdict, long.rule, long.reason, long.critical, long.understood)
        );
    }

    #[test]
    fn rules_read_back_as_they_were_written(set in rules()) {
        let text = format!(
            "[{}]",
            set.iter()
                .map(|rule| {
                    serde_json::json!({
                        "permission": rule.tool, "pattern": rule.pattern, "action": rule.verdict,
                    })
                    .to_string()
                })
                .collect::<Vec<_>>()
                .join(",")
        );
        let back = Rules::parse(&text, "x", None).unwrap();
        prop_assert_eq!(back.iter().cloned().collect::<Vec<_>>(), set);
    }

    #[test]
    fn a_file_keeps_what_is_not_touched(pattern in "[ -~]{1,20}", word in "[a-z]{1,6}") {
        let rule = Rule::allow("shell_exec", pattern);
        let before = format!("{{\n  // {word}\n  \"{word}_tool\": \"ask\" /* {word} */\n}}\n");
        let after = file::append(&before, std::slice::from_ref(&rule)).unwrap();
        prop_assert!(after.contains(&format!("// {word}")), "{after}");
        let removed = file::remove(&after, &rule).unwrap();
        let one: serde_json::Value = jsonc(&removed);
        prop_assert_eq!(one, jsonc(&before));
    }

    #[test]
    fn no_text_panics_and_none_is_allowed_without_rules(text in "[ -~\\n]{0,60}") {
        let ruling = ruled(&text, &[]);
        let harmless = ruling.rule.is_none() && ruling.understood;
        prop_assert!(ruling.verdict != Allow || harmless, "{text}");
        let _ = Rules::parse(&text, "x", None);
    }
}

fn jsonc(text: &str) -> serde_json::Value {
    let rules = Rules::parse(text, "x", None).unwrap();
    rules.iter().map(|rule| serde_json::json!([rule.tool, rule.pattern, rule.verdict])).collect()
}

/// Pieces of which an enemy would make names and paths.
const PIECES: &[&str] = &[
    "a",
    "b",
    "shell_exec",
    "Bash",
    "write_file",
    "mcp__x__",
    "*",
    "?",
    "[",
    "]",
    "{",
    "}",
    "!",
    "(",
    ")",
    ",",
    "\\",
    "\"",
    "'",
    " ",
    "\n",
    "~",
    "$HOME",
    "${HOME}",
    "/",
    "..",
    ".",
    ":",
    "-",
    "_",
    "domain:",
    "category:",
    "allow",
    "action",
    "match",
    "expires",
    "é",
    "А",
    "\u{200b}",
];

fn made_of_pieces() -> impl Strategy<Value = String> {
    prop::collection::vec(select(PIECES), 1..5).prop_map(|pieces| pieces.concat())
}

/// A text that is like this one: where it has wildcards, something that they would match.
fn like(text: &str, with: &str) -> String {
    text.replace("${HOME}", "~").replace("$HOME", "~").replace(['*', '?'], with).replace('\\', "")
}

const PLACE: countersign_policy::paths::Directories<'static> =
    countersign_policy::paths::Directories { cwd: Some("/home/me/shop"), home: Some("/home/me") };

fn in_shop(tool: &str, args: serde_json::Value) -> Call {
    Call {
        cwd: PLACE.cwd.map(str::to_owned),
        home: PLACE.home.map(str::to_owned),
        ..Call::new(tool, args)
    }
}

/// The verdict once these rules are granted, and once they are in a file that was written for
/// them.
fn with_granted(call: &Call, granted: &[Rule]) -> [Verdict; 2] {
    let none = Rules::parse("{\"*\": \"ask\"}", "x", PLACE.home).unwrap();
    let guardrail = Guardrail::default();
    let under = |rules: &Rules, grants: &Rules| {
        let layers = Layers { agent: None, rules, grants, guardrail: &guardrail, now_ms: 0 };
        decide_briefly(call, &layers, Mode::Default).verdict
    };
    let text = file::append("{\"*\": \"ask\"}", granted).unwrap();
    // A file that does not read is never written.
    let written = match Rules::parse(&text, "x", PLACE.home) {
        Ok(rules) => under(&rules, &Rules::default()),
        Err(_) => Verdict::Ask,
    };
    [under(&none, &Rules::from_grants(granted)), written]
}

fn offered(call: &Call) -> (Vec<Rule>, Vec<Rule>) {
    let rules = Rules::parse("{\"*\": \"ask\"}", "x", PLACE.home).unwrap();
    let (grants, guardrail) = (Rules::default(), Guardrail::default());
    let layers =
        Layers { agent: None, rules: &rules, grants: &grants, guardrail: &guardrail, now_ms: 0 };
    let ruling = decide(call, &layers, Mode::Default);
    (ruling.always, ruling.exact)
}

proptest! {
    #[test]
    fn what_is_granted_to_a_tool_is_granted_to_no_other(
        name in made_of_pieces(), other in made_of_pieces(), like_this in "[a-z_]{0,6}",
    ) {
        let call = |tool: &str| in_shop(tool, serde_json::json!({"command": "rm x", "path": "x"}));
        let (always, exact) = offered(&call(&name));
        for granted in [always, exact] {
            prop_assert!(
                granted.is_empty() || countersign_policy::tools::may_be_granted(&name),
                "{name:?} stores {granted:?}"
            );
            let others = [other.clone(), like(&name, &like_this), "shell_exec".to_owned(), "x".to_owned()];
            for other in others.iter().filter(|other| {
                countersign_policy::tools::canonical(other) != countersign_policy::tools::canonical(&name)
            }) {
                let verdicts = with_granted(&call(other), &granted);
                // What is stored under another name: a shell's rules name the shell.
                prop_assert_eq!(verdicts, [Verdict::Ask; 2], "{} stores {:?}: {}", name, granted, other);
            }
        }
    }

    #[test]
    fn what_is_granted_for_a_file_is_granted_for_no_other(
        path in made_of_pieces(), other in made_of_pieces(), like_this in "[a-z/]{0,4}",
        tool in select(vec!["write_file", "edit_file", "read_file"]),
    ) {
        let same_file = |one: &str, two: &str| {
            // Rules read both as the home directory, whatever a tool does with them.
            let home = |path: &str| match ["$HOME", "${HOME}"].iter().find_map(|h| path.strip_prefix(h)) {
                Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("~{rest}"),
                _ => path.to_owned(),
            };
            let clean = |path: &str| countersign_policy::paths::clean(&home(path), PLACE).into_owned();
            clean(one) == clean(two)
        };
        let call = |path: &str| in_shop(tool, serde_json::json!({ "path": path }));
        let (always, exact) = offered(&call(&path));
        for granted in [always, exact] {
            for other in [other.clone(), like(&path, &like_this), format!("{path}/x")] {
                if !same_file(&path, &other) {
                    let verdicts = with_granted(&call(&other), &granted);
                    prop_assert_eq!(
                        verdicts, [Verdict::Ask; 2], "{} stores {:?}: {}", path, granted, other
                    );
                }
            }
        }
    }

    #[test]
    fn what_is_granted_for_exactly_these_words_is_granted_for_no_others(
        words in prop::collection::vec(made_of_pieces(), 1..3), like_this in "[a-z]{0,4}",
    ) {
        let quoted = |words: &[String]| -> String {
            let quoted = words.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''")));
            quoted.collect::<Vec<_>>().join(" ")
        };
        let command = |words: &[String]| format!("mytool {}", quoted(words));
        let call = |words: &[String]| in_shop("shell_exec", serde_json::json!({"command": command(words)}));
        let (_, exact) = offered(&call(&words));
        let others: Vec<String> = words.iter().map(|word| like(word, &like_this)).collect();
        if others != words {
            let verdicts = with_granted(&call(&others), &exact);
            prop_assert_eq!(verdicts, [Verdict::Ask; 2], "{:?} stores {:?}: {:?}", words, exact, others);
        }
    }
}
