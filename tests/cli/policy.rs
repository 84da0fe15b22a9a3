//! `policy check`, `explain`, `test`, `import`, `score`: without a daemon.

use crate::process::{Ended, Process};
use serde_json::{Value, json};
use std::path::Path;
use tokio::process::Command;

async fn policy(home: &Path, args: &[&str], stdin: &str) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
    command.arg("policy").args(args).env_clear().env("HOME", home).current_dir(home);
    Process::start(command).input(stdin).await.ends().await
}

fn lines(ended: &Ended) -> Vec<Value> {
    ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn check_answers_line_by_line_and_goes_on_after_a_bad_one() {
    let home = tempfile::tempdir().unwrap();
    let input = "{\"tool\":\"grep\",\"args\":{\"pattern\":\"x\"},\"cwd\":\"/srv/app\"}\n{bad\n\
                 {\"tool\":\"shell_exec\",\"args\":{\"command\":\"git push\"}}\n";
    let answers = lines(&policy(home.path(), &["check"], input).await);
    let verdicts: Vec<_> = answers.iter().map(|answer| &answer["verdict"]).collect();
    assert_eq!(verdicts, [&json!("allow"), &Value::Null, &json!("ask")]);
    assert!(answers[1]["error"].is_string(), "{answers:?}");
    assert_eq!(answers[2]["commands"], json!([["git", "push"]]));
}

#[tokio::test]
async fn check_takes_rules_from_a_file_with_the_home_of_each_call() {
    let home = tempfile::tempdir().unwrap();
    let rules = home.path().join("permissions.jsonc");
    std::fs::write(&rules, "{\"*\": \"ask\", \"read_file\": {\"~/notes/*\": \"allow\"}}").unwrap();
    let line = |home: &str| {
        json!({"tool": "read_file", "args": {"path": "/home/ana/notes/a"}, "home": home})
            .to_string()
    };
    let input = format!("{}\n{}\n", line("/home/ana"), line("/home/ben"));
    let args = ["check", "--rules", rules.to_str().unwrap()];
    let answers = lines(&policy(home.path(), &args, &input).await);
    let verdicts: Vec<_> = answers.iter().map(|answer| &answer["verdict"]).collect();
    assert_eq!(verdicts, [&json!("allow"), &json!("ask")]);
}

#[tokio::test]
async fn one_call_ends_with_the_code_of_its_ruling() {
    let home = tempfile::tempdir().unwrap();
    let cases = [
        (json!({"tool": "grep", "args": {"pattern": "x"}, "cwd": "/srv/app"}), Some(0)),
        (json!({"tool": "read_file", "args": {"path": "/srv/.env"}}), Some(3)),
        (json!({"tool": "shell_exec", "args": {"command": "git push"}}), Some(8)),
        (json!({"args": {}}), Some(1)),
    ];
    for (call, code) in cases {
        let ended = policy(home.path(), &["check", "--one"], &call.to_string()).await;
        assert_eq!(ended.code, code, "{call}: {ended:?}");
    }
}

#[tokio::test]
async fn rules_with_mistakes_are_refused_with_their_places() {
    let home = tempfile::tempdir().unwrap();
    let rules = home.path().join("permissions.jsonc");
    std::fs::write(&rules, "{\n  \"shell_exec\": \"alow\"\n}").unwrap();
    let name = rules.to_str().unwrap();
    for args in [["check", "--rules", name].as_slice(), &["test", name]] {
        let refused = policy(home.path(), args, "").await;
        assert_eq!(refused.short(), (Some(1), ""), "{refused:?}");
        assert!(refused.stderr.starts_with(&format!("error: {name}:2:")), "{refused:?}");
    }
}

#[tokio::test]
async fn explain_names_the_rule_and_its_line() {
    let home = tempfile::tempdir().unwrap();
    let rules = home.path().join("permissions.jsonc");
    std::fs::write(&rules, "{\n  \"*\": \"ask\",\n  \"shell_exec\": {\"git *\": \"allow\"}\n}")
        .unwrap();
    let name = rules.to_str().unwrap();
    let ended = policy(home.path(), &["explain", "--rules", name, "--", "git", "log"], "").await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.starts_with("allow: "), "{ended:?}");
    assert!(ended.stdout.contains(&format!("{name}:3")), "{ended:?}");
}

#[tokio::test]
async fn the_built_in_rules_hold_their_own_examples() {
    let home = tempfile::tempdir().unwrap();
    let ended = policy(home.path(), &["test"], "").await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.starts_with("the built-in rules: "), "{ended:?}");
}

#[tokio::test]
async fn imported_rules_rule_like_the_settings_they_come_from() {
    let home = tempfile::tempdir().unwrap();
    let settings =
        json!({"permissions": {"allow": ["Bash(git log *)"], "deny": ["Bash(git push *)"]}});
    let imported =
        policy(home.path(), &["import", "claude-code", "-"], &settings.to_string()).await;
    assert_eq!(imported.code, Some(0), "{imported:?}");
    let rules = home.path().join("permissions.jsonc");
    std::fs::write(&rules, &imported.stdout).unwrap();
    let line = |command: &str| json!({"tool": "Bash", "args": {"command": command}}).to_string();
    let input = format!("{}\n{}\n", line("git log -3"), line("git push origin"));
    let args = ["check", "--rules", rules.to_str().unwrap()];
    let answers = lines(&policy(home.path(), &args, &input).await);
    let verdicts: Vec<_> = answers.iter().map(|answer| &answer["verdict"]).collect();
    assert_eq!(verdicts, [&json!("allow"), &json!("deny")]);
}

#[tokio::test]
async fn the_score_is_a_table_of_the_corpora() {
    let corpus = format!("{}/tests/corpus", env!("CARGO_MANIFEST_DIR"));
    let home = tempfile::tempdir().unwrap();
    let ended = policy(home.path(), &["score", &corpus], "").await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.starts_with("corpus "), "{ended:?}");
}
