//! `doctor --live AGENT`: the hook in the agent's settings is tried, and its ask arrives.

use crate::{daemon::Daemon, process::run};
use serde_json::{Value, json};

/// The result of the trial.
async fn tried(daemon: &Daemon, agent: &str) -> Value {
    let report = run(daemon, &["doctor", "--live", agent, "--json"]).await;
    let report: Value = serde_json::from_str(&report.stdout).unwrap();
    let mut checks = report["checks"].as_array().unwrap().iter();
    checks.find(|check| check["check"] == "live").unwrap().clone()
}

async fn connect(daemon: &Daemon, args: &[&str]) {
    let connected = run(daemon, &[&["connect", "--yes"], args].concat()).await;
    assert_eq!(connected.code, Some(0), "{connected:?}");
}

#[tokio::test]
async fn the_prompt_of_each_agent_arrives_and_is_taken_back() {
    let daemon = Daemon::start("").await;
    for args in [
        &["claude-code"][..],
        &["claude-code", "--gate"],
        &["opencode"],
        &["copilot"],
        &["gemini"],
        &["qwen"],
        &["qwen", "--gate"],
        &["cursor"],
        &["cline"],
        &["pi"],
    ] {
        connect(&daemon, args).await;
        let live = tried(&daemon, args[0]).await;
        assert_eq!(live["state"], "ok", "{args:?}: {live}");
        let says = live["says"].as_str().unwrap();
        assert!(says.contains(" arrived as ") && says.ends_with(", and was cancelled"), "{says}");
        assert_eq!(daemon.open().await, Vec::<Value>::new(), "{args:?}");
    }
    let closed = daemon.all_in("cancelled").await;
    assert_eq!(closed.len(), 10);
    assert!(closed.iter().all(|ask| ask["call"]["session"] == "countersign doctor"));
}

#[tokio::test]
async fn a_rule_that_decides_without_a_person_is_named_as_such() {
    let rules = r#"{"shell_exec": {"touch *": "deny"}}"#;
    let config = "[policy]\nrules = \"rules.jsonc\"\n";
    let daemon = Daemon::start_with(config, &[("rules.jsonc", rules)]).await;
    connect(&daemon, &["copilot"]).await;
    let live = tried(&daemon, "copilot").await;
    assert_eq!(live["state"], "ok", "{live}");
    assert!(live["says"].as_str().unwrap().contains("decided it without a person"), "{live}");
}

#[tokio::test]
async fn every_reason_why_a_prompt_does_not_arrive_is_a_sentence() {
    let mut daemon = Daemon::start("").await;
    let expected = json!({"check": "live", "state": "fail",
        "says": "Copilot CLI is not connected, so its calls do not arrive here",
        "fix": "countersign connect copilot"});
    assert_eq!(tried(&daemon, "copilot").await, expected);

    connect(&daemon, &["copilot"]).await;
    let file = daemon.dir.path().join(".copilot/hooks/countersign.json");
    let text = std::fs::read_to_string(&file).unwrap();
    let program = env!("CARGO_BIN_EXE_countersign");
    std::fs::write(&file, text.replace(program, "/nowhere/countersign")).unwrap();
    let gone = tried(&daemon, "copilot").await;
    assert!(gone["says"].as_str().unwrap().contains("it cannot be started"), "{gone}");

    let other = Daemon::start("").await;
    let config = |daemon: &Daemon| daemon.config().display().to_string();
    std::fs::write(&file, text.replace(&config(&daemon), &config(&other))).unwrap();
    let elsewhere = tried(&daemon, "copilot").await;
    let says = elsewhere["says"].as_str().unwrap();
    assert!(says.ends_with("arrives at another daemon than this config names"), "{says}");

    std::fs::write(&file, &text).unwrap();
    daemon.stop().await;
    for agent in ["copilot", "cline", "gemini"] {
        connect(&daemon, &[agent]).await;
        let away = tried(&daemon, agent).await;
        assert_eq!(away["state"], "fail", "{away}");
        assert!(away["says"].as_str().unwrap().contains("no countersign daemon at"), "{away}");
    }
}
