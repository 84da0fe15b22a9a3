//! `hook claude-code` with what the real client wrote on stdin.

use crate::{
    daemon::Daemon,
    process::{Ended, Process, run, start},
};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const HOOK: [&str; 3] = ["hook", "claude-code", "-v"];
const GATE: [&str; 4] = ["hook", "claude-code", "--gate", "-v"];

fn golden(name: &str) -> Value {
    let file = format!("{}/tests/golden/claude-code/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

fn transcript() -> String {
    format!("{}/tests/golden/claude-code/transcript.jsonl", env!("CARGO_MANIFEST_DIR"))
}

fn stdin(golden: &Value) -> String {
    golden["frames"][0]["data"].to_string()
}

/// A hook that waits, and the ask it waits for.
async fn asking(daemon: &Daemon, stdin: &str) -> (Process, String) {
    let mut hook = start(daemon, &HOOK).input(stdin).await;
    let id = hook.waits_for().await;
    (hook, id)
}

fn printed(ended: &Ended) -> Value {
    assert_eq!(ended.code, Some(0), "{ended:?}");
    serde_json::from_str(&ended.stdout).unwrap()
}

fn silent(ended: &Ended) {
    assert_eq!(ended.short(), (Some(0), ""), "{ended:?}");
}

#[tokio::test]
async fn an_approval_allows_in_the_recorded_words() {
    let daemon = Daemon::start("").await;
    let golden = golden("01_hook_allow_once");
    let (hook, id) = asking(&daemon, &stdin(&golden)).await;
    assert_eq!(daemon.read(&id).await["call"]["tool"], "Bash");
    // A forced push is critical.
    run(&daemon, &["approve", &id, "--yes"]).await;
    assert_eq!(printed(&hook.ends().await), golden["frames"][1]["data"]);
}

#[tokio::test]
async fn a_denial_tells_the_model_who_decided_and_stop_ends_its_turn() {
    let daemon = Daemon::start("").await;
    let golden = golden("05_hook_deny_interrupt");
    let (hook, id) = asking(&daemon, &stdin(&golden)).await;
    run(&daemon, &["deny", &id, "--stop", "--reason", "use a pull request"]).await;
    let message = "Denied by the approver's token: use a pull request";
    let decision = json!({"behavior": "deny", "message": message, "interrupt": true});
    let expected = json!({
        "hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}});
    assert_eq!(printed(&hook.ends().await), expected);
}

#[tokio::test]
async fn a_changed_command_goes_back_as_updated_input() {
    let daemon = Daemon::start("").await;
    let (hook, id) = asking(&daemon, &stdin(&golden("01_hook_allow_once"))).await;
    let changed = run(&daemon, &["answer", &id, "--edit", "true", "--yes"]).await;
    assert_eq!(changed.code, Some(0), "{changed:?}");
    let mut input = golden("01_hook_allow_once")["frames"][0]["data"]["tool_input"].clone();
    input["command"] = json!("true");
    let decision = json!({"behavior": "allow", "updatedInput": input});
    let expected = json!({
        "hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}});
    assert_eq!(printed(&hook.ends().await), expected);
}

#[tokio::test]
async fn answers_to_questions_go_back_as_updated_input() {
    let daemon = Daemon::start("").await;
    let golden = golden("07_ask_user_question");
    let (hook, id) = asking(&daemon, &stdin(&golden)).await;
    let blank = run(&daemon, &["approve", &id]).await;
    assert_ne!(blank.code, Some(0), "an approval without answers is refused: {blank:?}");
    let answered = run(&daemon, &["answer", &id, "--text", "DuckDB, embedded", "Lint,Docs"]).await;
    assert_eq!(answered.code, Some(0), "{answered:?}");
    assert_eq!(printed(&hook.ends().await), golden["frames"][1]["data"]);
}

#[tokio::test]
async fn a_write_says_what_it_replaces_on_the_machine_of_the_agent() {
    let daemon = Daemon::start("").await;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("notes.md"), "one\ntwo\n").unwrap();
    for (name, existing, second) in [
        ("notes.md", json!({"kind": "file", "bytes": 8, "lines": 2}), "→ Replaces 2 lines with 1"),
        ("new.md", json!({"kind": "nothing"}), "→ New file of 1 line"),
    ] {
        let mut event = golden("01_hook_allow_once")["frames"][0]["data"].clone();
        event["cwd"] = json!(folder.path());
        event["tool_name"] = json!("Write");
        event["tool_input"] = json!({"file_path": folder.path().join(name), "content": "three"});
        let (hook, id) = asking(&daemon, &event.to_string()).await;
        assert_eq!(daemon.read(&id).await["call"]["existing"], existing);
        let shown = run(&daemon, &["pending", "--full"]).await;
        assert!(shown.stdout.contains(second), "{}", shown.stdout);
        run(&daemon, &["deny", &id]).await;
        hook.ends().await;
    }
}

#[tokio::test]
async fn a_card_quotes_what_a_person_said_last_where_the_config_wants_it() {
    for (config, said) in [("", Value::Null), ("[agents]\nperson_said = true\n", json!("spawn it"))]
    {
        let daemon = Daemon::start(config).await;
        for (hook, name) in [(&HOOK[..], "PermissionRequest"), (&GATE[..], "PreToolUse")] {
            let mut event = golden("01_hook_allow_once")["frames"][0]["data"].clone();
            event["hook_event_name"] = json!(name);
            event["transcript_path"] = json!(transcript());
            let mut hook = start(&daemon, hook).input(&event.to_string()).await;
            let id = hook.waits_for().await;
            let ask = daemon.read(&id).await;
            assert_eq!(ask["call"]["person_said"], said, "{name}");
            let shown = run(&daemon, &["pending", "--full"]).await.stdout;
            assert_eq!(shown.contains("says it was told"), !said.is_null(), "{shown}");
            run(&daemon, &["approve", "--yes", &id]).await;
            hook.ends().await;
        }
    }
}

#[tokio::test]
async fn a_transcript_that_cannot_be_read_holds_nothing_up() {
    let daemon = Daemon::start("[agents]\nperson_said = true\n").await;
    let mut event = golden("01_hook_allow_once")["frames"][0]["data"].clone();
    for path in [json!("/nowhere/at/all.jsonl"), json!(daemon.dir.path()), json!(""), Value::Null] {
        event["transcript_path"] = path;
        let (hook, id) = asking(&daemon, &event.to_string()).await;
        assert_eq!(daemon.read(&id).await["call"]["person_said"], Value::Null);
        run(&daemon, &["approve", "--yes", &id]).await;
        assert!(printed(&hook.ends().await).to_string().contains("allow"));
    }
}

#[tokio::test]
async fn what_a_person_said_is_no_reason_of_the_agent() {
    let rule = "[[answer_rules]]\nname = \"pushes\"\ntool = \"Bash\"\nreason = \"required\"\n";
    let daemon = Daemon::start(&format!("[agents]\nperson_said = true\n{rule}")).await;
    let mut event = golden("01_hook_allow_once")["frames"][0]["data"].clone();
    event["tool_input"] = json!({"command": "git push origin main"});
    event["transcript_path"] = json!(transcript());
    let said = printed(&start(&daemon, &HOOK).input(&event.to_string()).await.ends().await);
    assert!(said.to_string().contains("the rule pushes needs a reason"), "{said}");
    assert_eq!(daemon.open().await, Vec::<Value>::new());
}

#[tokio::test]
async fn nobody_answering_says_nothing_so_that_claudes_own_prompt_stays() {
    let daemon = Daemon::start("").await;
    let golden = golden("06_hook_no_decision");
    let (hook, id) = asking(&daemon, &stdin(&golden)).await;
    daemon.deadline_passes(&id).await;
    daemon.ask_reaches(&id, "expired").await;
    silent(&hook.ends().await);
}

#[tokio::test]
async fn whatever_is_wrong_the_hook_is_silent_and_quick() {
    let mut daemon = Daemon::start("").await;
    let request = stdin(&golden("01_hook_allow_once"));
    for garbage in ["", "[]", "{not json", "{\"hook_event_name\":\"PermissionRequest\"}"] {
        silent(&start(&daemon, &HOOK).input(garbage).await.ends().await);
    }
    assert_eq!(daemon.open().await, Vec::<Value>::new());
    daemon.stop().await;
    let began = Instant::now();
    silent(&start(&daemon, &HOOK).input(&request).await.ends().await);
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    std::fs::write(daemon.config(), "[nonsense").unwrap();
    let broken = start(&daemon, &HOOK[..2]).input(&request).await.ends().await;
    assert_eq!(broken, Ended { code: Some(0), stdout: String::new(), stderr: String::new() });
}

#[tokio::test]
async fn a_daemon_that_talks_nonsense_decides_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("countersign.sock");
    let server = tokio::net::UnixListener::bind(&socket).unwrap();
    let url = format!("unix:{}", socket.display());
    let yes = || async { axum::Json(json!({"verdict": "allow", "state": "open", "reason": "x"})) };
    let router = axum::Router::new().fallback(yes);
    tokio::spawn(async { axum::serve(server, router).await.unwrap() });
    let mut hook = tokio::process::Command::new(env!("CARGO_BIN_EXE_countersign"));
    hook.args(HOOK).env_clear().env("HOME", folder.path()).env("COUNTERSIGN__CLIENT__URL", &url);
    let request = stdin(&golden("01_hook_allow_once"));
    let ended = Process::start(hook).input(&request).await.ends().await;
    silent(&ended);
    assert!(ended.stderr.contains("cannot read: an open ask that is decided"), "{ended:?}");
}

#[tokio::test]
async fn a_no_in_the_terminal_closes_the_ask() {
    let daemon = Daemon::start("").await;
    let (hook, id) = asking(&daemon, &stdin(&golden("01_hook_allow_once"))).await;
    hook.signal("TERM");
    silent(&hook.ends().await);
    let closed = daemon.read(&id).await;
    let told = (&closed["state"], &closed["reason"]);
    assert_eq!(told, (&json!("cancelled"), &json!("cancelled: it was answered elsewhere")));
}

/// The hook is stopped while its submission is under way, so that the person's answer and the
/// signal of the terminal's are both there when it goes on.
#[tokio::test]
async fn a_person_s_answer_at_the_moment_of_the_terminal_s_was_too_late_and_the_card_says_so() {
    let daemon = Daemon::start("").await;
    for decision in ["deny", "approve"] {
        let request = stdin(&golden("01_hook_allow_once")).replace("main", decision);
        let hook = start(&daemon, &HOOK).input(&request).await;
        let open = daemon.until("/v1/asks?state=open", |asks| asks["asks"][0]["id"].is_string());
        let id = open.await["asks"][0]["id"].as_str().unwrap().to_owned();
        hook.signal("STOP");
        let (_, pressed) = daemon.answer(&id, &json!({ "decision": decision })).await;
        assert_eq!(pressed["applied"], true, "{pressed}");
        hook.signal("TERM");
        hook.signal("CONT");
        silent(&hook.ends().await);
        let ask = daemon.read(&id).await;
        assert!(ask["answer"]["overtaken"].is_string(), "{ask}");
    }
}

#[tokio::test]
async fn a_yes_in_the_terminal_closes_the_ask_when_the_call_has_run() {
    let daemon = Daemon::start("").await;
    let golden = golden("10_answered_in_terminal");
    let (hook, id) = asking(&daemon, &stdin(&golden)).await;
    let ran = golden["frames"][1]["data"].to_string();
    silent(&start(&daemon, &HOOK).input(&ran).await.ends().await);
    silent(&hook.ends().await);
    assert_eq!(daemon.read(&id).await["reason"], "cancelled: it was answered elsewhere");
}

#[tokio::test]
async fn the_end_of_the_session_closes_its_asks() {
    let daemon = Daemon::start("").await;
    let golden = golden("01_hook_allow_once");
    let (hook, id) = asking(&daemon, &stdin(&golden)).await;
    let session = &golden["frames"][0]["data"]["session_id"];
    let end = json!({"hook_event_name": "SessionEnd", "session_id": session, "reason": "exit"});
    silent(&start(&daemon, &HOOK).input(&end.to_string()).await.ends().await);
    silent(&hook.ends().await);
    assert_eq!(daemon.read(&id).await["state"], "cancelled");
}

#[tokio::test]
async fn an_agent_that_was_killed_leaves_no_open_ask() {
    let daemon = Daemon::start("").await;
    let request = daemon.dir.path().join("request.json");
    std::fs::write(&request, stdin(&golden("01_hook_allow_once"))).unwrap();
    let hook = daemon.command(&HOOK);
    let words: Vec<_> =
        [hook.as_std().get_program()].into_iter().chain(hook.as_std().get_args()).collect();
    // A shell plays the agent; `wait` keeps it from becoming the hook.
    let mut agent = tokio::process::Command::new("sh");
    agent.args(["-c", "\"$@\" < \"$REQUEST\" & wait", "agent"]).args(words);
    agent.env("REQUEST", &request).env("HOME", daemon.dir.path());
    let mut agent = Process::start(agent);
    let id = agent.waits_for().await;
    agent.signal("KILL");
    let closed = daemon.closed(&id).await;
    assert_eq!(closed["reason"], "cancelled: its session ended");
}

#[tokio::test]
async fn always_is_remembered_here_and_the_next_call_is_allowed_at_once() {
    let daemon = Daemon::start("").await;
    let mut golden = golden("01_hook_allow_once");
    golden["frames"][0]["data"]["tool_input"]["command"] = json!("git push origin main");
    let (hook, id) = asking(&daemon, &stdin(&golden)).await;
    let always = run(&daemon, &["approve", &id, "--scope", "always"]).await;
    assert_eq!(always.code, Some(0), "{always:?}");
    let allow = golden["frames"][1]["data"].clone();
    assert_eq!(printed(&hook.ends().await), allow);
    let again = start(&daemon, &HOOK).input(&stdin(&golden)).await.ends().await;
    assert_eq!(printed(&again), allow);
}
