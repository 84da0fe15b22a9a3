//! Row 13a: the hook, installed where it decides nothing.

use crate::{
    daemon::Daemon,
    process::{Ended, start},
};
use serde_json::{Value, json};

const HOOK: [&str; 2] = ["hook", "claude-code"];

async fn hook(daemon: &Daemon, stdin: &str) -> Ended {
    start(daemon, &HOOK).input(stdin).await.ends().await
}

fn event(name: &str) -> Value {
    json!({"session_id": "s", "cwd": "/home/ana/shop", "permission_mode": "bypassPermissions",
        "hook_event_name": name, "tool_name": "Bash", "tool_input": {"command": "rm -rf ~"},
        "tool_use_id": "toolu_1"})
}

#[tokio::test]
async fn row_13a_where_the_hook_cannot_decide_it_blocks_and_says_where_it_belongs() {
    let daemon = Daemon::start("").await;
    let mut number = event("PreToolUse");
    number["session_id"] = json!(5);
    let mut unnamed = event("");
    unnamed.as_object_mut().unwrap().remove("hook_event_name");
    for stdin in [
        event("PreToolUse").to_string(),
        event("UserPromptSubmit").to_string(),
        event("Elicitation").to_string(),
        event("NeverHeardOf").to_string(),
        number.to_string(),
        unnamed.to_string(),
        "{\"hook_event_name\": \"PreToolUse\", ".to_owned(),
    ] {
        let ended = hook(&daemon, &stdin).await;
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{stdin}: {ended:?}");
        assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
        for part in ["so this is blocked", "PermissionRequest", "countersign connect claude-code"] {
            assert!(ended.stderr.contains(part), "{part}: {ended:?}");
        }
    }
    assert_eq!(daemon.open().await, Vec::<Value>::new());
}

#[tokio::test]
async fn row_13a_it_blocks_there_without_a_daemon_and_with_a_broken_config_too() {
    let mut daemon = Daemon::start("").await;
    daemon.stop().await;
    assert_eq!(hook(&daemon, &event("PreToolUse").to_string()).await.code, Some(2));
    std::fs::write(daemon.config(), "[nonsense").unwrap();
    assert_eq!(hook(&daemon, &event("PreToolUse").to_string()).await.code, Some(2));
}

#[tokio::test]
async fn row_13a_what_only_tells_is_passed_over_without_a_word() {
    let daemon = Daemon::start("").await;
    for name in [
        "PostToolUse",
        "PostToolUseFailure",
        "Notification",
        "SessionStart",
        "SubagentStop",
        "Stop",
    ] {
        let ended = hook(&daemon, &event(name).to_string()).await;
        let silent = Ended { code: Some(0), stdout: String::new(), stderr: String::new() };
        assert_eq!(ended, silent, "{name}");
    }
}

#[tokio::test]
async fn row_13b_the_environment_of_a_project_chooses_no_other_daemon() {
    let (daemon, other) = (Daemon::start("").await, Daemon::start("").await);
    let mut hook = daemon.command(&HOOK);
    hook.arg("-v").env("COUNTERSIGN_CONFIG", other.config());
    hook.env("COUNTERSIGN__CLIENT__URL", &other.url);
    hook.env("COUNTERSIGN__CLIENT__TOKEN", crate::daemon::AGENT);
    let event = json!({"session_id": "s", "hook_event_name": "PermissionRequest",
        "tool_name": "Bash", "tool_input": {"command": "make x"}});
    let mut hook = crate::process::Process::start(hook).input(&event.to_string()).await;
    let ask = hook.waits_for().await;
    assert_eq!(daemon.read(&ask).await["state"], "open");
    assert_eq!(other.open().await, Vec::<Value>::new());
}
