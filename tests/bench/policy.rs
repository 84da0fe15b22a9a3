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
    missing_docs,
    reason = "a bench may panic"
)]

use countersign_policy::critical::critical;
use countersign_policy::shell::scan;
use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};

const VECTORS: &str = include_str!("../vectors/bash_oracle.jsonl");
const AGENTS: &str = include_str!("../vectors/agent_commands.jsonl");
const LONG: &str = include_str!("../../src/policy/shell/grammar.rs");

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
