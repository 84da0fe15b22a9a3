//! The appeal against Claude Code's auto mode: what its classifier blocked comes to a person, and
//! exactly the retry may run, once. The hooks' input is that of Claude Code 2.1.330.

use crate::{
    daemon::{APPROVER, Daemon, shell},
    process::{Ended, Process, run},
};
use serde_json::{Value, json};

const ATTENDED: &str = "CLAUDE_CODE_SESSION_ATTENDED";

fn event(name: &str, input: &Value) -> Value {
    json!({"session_id": "s", "transcript_path": "/t", "cwd": "/home/ana/shop", "prompt_id": "p",
        "permission_mode": "auto", "hook_event_name": name, "tool_name": "Bash",
        "tool_input": input, "tool_use_id": "toolu_1", "reason": "[Data Exfiltration] sends data out"})
}

fn copy(description: &str) -> Value {
    json!({"command": "scp shop.db ana@example.org:", "description": description})
}

/// One of our hooks, as Claude Code starts it at a terminal (`1`), or without one (`0`).
async fn hook(daemon: &Daemon, options: &[&str], attended: &str, event: &Value) -> Process {
    let words: Vec<&str> = ["hook", "claude-code", "-v"].iter().chain(options).copied().collect();
    let mut command = daemon.command(&words);
    command.env(ATTENDED, attended);
    Process::start(command).input(&event.to_string()).await
}

async fn hook_of(daemon: &Daemon, options: &[&str], event: &Value) -> Ended {
    hook(daemon, options, "0", event).await.ends().await
}

async fn before(daemon: &Daemon, attended: &str, input: &Value) -> Ended {
    hook(daemon, &["--ahead"], attended, &event("PreToolUse", input)).await.ends().await
}

fn decision(ended: &Ended) -> Value {
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let printed: Value = serde_json::from_str(&ended.stdout).unwrap_or_default();
    printed["hookSpecificOutput"]["permissionDecision"].clone()
}

async fn blocked(daemon: &Daemon, options: &[&str], attended: &str) -> (Process, String) {
    let mut hook = hook(daemon, options, attended, &event("PermissionDenied", &copy("Copy"))).await;
    let id = hook.waits_for().await;
    (hook, id)
}

#[tokio::test]
async fn a_yes_to_what_auto_mode_blocked_lets_exactly_the_retry_run_once() {
    let daemon = Daemon::start("").await;
    assert_eq!(decision(&before(&daemon, "0", &copy("Copy")).await), Value::Null);
    let (hook, id) = blocked(&daemon, &[], "0").await;
    let ask = daemon.read(&id).await;
    let reason = "Claude Code's auto mode blocked this: [Data Exfiltration] sends data out.";
    assert_eq!(ask["why"], reason, "{ask}");
    run(&daemon, &["approve", &id]).await;
    let ended = hook.ends().await;
    let retry = json!({"hookSpecificOutput": {"hookEventName": "PermissionDenied", "retry": true}});
    assert_eq!(serde_json::from_str::<Value>(&ended.stdout).unwrap(), retry, "{ended:?}");

    let other = json!({"command": "scp shop.db  ana@example.org:", "description": "Copy"});
    assert_eq!(decision(&before(&daemon, "0", &other).await), Value::Null, "one byte more");
    let again = copy("Copies the database once more");
    assert_eq!(decision(&before(&daemon, "0", &again).await), "allow");
    assert_eq!(decision(&before(&daemon, "0", &again).await), Value::Null, "it is spent");
}

#[tokio::test]
async fn at_a_terminal_the_turn_goes_on_and_a_yes_wakes_it() {
    let daemon = Daemon::start("").await;
    // Claude Code starts both hooks; at a terminal the one that it waits for ends at once.
    let waited = hook(&daemon, &[], "1", &event("PermissionDenied", &copy("Copy"))).await;
    assert_eq!(waited.ends().await.short(), (Some(0), ""));
    let (wakes, id) = blocked(&daemon, &["--wake"], "1").await;
    // The turn ends meanwhile.
    let stop = json!({"session_id": "s", "hook_event_name": "Stop"});
    assert_eq!(hook(&daemon, &[], "1", &stop).await.ends().await.short(), (Some(0), ""));
    run(&daemon, &["approve", &id]).await;
    let ended = wakes.ends().await;
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("may run once"), "{ended:?}");

    // The retry is asked for at the terminal first, where our other hook lets it run.
    assert_eq!(decision(&before(&daemon, "1", &copy("Copy")).await), "ask");
    let prompt = hook(&daemon, &[], "1", &event("PermissionRequest", &copy("Copy"))).await;
    let ended = prompt.ends().await;
    let printed: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(printed["hookSpecificOutput"]["decision"], json!({"behavior": "allow"}));
    assert_eq!(decision(&before(&daemon, "1", &copy("Copy")).await), Value::Null, "it is spent");
}

#[tokio::test]
async fn without_a_yes_the_call_stays_blocked_and_nothing_is_said() {
    let mut daemon = Daemon::start("").await;
    let (hook, id) = blocked(&daemon, &[], "0").await;
    run(&daemon, &["deny", &id]).await;
    assert_eq!(hook.ends().await.short(), (Some(0), ""));
    assert_eq!(decision(&before(&daemon, "0", &copy("Copy")).await), Value::Null);
    daemon.kill().await;
    let (name, input) = ("PermissionDenied", copy("Copy"));
    let alone = self::hook(&daemon, &[], "0", &event(name, &input)).await.ends().await;
    assert_eq!(alone.short(), (Some(0), ""), "without a daemon");
    assert_eq!(decision(&before(&daemon, "0", &input).await), Value::Null);
}

#[tokio::test]
async fn a_yes_holds_across_a_restart_and_not_while_everything_is_paused() {
    let mut daemon = Daemon::start("").await;
    let (hook, id) = blocked(&daemon, &[], "0").await;
    run(&daemon, &["approve", &id]).await;
    drop(hook.ends().await);
    daemon.kill().await;
    daemon.run().await;
    run(&daemon, &["pause"]).await;
    assert_eq!(decision(&before(&daemon, "0", &copy("Copy")).await), Value::Null);
    run(&daemon, &["resume"]).await;
    assert_eq!(decision(&before(&daemon, "0", &copy("Copy")).await), "allow");
}

#[tokio::test]
async fn a_retry_in_another_session_or_folder_or_after_a_revocation_stays_blocked() {
    let daemon = Daemon::start("").await;
    let (hook, id) = blocked(&daemon, &[], "0").await;
    run(&daemon, &["approve", &id]).await;
    drop(hook.ends().await);
    for (key, other) in
        [("session_id", "t"), ("cwd", "/home/ana/shop/x"), ("permission_mode", "plan")]
    {
        let mut event = event("PreToolUse", &copy("Copy"));
        event[key] = json!(other);
        let ended = hook_of(&daemon, &["--ahead"], &event).await;
        assert_eq!(decision(&ended), Value::Null, "{key}");
    }
    let (_, grants) = daemon.get("/v1/grants", APPROVER).await;
    let grant = grants["grants"][0]["id"].as_str().unwrap();
    run(&daemon, &["grants", "revoke", grant]).await;
    assert_eq!(decision(&before(&daemon, "0", &copy("Copy")).await), Value::Null, "revoked");
}

#[tokio::test]
async fn two_appeals_for_one_call_are_one_card_and_their_yes_is_one_run() {
    let daemon = Daemon::start("").await;
    let (first, id) = blocked(&daemon, &["--wake"], "1").await;
    let again = event("PermissionDenied", &copy("Copies it again"));
    let second = hook(&daemon, &["--wake"], "1", &again).await.ends().await;
    assert_eq!(second.code, Some(0), "{second:?}");
    assert_eq!(daemon.open().await.len(), 1);
    run(&daemon, &["approve", &id]).await;
    assert_eq!(first.ends().await.code, Some(2));
    assert_eq!(decision(&before(&daemon, "0", &copy("Copy")).await), "allow");
    assert_eq!(decision(&before(&daemon, "0", &copy("Copy")).await), Value::Null, "it is spent");
}

#[tokio::test]
async fn connected_for_appeals_alone_a_prompt_is_answered_only_where_a_person_released_its_call() {
    let daemon = Daemon::start("").await;
    let prompt = event("PermissionRequest", &copy("Copy"));
    let silent = hook_of(&daemon, &["--ahead"], &prompt).await;
    assert_eq!(silent.short(), (Some(0), ""));
    let (hook, id) = blocked(&daemon, &["--appeals"], "0").await;
    run(&daemon, &["approve", &id]).await;
    drop(hook.ends().await);
    let released = hook_of(&daemon, &["--ahead"], &prompt).await;
    let printed: Value = serde_json::from_str(&released.stdout).unwrap();
    assert_eq!(printed["hookSpecificOutput"]["decision"], json!({"behavior": "allow"}));
    assert_eq!(hook_of(&daemon, &["--ahead"], &prompt).await.short(), (Some(0), ""), "once");
}

#[tokio::test]
async fn a_late_yes_by_command_holds_as_long_as_the_config_says() {
    let daemon = Daemon::start("[policy]\ntimeout = \"1s\"\nlate_yes = \"2h\"").await;
    let id = daemon.ask(&shell("make a")).await;
    daemon.ask_reaches(&id, "expired").await;
    let (_, shown) = daemon.get(&format!("/v1/asks/{id}?card=true"), APPROVER).await;
    let button = shown["card"]["buttons"][0][0]["label"].as_str();
    assert_eq!(button, Some("Approve the next try (2 h)"), "{shown}");
    let approved = run(&daemon, &["approve", &id]).await;
    assert_eq!(approved.code, Some(0), "{approved:?}");
    let said = "Approved: the same call may run once when it comes again within 2 hours.";
    assert!(approved.stdout.contains(said), "{approved:?}");
    let (_, again) = daemon.call(&shell("make a")).await;
    assert_eq!(again["verdict"], "allow", "{again}");
    let scoped = run(&daemon, &["approve", &id, "--scope", "always"]).await;
    assert_ne!(scoped.code, Some(0), "{scoped:?}");
}

// The hook that wakes would wake the main agent (seen with 2.1.330).
#[tokio::test]
async fn a_subagents_blocked_call_waits_for_its_answer_at_a_terminal_too() {
    let daemon = Daemon::start("").await;
    let mut of_subagent = event("PermissionDenied", &copy("Copy"));
    of_subagent["agent_id"] = json!("a7");
    let wakes = hook(&daemon, &["--wake"], "1", &of_subagent).await.ends().await;
    assert_eq!(wakes.short(), (Some(0), ""), "{wakes:?}");
    assert_eq!(daemon.open().await, Vec::<Value>::new());
    let mut waits = hook(&daemon, &[], "1", &of_subagent).await;
    run(&daemon, &["approve", &waits.waits_for().await]).await;
    let printed: Value = serde_json::from_str(&waits.ends().await.stdout).unwrap();
    assert_eq!(printed["hookSpecificOutput"]["retry"], true, "{printed}");
    assert_eq!(decision(&before(&daemon, "1", &copy("Copy")).await), "ask");
}

#[tokio::test]
async fn a_call_that_has_to_say_why_is_told_what_is_missing() {
    let rule = "[[answer_rules]]\nname = \"say-why\"\ntool = \"Bash\"\nreason = \"required\"";
    let daemon = Daemon::start(rule).await;
    let asked = |input: Value| event("PermissionRequest", &input);
    let bare = hook_of(&daemon, &[], &asked(json!({"command": "make a"}))).await;
    let printed: Value = serde_json::from_str(&bare.stdout).unwrap();
    let message = printed["hookSpecificOutput"]["decision"]["message"].as_str().unwrap();
    assert!(message.contains("the rule say-why needs a reason"), "{message}");
    assert_eq!(daemon.open().await, Vec::<Value>::new());
    let mut said =
        hook(&daemon, &[], "0", &asked(json!({"command": "make a", "description": "Build"}))).await;
    let id = said.waits_for().await;
    run(&daemon, &["approve", &id]).await;
    assert!(said.ends().await.stdout.contains("allow"));
}

#[tokio::test]
async fn a_gate_at_a_terminal_has_claude_ask_for_a_released_retry_which_no_flag_goes_before() {
    for gate in ["--gate", "--gate=ask"] {
        let daemon = Daemon::start("").await;
        let (waits, id) = blocked(&daemon, &["--wake"], "1").await;
        run(&daemon, &["approve", &id]).await;
        drop(waits.ends().await);
        let before = event("PreToolUse", &copy("Copies it again"));
        let retry = hook(&daemon, &[gate], "1", &before).await.ends().await;
        assert_eq!(decision(&retry), "ask", "{gate}");
        let prompt = hook(&daemon, &[], "1", &event("PermissionRequest", &copy("Copy"))).await;
        let printed: Value = serde_json::from_str(&prompt.ends().await.stdout).unwrap();
        assert_eq!(printed["hookSpecificOutput"]["decision"], json!({"behavior": "allow"}));
        let mut again = hook(&daemon, &["--gate"], "1", &before).await;
        run(&daemon, &["deny", &again.waits_for().await]).await;
        assert_eq!(decision(&again.ends().await), "deny", "{gate}: it is spent");
        // Without a terminal what is asked for would be denied.
        let daemon = Daemon::start("").await;
        let (waits, id) = blocked(&daemon, &[], "0").await;
        run(&daemon, &["approve", &id]).await;
        drop(waits.ends().await);
        let retry = hook(&daemon, &[gate], "0", &before).await.ends().await;
        assert_eq!(decision(&retry), "allow", "{gate}");
    }
}

#[tokio::test]
async fn a_subagents_dialog_waits_a_minute_at_most_and_its_card_says_until_when() {
    let daemon = Daemon::start("").await;
    let mut asked = event("PermissionRequest", &copy("Copy"));
    asked["agent_id"] = json!("a7");
    for (attended, waits) in [("1", true), ("0", false)] {
        let mut hook = hook(&daemon, &[], attended, &asked).await;
        let id = hook.waits_for().await;
        let (_, ask) = daemon.get(&format!("/v1/asks/{id}?card=true"), APPROVER).await;
        let says = ask["card"].to_string().contains("No dialog in the terminal until ");
        assert_eq!(says, waits, "{ask}");
        let time = |key: &str| ask[key].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
        let seconds = time("deadline").duration_since(time("created")).as_secs();
        assert_eq!(seconds < 60, waits, "{seconds}");
        run(&daemon, &["deny", &id]).await;
        assert!(hook.ends().await.stdout.contains("deny"));
        asked["tool_input"]["command"] = json!("scp another");
    }
}
