//! Speed of the policy core: `cargo bench -p countersign-policy`.
//!
//! The time of a batch divided by its number of commands is the mean per command; divan prints it
//! as items per second. `short` are everyday one-liners, `agent` are what coding agents really
//! send (several lines, here-documents; about 1 kB on average).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a bench may panic"
)]

use countersign_policy::critical::critical;
use countersign_policy::decision::decide_briefly;
use countersign_policy::shell::scan;
use countersign_policy::{Call, Guardrail, Layers, Mode, Rule, Rules, Verdict, decide};
use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use serde_json::json;

const VECTORS: &str = include_str!("../vectors/bash_oracle.jsonl");
const AGENTS: &str = include_str!("../vectors/agent_commands.jsonl");
const LONG: &str = include_str!("long.txt");

fn main() {
    divan::main();
}

fn commands(rows: &str, keep: impl Fn(&serde_json::Value) -> bool) -> Vec<String> {
    rows.lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .filter(keep)
        .map(|row| row["command"].as_str().unwrap().to_owned())
        .collect()
}

/// One-liners of manuals and forums.
fn short() -> Vec<String> {
    commands(VECTORS, |row| {
        let source = row["source"].as_str().unwrap();
        source.contains("tldr") || source.contains("nl2bash")
    })
}

/// Agent commands; every third one writes a file of a few kilobytes, as agents do.
fn agent() -> Vec<String> {
    let mut all = commands(AGENTS, |_| true);
    let written = LONG.as_bytes().chunks(3500).cycle();
    let files: Vec<String> = written
        .take(all.len() / 3)
        .map(|body| {
            format!(
                "cat > src/x.rs <<'EOF'\n{}\nEOF\ncargo check 2>&1 | head -20",
                String::from_utf8_lossy(body)
            )
        })
        .collect();
    all.extend(files);
    all
}

fn over(bencher: Bencher<'_, '_>, commands: Vec<String>, work: impl Fn(&str) + Sync) {
    let bytes: usize = commands.iter().map(String::len).sum();
    bencher
        .counter(ItemsCount::new(commands.len()))
        .counter(BytesCount::new(bytes))
        .bench(|| commands.iter().for_each(|command| work(black_box(command))));
}

#[divan::bench]
fn scan_short(bencher: Bencher<'_, '_>) {
    over(bencher, short(), |command| {
        black_box(scan(command));
    });
}

#[divan::bench]
fn scan_agent(bencher: Bencher<'_, '_>) {
    over(bencher, agent(), |command| {
        black_box(scan(command));
    });
}

#[divan::bench]
fn scan_and_critical_short(bencher: Bencher<'_, '_>) {
    over(bencher, short(), |command| {
        black_box(critical(&scan(command)));
    });
}

#[divan::bench]
fn scan_and_critical_agent(bencher: Bencher<'_, '_>) {
    over(bencher, agent(), |command| {
        black_box(critical(&scan(command)));
    });
}

/// Linear in the input: the time per byte must not grow.
#[divan::bench(args = [1_000, 10_000, 60_000])]
fn scan_by_length(bencher: Bencher<'_, '_>, length: usize) {
    let line = "echo \"some $(date +%F) text\" 'quoted' a\\ b | grep -n x && ls -la # note\n";
    let text = line.repeat(length / line.len());
    over(bencher, vec![text], |command| {
        black_box(scan(command));
    });
}

/// The default rules and as many more as a well-used grant store holds: 52 for the shell.
fn rules() -> Rules {
    let mut all: Vec<Rule> = Vec::new();
    let mut add = |pattern: &str, verdict| {
        let (tool, pattern) = ("shell_exec".to_owned(), pattern.to_owned());
        all.push(Rule { tool, pattern, verdict });
    };
    add("*", Verdict::Ask);
    for name in ALLOWED {
        add(&format!("{name} *"), Verdict::Allow);
        add(name, Verdict::Allow);
    }
    for pattern in ["rm -rf *", "git push --force*", "sudo *"] {
        add(pattern, Verdict::Deny);
    }
    assert_eq!(all.len(), 52);
    Rules::from_rules(&all)
}

const ALLOWED: [&str; 24] = [
    "ls",
    "cat",
    "head",
    "tail",
    "grep",
    "rg",
    "find",
    "wc",
    "sort",
    "echo",
    "pwd",
    "sed",
    "awk",
    "jq",
    "git status",
    "git diff",
    "git log",
    "git show",
    "cargo test",
    "cargo check",
    "cargo build",
    "npm test",
    "npm run",
    "python3",
];

/// A full ruling: scan, wrappers, guardrails, layers, 52 rules, critical patterns, rule and reason.
/// With `card` also what an ask's card needs: the offers of Always, the effects, the commands.
fn ruling(bencher: Bencher<'_, '_>, commands: Vec<String>, card: bool) {
    let (rules, grants, guardrail) = (rules(), Rules::from_rules(&[]), Guardrail::default());
    let bytes: usize = commands.iter().map(String::len).sum();
    let calls: Vec<Call> = commands
        .into_iter()
        .map(|command| {
            let call = json!({"tool": "shell_exec", "args": {"command": command},
                "cwd": "/work/app", "home": "/home/me"});
            serde_json::from_value(call).unwrap()
        })
        .collect();
    let layers =
        Layers { agent: None, rules: &rules, grants: &grants, guardrail: &guardrail, now_ms: 0 };
    bencher.counter(ItemsCount::new(calls.len())).counter(BytesCount::new(bytes)).bench(|| {
        for call in &calls {
            if card {
                let _ = black_box(decide(black_box(call), &layers, Mode::Default));
            } else {
                let _ = black_box(decide_briefly(black_box(call), &layers, Mode::Default));
            }
        }
    });
}

#[divan::bench]
fn ruling_short(bencher: Bencher<'_, '_>) {
    ruling(bencher, short(), false);
}

#[divan::bench]
fn ruling_agent(bencher: Bencher<'_, '_>) {
    ruling(bencher, agent(), false);
}

/// With all that a card shows.
#[divan::bench]
fn ruling_with_card_agent(bencher: Bencher<'_, '_>) {
    ruling(bencher, agent(), true);
}

/// What people meet without noticing: commands that the rules cover.
#[divan::bench]
fn ruling_covered(bencher: Bencher<'_, '_>) {
    let covered =
        ["ls -la src", "git diff --stat HEAD~3", "cat a | grep x | head -5", "cargo test --lib"];
    ruling(bencher, covered.map(str::to_owned).to_vec(), false);
}

/// The tail: 10 kB of commands, and of text in a here-document.
#[divan::bench(args = ["commands", "heredoc"])]
fn ruling_10kb(bencher: Bencher<'_, '_>, kind: &str) {
    let text = match kind {
        "commands" => "grep -n 'x y' src/a.rs | head -20 && ls -la target/debug\n".repeat(175),
        _ => format!("cat > f <<'EOF'\n{}\nEOF", LONG.chars().take(10_000).collect::<String>()),
    };
    ruling(bencher, vec![text], false);
}
