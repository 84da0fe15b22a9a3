//! Programs that the operator describes in the rules file, through `policy check`.

use crate::process::{Ended, Process};
use serde_json::{Value, json};
use std::path::Path;
use tokio::process::Command;

const DOCUMENT: &str = include_str!("../../docs/programs.md");

/// The answers to shell texts, by a rules file with these descriptions and rules.
async fn check(descriptions: &Value, rules: &Value, commands: &[&str]) -> Vec<Value> {
    let text = json!({ "*": "ask", "programs": descriptions, "shell_exec": rules }).to_string();
    let lines = commands.iter().map(|command| {
        let (cwd, home) = ("/home/ana/app", "/home/ana");
        let args = json!({ "command": command });
        json!({ "tool": "shell_exec", "args": args, "cwd": cwd, "home": home }).to_string() + "\n"
    });
    let home = tempfile::tempdir().unwrap();
    let ended = run(home.path(), &text, &lines.collect::<String>()).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let answers: Vec<Value> =
        ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), commands.len(), "{answers:?}");
    answers
}

async fn run(home: &Path, rules: &str, stdin: &str) -> Ended {
    let file = home.join("permissions.jsonc");
    std::fs::write(&file, rules).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
    command.args(["policy", "check", "--rules"]).arg(&file);
    command.env_clear().env("HOME", home).current_dir(home);
    Process::start(command).input(stdin).await.ends().await
}

fn descriptions() -> Value {
    json!({
        "deployctl": {
            "values": ["-n"],
            "reads": { "status": ["-v", "--output="], "env list": [] },
            "asks": { "publish": "it publishes a release", "--force": "it overwrites what runs" },
            "critical": { "env destroy": "removes an environment" },
            "runs": ["--"],
            "reaches": ["deploy.example.com"],
            "words": 2
        },
        "stamp": { "operands": "writes" }
    })
}

#[tokio::test]
async fn what_a_description_calls_critical_asks_wherever_it_stands() {
    let rules = json!({ "deployctl *": "allow", "timeout *": "allow", "bash *": "allow" });
    let texts = [
        "deployctl env destroy prod",
        "deployctl -n eu env destroy prod",
        "deployctl env $what prod",
        "/opt/bin/deployctl env destroy prod",
        "timeout 5 deployctl env destroy prod",
        "bash -c 'echo a; deployctl env destroy prod'",
        "deployctl exec -- deployctl env destroy prod",
        "deployctl exec -- rm -rf /",
        "bash -c 'deployctl exec -- rm -rf /'",
    ];
    for (text, answer) in texts.iter().zip(check(&descriptions(), &rules, &texts).await) {
        assert_eq!(answer["verdict"], "ask", "{text}: {answer}");
        assert_eq!(answer["critical"], true, "{text}: {answer}");
        assert_eq!(answer["always"], json!([]), "{text}: {answer}");
    }
    let all = json!({ "*": "allow" });
    let answers = check(&descriptions(), &all, &["deployctl env destroy prod"]).await;
    let reason = answers[0]["reason"].as_str().unwrap();
    assert!(reason.contains("removes an environment"), "{reason}");
}

#[tokio::test]
async fn a_grant_of_the_name_does_not_cover_what_the_description_asks_about() {
    let rules = json!({ "deployctl *": "allow", "kubectl get *": "allow", "stamp *": "allow" });
    let cases = [
        ("deployctl build", "allow"),
        ("deployctl -n publish build", "allow"),
        ("deployctl publish v1", "ask"),
        ("deployctl build --force", "ask"),
        ("deployctl build --forc", "ask"),
        ("deployctl build $how", "ask"),
        ("deployctl exec -- kubectl get pods", "allow"),
        ("deployctl exec -- make", "ask"),
        ("stamp out/a", "allow"),
        ("stamp /srv/a", "ask"),
        ("stamp Makefile", "ask"),
        ("stamp ~/.bashrc", "ask"),
    ];
    let texts = cases.map(|(text, _)| text);
    for ((text, verdict), answer) in cases.iter().zip(check(&descriptions(), &rules, &texts).await)
    {
        assert_eq!(answer["verdict"], *verdict, "{text}: {answer}");
    }
    let named = json!({ "deployctl *": "allow", "deployctl publish *": "allow" });
    let answers = check(&descriptions(), &named, &["deployctl publish v1"]).await;
    assert_eq!(answers[0]["verdict"], "allow", "a rule that names it covers it: {answers:?}");
}

#[tokio::test]
async fn only_forms_that_are_described_count_as_reading() {
    let cases = [
        ("deployctl status", "allow"),
        ("deployctl status -v web", "allow"),
        ("deployctl status --output=json web", "allow"),
        ("deployctl status --output json web", "allow"),
        ("deployctl env list | head", "allow"),
        ("deployctl env", "ask"),
        ("deployctl status --all", "ask"),
        ("deployctl status $x", "ask"),
        ("deployctl status ~/.ssh/id_rsa", "ask"),
        ("deployctl status /etc/passwd", "ask"),
        ("deployctl status > out", "ask"),
        ("./deployctl status", "ask"),
        ("deployctl logs", "ask"),
    ];
    let texts = cases.map(|(text, _)| text);
    let rules = json!({ "@reads": "allow" });
    for ((text, verdict), answer) in cases.iter().zip(check(&descriptions(), &rules, &texts).await)
    {
        assert_eq!(answer["verdict"], *verdict, "{text}: {answer}");
    }
}

#[tokio::test]
async fn always_keeps_as_many_words_as_the_description_says() {
    let texts = ["deployctl build web", "stamp out/a", "deployctl -n eu build", "deployctl build"];
    let answers = check(&descriptions(), &json!({}), &texts).await;
    let offered: Vec<&Value> = answers.iter().map(|answer| &answer["always"]).collect();
    let none = json!([]);
    assert_eq!(
        offered,
        [
            &json!(["deployctl build *"]),
            &json!(["stamp out/a"]),
            &none,
            &json!(["deployctl build"])
        ]
    );
}

#[tokio::test]
async fn what_a_program_touches_is_told_by_its_description() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("permissions.jsonc");
    std::fs::write(&file, json!({ "*": "ask", "programs": descriptions() }).to_string()).unwrap();
    let cases = [
        ("stamp out/a", "effect: writes out/a"),
        ("deployctl build", "effect: reaches deploy.example.com"),
        ("deployctl exec -- rm -r b", "effect: deletes b"),
    ];
    for (text, effect) in cases {
        let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
        command.args(["policy", "explain", "--rules"]).arg(&file).args(["--shell", text]);
        command.env_clear().env("HOME", home.path()).current_dir(home.path());
        let ended = Process::start(command).ends().await;
        assert!(ended.stdout.lines().any(|line| line.trim() == effect), "{text}: {ended:?}");
    }
}

#[tokio::test]
async fn a_mistake_in_a_description_is_refused_with_its_line_and_key() {
    let cases = [
        ("\"git\": { \"reads\": { \"*\": [] } }", "\"git\" is known already"),
        ("\"python3.14\": {}", "\"python3.14\" is known already"),
        ("\"trap\": {}", "\"trap\" is known already"),
        ("\"mapfile\": {}", "\"mapfile\" is known already"),
        ("\"a b\": {}", "is not a valid program name"),
        ("\"./x\": {}", "is not a valid program name"),
        ("\"x\": \"allow\"", "a description is an object"),
        ("\"x\": { \"read\": {} }", "Did you mean \"reads\"?"),
        ("\"x\": { \"critical\": { \"destroy\": true } }", "\"destroy\" needs words, and a reason"),
        ("\"x\": { \"critical\": [\"destroy\"] }", "\"critical\" is an object"),
        ("\"x\": { \"reads\": { \"-v\": [] } }", "name the sub-command that only reads"),
        ("\"x\": { \"values\": [\"n\"] }", "an option begins with a dash"),
        ("\"x\": { \"operands\": \"opens\" }", "\"operands\" is \"reads\""),
        ("\"x\": { \"words\": 9 }", "\"words\" is a number from 1 to 5"),
        ("\"x\": { \"runs\": [1] }", "\"runs\" is a list"),
        ("\"x\": {}, \"x\": {}", "\"x\" is described a second time"),
    ];
    for (description, message) in cases {
        let home = tempfile::tempdir().unwrap();
        let text = format!("{{\n  \"*\": \"ask\",\n  \"programs\": {{ {description} }}\n}}");
        let ended = run(home.path(), &text, "").await;
        assert_eq!(ended.short(), (Some(1), ""), "{description}: {ended:?}");
        assert!(ended.stderr.contains("permissions.jsonc:3:"), "{description}: {ended:?}");
        assert!(ended.stderr.contains(message), "{description}: {ended:?}");
    }
}

#[tokio::test]
async fn the_example_of_the_document_is_a_rules_file() {
    let sample = DOCUMENT.split("```jsonc\n").nth(1).unwrap().split("```").next().unwrap();
    let home = tempfile::tempdir().unwrap();
    let ended = run(home.path(), sample, "").await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(sample.contains("\"programs\""));
}
