//! bash is the judge: whatever it executed while the scanner claimed certainty must be reported.

use crate::judge::unreported;
use countersign_policy::shell::scan;

/// The home directory of the shell that made the vectors.
const HOME: &str = "/home/u";

/// `{command, argv, syntax_error, source}`: every argv that bash 5.2.15 executed.
const VECTORS: &str = include_str!("../vectors/bash_oracle.jsonl");

#[derive(serde::Deserialize)]
struct Row {
    command: String,
    argv: Vec<Vec<String>>,
    source: String,
    syntax_error: bool,
}

fn rows() -> impl Iterator<Item = Row> {
    VECTORS.lines().map(|line| serde_json::from_str(line).expect("a row of the vectors"))
}

#[test]
fn no_command_that_bash_executed_goes_unreported_while_certainty_is_claimed() {
    let mut missed = Vec::new();
    for row in rows() {
        for argv in unreported(&scan(&row.command), &row.argv, HOME) {
            missed.push(format!("{:?} ran {argv:?} unreported", row.command));
        }
    }
    assert!(missed.is_empty(), "{} missed:\n{}", missed.len(), missed.join("\n"));
}

#[test]
fn realistic_commands_are_understood() {
    let (mut understood, mut all, mut refused) = (0u32, 0u32, Vec::new());
    for row in rows() {
        let realistic = ["tldr", "nl2bash", "SWE-agent"].iter().any(|s| row.source.contains(s));
        if realistic && !row.syntax_error {
            all += 1;
            let scan = scan(&row.command);
            understood += u32::from(scan.understood());
            if let Some(refusal) = scan.refusal {
                refused.push(format!("{refusal}: {:?}", row.command));
            }
        }
    }
    let share = f64::from(understood) / f64::from(all);
    println!("{understood} of {all} realistic commands understood");
    assert!(share >= 0.98, "only {share:.4}:\n{}", refused.join("\n"));
}

/// Commands as coding agents write them: here-documents, pipes, loops, several lines.
const AGENTS: &str = include_str!("../vectors/agent_commands.jsonl");

#[test]
fn agent_commands_are_understood() {
    let commands: Vec<String> = AGENTS
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["command"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    let refused: Vec<String> = commands
        .iter()
        .filter_map(|command| {
            scan(command).refusal.map(|refusal| format!("{refusal}: {command:?}"))
        })
        .collect();
    println!("{} of {} agent commands understood", commands.len() - refused.len(), commands.len());
    assert!(refused.len() * 50 <= commands.len(), "{}", refused.join("\n"));
}
