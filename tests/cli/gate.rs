//! `hook claude-code --gate`: every call of Claude Code is decided here, or blocked.

use crate::{
    daemon::Daemon,
    process::{Ended, Process, hearing, run, start},
};
use serde_json::{Value, json};

const GATE: [&str; 4] = ["hook", "claude-code", "--gate", "-v"];

/// A call in the mode that prompts for nothing.
fn call(command: &str) -> String {
    json!({"session_id": "s1", "cwd": "/home/ana/shop", "hook_event_name": "PreToolUse",
        "permission_mode": "bypassPermissions", "tool_name": "Bash", "tool_use_id": "toolu_1",
        "tool_input": {"command": command}})
    .to_string()
}

async fn gated(daemon: &Daemon, stdin: &str) -> Ended {
    start(daemon, &GATE).input(stdin).await.ends().await
}

async fn asking(daemon: &Daemon, command: &str) -> (Process, String) {
    let mut hook = start(daemon, &GATE).input(&call(command)).await;
    let id = hook.waits_for().await;
    (hook, id)
}

/// What the hook decides: `allow` or `deny`, and why.
fn decided(ended: &Ended) -> (String, String) {
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let printed: Value = serde_json::from_str(&ended.stdout).unwrap();
    let output = &printed["hookSpecificOutput"];
    assert_eq!(output["hookEventName"], "PreToolUse");
    let text = |key: &str| output[key].as_str().unwrap().to_owned();
    (text("permissionDecision"), text("permissionDecisionReason"))
}

fn blocked(ended: &Ended, why: &str) {
    assert_eq!(ended.short(), (Some(2), ""), "{ended:?}");
    assert!(ended.stderr.contains(why), "{ended:?}");
}

#[tokio::test]
async fn rules_allow_and_deny_without_a_person_though_claude_would_prompt_for_nothing() {
    let rules = r#"{"shell_exec": {"cargo *": "allow", "git push *": "deny"}}"#;
    let config = "[policy]\nrules = \"rules.jsonc\"\n";
    let daemon = Daemon::start_with(config, &[("rules.jsonc", rules)]).await;
    let (verdict, _) = decided(&gated(&daemon, &call("cargo test")).await);
    assert_eq!(verdict, "allow");
    let (verdict, why) = decided(&gated(&daemon, &call("git push origin main")).await);
    assert_eq!(verdict, "deny");
    assert!(why.starts_with("Denied by policy: The rule "), "{why}");
    assert_eq!(daemon.open().await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_person_allows_or_denies_what_the_rules_ask_about() {
    let daemon = Daemon::start("").await;
    let (hook, id) = asking(&daemon, "terraform apply").await;
    run(&daemon, &["approve", &id]).await;
    assert_eq!(decided(&hook.ends().await).0, "allow");
    let (hook, id) = asking(&daemon, "terraform destroy").await;
    run(&daemon, &["deny", &id, "--reason", "not today", "--stop"]).await;
    let ended = hook.ends().await;
    let (verdict, why) = decided(&ended);
    assert_eq!(
        (verdict.as_str(), why.as_str()),
        ("deny", "Denied by the approver's token: not today")
    );
    let printed: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((&printed["continue"], &printed["stopReason"]), (&json!(false), &json!(why)));
}

#[tokio::test]
async fn without_a_decision_the_call_is_blocked_whatever_is_wrong() {
    let mut daemon = Daemon::start("").await;
    let (hook, id) = asking(&daemon, "make deploy").await;
    daemon.deadline_passes(&id).await;
    daemon.ask_reaches(&id, "expired").await;
    blocked(&hook.ends().await, "nobody answered");
    let (hook, _) = asking(&daemon, "make other").await;
    hook.signal("TERM");
    blocked(&hook.ends().await, "nobody decided");
    for garbage in ["", "[]", "{not json", "{\"hook_event_name\":\"PreToolUse\"}"] {
        blocked(&gated(&daemon, garbage).await, "");
    }
    let elsewhere = call("ls").replace("PreToolUse", "PermissionRequest");
    blocked(&gated(&daemon, &elsewhere).await, "connect claude-code --gate");
    daemon.stop().await;
    blocked(&gated(&daemon, &call("ls")).await, "no countersign daemon");
    std::fs::write(daemon.config(), "[nonsense").unwrap();
    blocked(&gated(&daemon, &call("ls")).await, "blocked");
}

#[tokio::test]
async fn a_gate_whose_daemon_is_killed_before_it_replies_waits_for_the_next_one() {
    let mut daemon = Daemon::start("").await;
    let hook = start(&daemon, &GATE).input(&call("git push origin main")).await;
    let asks = daemon.until("/v1/asks?state=open", |page| page["asks"] != json!([])).await;
    // Within the second in which the daemon holds the call back for an early answer.
    daemon.kill().await;
    daemon.run().await;
    let id = asks["asks"][0]["id"].as_str().unwrap();
    assert_eq!(run(&daemon, &["approve", id]).await.code, Some(0));
    assert_eq!(decided(&hook.ends().await).0, "allow");
    assert_eq!(daemon.open().await, Vec::<Value>::new(), "it is the same ask");
}

#[tokio::test]
async fn connect_puts_the_gate_in_says_what_it_means_and_takes_it_out_to_the_letter() {
    let daemon = Daemon::start("").await;
    let file = daemon.dir.path().join("settings.json");
    let before = "{\"model\": \"opus\"}\n";
    std::fs::write(&file, before).unwrap();
    let settings = file.to_str().unwrap();
    let connect = ["connect", "claude-code", "--gate", "--yes", "--settings", settings];
    let said = run(&daemon, &connect).await;
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.stdout.contains("without a daemon or an answer nothing runs"), "{said:?}");
    let text = std::fs::read_to_string(&file).unwrap();
    let gate = &serde_json::from_str::<Value>(&text).unwrap()["hooks"]["PreToolUse"][0];
    assert_eq!(gate["hooks"][0]["onFailure"], "block");
    let again = run(&daemon, &connect).await;
    assert!(again.stdout.contains("is connected already"), "{again:?}");
    run(&daemon, &["disconnect", "claude-code", "--yes", "--settings", settings]).await;
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
}

/// The daemon has taken the call and thinks: the gate has no runtime yet.
#[tokio::test]
async fn a_signal_before_the_first_reply_blocks_the_call() {
    for signal in ["TERM", "INT", "HUP"] {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("countersign.sock");
        let silent = tokio::net::UnixListener::bind(&socket).unwrap();
        let mut hook = tokio::process::Command::new(env!("CARGO_BIN_EXE_countersign"));
        hook.args(GATE).env_clear().env("HOME", folder.path());
        hook.env("COUNTERSIGN__CLIENT__URL", format!("unix:{}", socket.display()));
        let hook = Process::start(hearing(&hook)).input(&call("make deploy")).await;
        let _taken = silent.accept().await.unwrap();
        hook.signal(signal);
        let ended = hook.ends().await;
        assert_eq!(ended.short(), (Some(2), ""), "{signal}: {ended:?}");
    }
}
