//! Runs that can wait: `countersign host claude-code --park`, with a Claude Code of ours that keeps
//! the contract of the real one.

use crate::{
    daemon::{AGENT, APPROVER, Daemon, LONG},
    process::{Ended, Process, run},
};
use serde_json::{Value, json};
use std::{path::PathBuf, time::Duration};
use tokio::process::Command;

/// The Claude Code of these tests.
const CLAUDE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/claude.sh");
const SESSION: &str = "11111111-2222-3333-4444-555555555555";

/// Starts a run that parks after a second, with these calls.
fn host(daemon: &Daemon, calls: &[(&str, &str)]) -> Process {
    let calls: String = calls.iter().map(|(id, command)| format!("{id} {command}\n")).collect();
    std::fs::write(file(daemon, "calls"), calls).unwrap();
    Process::start(command(daemon, &["--park", "--after", "1s"]))
}

fn command(daemon: &Daemon, options: &[&str]) -> Command {
    let words = ["host", "claude-code", "--prompt", "go"].iter().chain(options).copied();
    let words: Vec<&str> = words.chain(["--", "sh", CLAUDE]).collect();
    let mut command = daemon.command(&words);
    std::fs::create_dir_all(file(daemon, "work")).unwrap();
    command.current_dir(file(daemon, "work"));
    command
}

fn file(daemon: &Daemon, name: &str) -> PathBuf {
    daemon.dir.path().join(name)
}

/// The content of a file of the Claude Code; empty for a missing one.
fn said(daemon: &Daemon, name: &str) -> String {
    std::fs::read_to_string(file(daemon, name)).unwrap_or_default()
}

/// The only parked run, once its process has ended.
async fn parked(daemon: &Daemon) -> Value {
    let is_parked = |all: &Value| all["parked"][0]["cost_usd"].is_number();
    let all = daemon.until("/v1/parked", is_parked).await;
    assert_eq!(all["parked"].as_array().unwrap().len(), 1, "{all}");
    all["parked"][0].clone()
}

async fn listed(daemon: &Daemon) -> Vec<Value> {
    daemon.get("/v1/parked", APPROVER).await.1["parked"].as_array().unwrap().clone()
}

fn id_of(parked: &Value) -> String {
    parked["ask"]["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_run_parks_itself_and_goes_on_once_with_the_answer() {
    let daemon = Daemon::start("").await;
    let host = host(&daemon, &[("toolu_1", "make deploy"), ("toolu_2", "make check")]);
    let waits = parked(&daemon).await;
    let id = id_of(&waits);
    let ask = &waits["ask"];
    assert_eq!(
        (&ask["state"], &ask["call"]["session"], &ask["call"]["args"]),
        (&json!("open"), &json!(SESSION), &json!({"command": "make deploy"}))
    );
    assert_eq!((&waits["cost_usd"], &waits["run"]["words"]), (&json!(0.01), &Value::Null));
    let list = run(&daemon, &["parked"]).await;
    for words in [&*id, "waits", "$0.01 so far", "make deploy", "/work on "] {
        assert!(list.stdout.contains(words), "{words}: {list:?}");
    }
    assert_eq!(said(&daemon, "ran"), "", "nothing runs while it waits");
    run(&daemon, &["approve", &id]).await;
    let waits = daemon
        .until("/v1/parked", |all| {
            all["parked"][0]["ask"]["id"].as_str().is_some_and(|it| it != id)
        })
        .await;
    assert_eq!(said(&daemon, "ran"), "toolu_1\n");
    let second = id_of(&waits["parked"][0]);
    run(&daemon, &["deny", &second, "--reason", "not today"]).await;
    let Ended { code, stdout, stderr } = host.ends().await;
    assert_eq!(code, Some(0), "{stderr}");
    assert_eq!(said(&daemon, "ran"), "toolu_1\n");
    assert!(said(&daemon, "told").contains("not today"), "{}", said(&daemon, "told"));
    assert_eq!(stdout.matches("tool_deferred").count(), 4, "two processes parked: {stdout}");
    assert_eq!(listed(&daemon).await, Vec::<Value>::new());
    let ask = daemon.read(&id).await;
    assert_eq!((&ask["state"], &ask["verdict"]), (&json!("answered"), &json!("allow")));
}

#[tokio::test]
async fn a_run_goes_on_by_a_command_after_everything_was_killed() {
    let mut daemon = Daemon::start("").await;
    let host = host(&daemon, &[("toolu_1", "make deploy")]);
    let id = id_of(&parked(&daemon).await);
    host.signal("KILL");
    daemon.kill().await;
    daemon.run().await;
    let early = run(&daemon, &["parked", "resume", &id]).await;
    assert_eq!(early.code, Some(1), "{early:?}");
    assert!(early.stderr.contains("its call still waits for an answer"), "{early:?}");
    run(&daemon, &["approve", &id]).await;
    let resumed = run(&daemon, &["parked", "resume"]).await;
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    assert_eq!(said(&daemon, "ran"), "toolu_1\n");
    let again = run(&daemon, &["parked", "resume", &id]).await;
    assert!(again.stderr.contains("no parked run waits for"), "{again:?}");
    assert_eq!(run(&daemon, &["parked"]).await.short(), (Some(0), "No run is parked.\n"));
    assert_eq!(said(&daemon, "ran"), "toolu_1\n");
}

#[tokio::test]
async fn a_worker_goes_on_with_what_is_answered_until_it_is_stopped() {
    let mut daemon = Daemon::start("").await;
    let host = host(&daemon, &[("toolu_1", "make deploy"), ("toolu_2", "make check")]);
    let first = id_of(&parked(&daemon).await);
    host.signal("KILL");
    let worker = Process::start(daemon.command(&["parked", "resume", "--watch"]));
    run(&daemon, &["approve", &first]).await;
    let is_second = |all: &Value| {
        all["parked"][0]["ask"]["call"]["args"]["command"] == "make check"
            && all["parked"][0]["cost_usd"].is_number()
    };
    let second = id_of(&daemon.until("/v1/parked", is_second).await["parked"][0]);
    assert_eq!(said(&daemon, "ran"), "toolu_1\n");
    // It outlives the daemon.
    daemon.kill().await;
    daemon.run().await;
    run(&daemon, &["approve", &second]).await;
    says(&daemon, "ran", "toolu_1\ntoolu_2\n").await;
    worker.signal("TERM");
    assert_eq!(worker.ends().await.code, Some(130));
    assert_eq!(listed(&daemon).await, Vec::<Value>::new());
}

#[tokio::test]
async fn of_two_that_resume_a_run_one_does() {
    let daemon = Daemon::start("").await;
    let host = host(&daemon, &[("toolu_1", "make deploy")]);
    let id = id_of(&parked(&daemon).await);
    host.signal("KILL");
    run(&daemon, &["approve", &id]).await;
    let words = ["parked", "resume", &*id];
    let all = futures::future::join_all((0..4).map(|_| run(&daemon, &words))).await;
    let good = all.iter().filter(|ended| ended.code == Some(0)).count();
    assert_eq!(good, 1, "{all:?}");
    assert_eq!(said(&daemon, "ran"), "toolu_1\n");
}

#[tokio::test]
async fn a_run_whose_conversation_is_not_here_says_so_and_stays_parked() {
    let daemon = Daemon::start("").await;
    let host = host(&daemon, &[("toolu_1", "make deploy")]);
    let id = id_of(&parked(&daemon).await);
    host.signal("KILL");
    run(&daemon, &["deny", &id]).await;
    let (here, away) = (file(&daemon, "transcript.jsonl"), file(&daemon, "away.jsonl"));
    std::fs::rename(&here, &away).unwrap();
    let refused = run(&daemon, &["parked", "resume", &id]).await;
    let says = format!("its conversation {} is not on this machine", here.display());
    assert!(refused.code == Some(1) && refused.stderr.contains(&says), "{refused:?}");
    assert_eq!(run(&daemon, &["parked", "resume"]).await.code, Some(0), "nothing is ready here");
    std::fs::rename(&away, &here).unwrap();
    assert_eq!(run(&daemon, &["parked", "resume"]).await.code, Some(0));
    assert!(said(&daemon, "told").starts_with("toolu_1: "), "{}", said(&daemon, "told"));
    assert_eq!((said(&daemon, "ran"), listed(&daemon).await), (String::new(), vec![]));
}

/// Resumes a run as somebody does who works with the token that the agent has, too.
async fn resumed_by_token(daemon: &Daemon, id: &str) -> Ended {
    let mut resume = daemon.command(&["parked", "resume", id]);
    resume.env("COUNTERSIGN__CLIENT__URL", &daemon.url).env("COUNTERSIGN__CLIENT__TOKEN", AGENT);
    Process::start(resume).ends().await
}

#[tokio::test]
async fn what_an_agent_parks_by_itself_starts_nothing_that_no_person_saw() {
    let daemon = Daemon::start("").await;
    let folder = daemon.dir.path();
    let id = daemon.ask(&call(&json!({}))).await;
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let transcript = file(&daemon, "conversation.jsonl");
    std::fs::write(&transcript, "").unwrap();
    let words = json!(["sh", "-c", "touch 'not asked'"]);
    let run_of = json!({"host": host.trim(), "cwd": folder, "transcript": transcript,
        "words": words, "after_s": 600, "seal": "AAAA"});
    let parked = daemon.post(&format!("/v1/parked/{id}"), AGENT, &run_of).await;
    assert_eq!(parked, (200, json!({"parked": true})));
    run(&daemon, &["approve", &id]).await;
    let refused = resumed_by_token(&daemon, &id).await;
    let says = format!(
        "this run was not started by you on this machine. It would start `sh -c \"touch 'not asked'\"` \
         in {}. If you want that: `countersign parked resume {id} --yes`",
        folder.display()
    );
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains(&says), "{refused:?}");
    assert!(!folder.join("not asked").exists());
}

#[tokio::test]
async fn what_was_sealed_for_one_ask_starts_no_other_session() {
    let daemon = Daemon::start("").await;
    let host = host(&daemon, &[("toolu_1", "make deploy")]);
    let waits = parked(&daemon).await;
    let (id, transcript) = (id_of(&waits), &waits["run"]["transcript"]);
    host.signal("KILL");
    run(&daemon, &["approve", &id]).await;
    // What its agent can read: the option of its hook, and the run that it may resume.
    let option = shlex::split(&said(&daemon, "hook")).unwrap().pop().unwrap();
    let option: Value = serde_json::from_str(&option).unwrap();
    let path = format!("/v1/parked/{id}/resume");
    let (_, right) = daemon.post(&path, APPROVER, &Value::Null).await;
    for (session, run_of) in [("started", &option["run"]), ("parked", &right["run"])] {
        assert!(run_of["seal"].is_string(), "{session}: {run_of}");
        let other = daemon.ask(&call(&json!({ "session": session }))).await;
        let mut run_of = run_of.clone();
        run_of["transcript"] = transcript.clone();
        let reply = daemon.post(&format!("/v1/parked/{other}"), AGENT, &run_of).await;
        assert_eq!(reply, (200, json!({"parked": true})));
        run(&daemon, &["approve", &other]).await;
        let refused = resumed_by_token(&daemon, &other).await;
        let says = "this run was not started by you on this machine";
        assert!(refused.code == Some(1) && refused.stderr.contains(says), "{refused:?}");
    }
}

#[tokio::test]
async fn a_run_that_names_no_machine_is_listed_with_its_folder_alone() {
    let daemon = Daemon::start("").await;
    let id = parks(&daemon, "s").await;
    let list = run(&daemon, &["parked"]).await;
    assert!(list.stdout.starts_with(&id) && list.stdout.ends_with("  /shop\n"), "{list:?}");
}

#[tokio::test]
async fn a_field_that_is_not_known_parks_nothing() {
    let daemon = Daemon::start("").await;
    let id = daemon.ask(&call(&json!({}))).await;
    let run_of = json!({"cwd": "/shop", "words": ["claude"], "after_s": 600, "hosts": "mill"});
    let (status, reply) = daemon.post(&format!("/v1/parked/{id}"), AGENT, &run_of).await;
    assert_eq!(status, 400);
    assert!(reply["error"].as_str().unwrap().contains("unknown field `hosts`"), "{reply}");
    let ended = json!({"epoch": 0, "put_of": true});
    let (status, _) = daemon.post(&format!("/v1/parked/{id}/ended"), AGENT, &ended).await;
    assert_eq!((status, listed(&daemon).await), (400, vec![]));
}

#[tokio::test]
async fn a_run_that_is_given_up_or_whose_session_hook_reports_an_end_is_never_resumed_by_mistake() {
    let daemon = Daemon::start("").await;
    let host = host(&daemon, &[("toolu_1", "make deploy")]);
    let id = id_of(&parked(&daemon).await);
    let end = json!({"agent": "claude-code"});
    daemon.post(&format!("/v1/sessions/{SESSION}/end"), AGENT, &end).await;
    assert_eq!(daemon.read(&id).await["state"], "open", "only its process has ended");
    assert_eq!(run(&daemon, &["parked", "drop", &id]).await.short(), (Some(0), "Given up.\n"));
    assert_eq!(daemon.read(&id).await["state"], "cancelled");
    let ended = host.ends().await;
    assert!(ended.code == Some(1) && ended.stderr.contains("was given up"), "{ended:?}");
    assert_eq!((said(&daemon, "ran"), listed(&daemon).await), (String::new(), vec![]));
}

/// The call that is parked in the tests of the API, with these changes.
fn call(changes: &Value) -> Value {
    let mut call = json!({"agent": "claude-code", "session": "s", "cwd": "/shop", "tool": "Bash",
        "args": {"command": "make deploy"}, "meta": {"tool_use_id": "toolu_1"}});
    call.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    call
}

/// Parks a run by the API; its ask.
async fn parks(daemon: &Daemon, session: &str) -> String {
    let id = daemon.ask(&call(&json!({ "session": session }))).await;
    let run = json!({"cwd": "/shop", "words": ["claude"], "after_s": 600});
    let path = format!("/v1/parked/{id}");
    assert_eq!(daemon.post(&path, AGENT, &run).await, (200, json!({"parked": true})));
    id
}

async fn takes(daemon: &Daemon, id: &str, epoch: i64, changes: &Value) -> (u16, Value) {
    let path = format!("/v1/parked/{id}/take?epoch={epoch}");
    let (status, reply) = daemon.post(&path, AGENT, &call(changes)).await;
    (status, if status == 200 { reply["verdict"].clone() } else { reply["error"].clone() })
}

async fn resumes(daemon: &Daemon, id: &str) -> (u16, Value) {
    daemon.post(&format!("/v1/parked/{id}/resume"), AGENT, &Value::Null).await
}

#[tokio::test]
async fn an_answer_is_taken_by_exactly_its_call_in_the_run_that_was_resumed_last() {
    let daemon = Daemon::start("").await;
    let id = parks(&daemon, "s").await;
    assert_eq!(resumes(&daemon, &id).await.0, 409, "it is not answered");
    let second = daemon.ask(&call(&json!({"args": {"command": "make other"}}))).await;
    let run = json!({"cwd": "/shop", "words": ["claude"], "after_s": 600});
    let (_, refused) = daemon.post(&format!("/v1/parked/{second}"), AGENT, &run).await;
    assert!(refused["reason"].as_str().unwrap().starts_with("parked: one at a time"), "{refused}");
    daemon.answer(&id, &json!({"decision": "approve"})).await;
    let (status, right) = resumes(&daemon, &id).await;
    assert_eq!(
        (status, &right["epoch"], &right["run"]["words"]),
        (200, &json!(1), &json!(["claude"]))
    );
    assert_eq!(resumes(&daemon, &id).await.0, 409, "it is held");
    daemon.post("/v1/pause", APPROVER, &json!({})).await;
    assert_eq!(takes(&daemon, &id, 1, &json!({})).await, (409, json!("everything is paused")));
    daemon.post("/v1/resume", APPROVER, &json!({})).await;
    for stale in [0, 2] {
        let (status, _) = takes(&daemon, &id, stale, &json!({})).await;
        assert_eq!(status, 409, "another number");
    }
    assert_eq!(takes(&daemon, &id, 1, &json!({})).await, (200, json!("allow")));
    assert_eq!(takes(&daemon, &id, 1, &json!({})).await, (200, json!("allow")), "the same process");
    assert_eq!(takes(&daemon, &id, 2, &json!({})).await.0, 409, "nobody else");
    assert_eq!(resumes(&daemon, &id).await.0, 404, "it is not parked any more");
}

#[tokio::test]
async fn another_call_and_another_folder_get_no_approval() {
    let daemon = Daemon::start("").await;
    for (session, changes) in [
        ("a", json!({"session": "a", "args": {"command": "make deploy2"}})),
        ("b", json!({"session": "b", "cwd": "/shop/sub"})),
        ("c", json!({"session": "x"})),
        ("d", json!({"session": "d", "tool": "Write"})),
    ] {
        let id = parks(&daemon, session).await;
        daemon.answer(&id, &json!({"decision": "approve"})).await;
        assert_eq!(resumes(&daemon, &id).await.0, 200);
        assert_eq!(takes(&daemon, &id, 1, &changes).await, (200, json!("deny")), "{changes}");
        let same = json!({ "session": session });
        // The run was told: it is not parked any more, and its approval is gone with it.
        assert_eq!(resumes(&daemon, &id).await.0, 404);
        assert_eq!(takes(&daemon, &id, 2, &same).await.0, 409);
    }
}

#[tokio::test]
async fn a_process_that_put_its_call_off_again_has_taken_nothing() {
    let daemon = Daemon::start("").await;
    let id = parks(&daemon, "s").await;
    daemon.answer(&id, &json!({"decision": "approve"})).await;
    resumes(&daemon, &id).await;
    // Its reply was lost on the way to the hook.
    takes(&daemon, &id, 1, &json!({})).await;
    let ended = |epoch: i64, put_off: bool| {
        let body = json!({"epoch": epoch, "put_off": put_off, "cost_usd": 0.5});
        let path = format!("/v1/parked/{id}/ended");
        async { daemon.post(&{ path }, AGENT, &{ body }).await }
    };
    assert_eq!(ended(1, false).await.1, json!({"parked": false}), "it ran");
    assert_eq!(ended(0, true).await.1, json!({"parked": false}), "another one did not");
    assert_eq!(ended(1, true).await.1, json!({"parked": true}));
    assert_eq!(resumes(&daemon, &id).await.1["epoch"], json!(2));
    assert_eq!(takes(&daemon, &id, 2, &json!({})).await, (200, json!("allow")));
}

/// The hook of the host, on this call.
async fn hook(daemon: &Daemon, attended: &str, facts: &Value) -> Ended {
    std::fs::write(file(daemon, "transcript.jsonl"), "").unwrap();
    let run = json!({"run": {"cwd": "/shop", "words": ["claude"], "after_s": 1}}).to_string();
    let mut event = json!({"hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/shop",
        "tool_name": "Bash", "tool_input": {"command": "make deploy"}, "tool_use_id": "toolu_1",
        "transcript_path": file(daemon, "transcript.jsonl")});
    event.as_object_mut().unwrap().extend(facts.as_object().unwrap().clone());
    let mut command = daemon.command(&["hook", "claude-code", "--gate", "--park", &run]);
    command.env("CLAUDE_CODE_SESSION_ATTENDED", attended);
    Process::start(command).input(&event.to_string()).await.ends().await
}

/// What a hook that denies tells the model.
fn denial(ended: &Ended) -> String {
    let said: Value = serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{ended:?}"));
    let said = &said["hookSpecificOutput"];
    assert_eq!(said["permissionDecision"], "deny", "{ended:?}");
    said["permissionDecisionReason"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_call_of_a_terminal_or_a_subagent_is_never_put_off() {
    let daemon = Daemon::start("[policy]\ntimeout = \"3s\"").await;
    for (attended, facts) in [("1", json!({})), ("0", json!({"agent_id": "a7"}))] {
        let ended = hook(&daemon, attended, &facts).await;
        assert_eq!((ended.code, &*ended.stdout), (Some(2), ""), "{ended:?}");
    }
    let lost = hook(&daemon, "0", &json!({"transcript_path": "/nowhere.jsonl"})).await;
    assert!(denial(&lost).contains("its conversation is not kept in /nowhere.jsonl"), "{lost:?}");
    assert_eq!(listed(&daemon).await, Vec::<Value>::new());
    let put_off = hook(&daemon, "0", &json!({})).await;
    assert!(put_off.code == Some(0) && put_off.stdout.contains("\"defer\""), "{put_off:?}");
    let second = hook(&daemon, "0", &json!({"tool_use_id": "toolu_2"})).await;
    assert!(denial(&second).contains("parked: one at a time"), "{second:?}");
}

#[tokio::test]
async fn a_host_parks_only_with_a_prompt_and_without_another_gate() {
    let daemon = Daemon::start("").await;
    let words = ["host", "claude-code", "--park", "--", "sh", CLAUDE];
    assert_eq!(run(&daemon, &words).await.code, Some(2));
    let connected = run(&daemon, &["connect", "claude-code", "--gate", "--yes"]).await;
    assert_eq!(connected.code, Some(0), "{connected:?}");
    let refused = Process::start(command(&daemon, &["--park"])).ends().await;
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("connects Claude Code with --gate"), "{refused:?}");
}

// Killed at any moment: resumed once, or still parked; never twice.

/// What is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Killed {
    /// The host alone; the Claude Code that it started lives on for a moment.
    Host,
    /// The host with its Claude Code and its hook.
    Run,
    /// The same, and the daemon, which starts again.
    Everything,
}

const KILLED: [Killed; 3] = [Killed::Host, Killed::Run, Killed::Everything];

/// Kills it, where a process of the Claude Code has stopped before a step, and lets that end.
async fn kill(daemon: &mut Daemon, host: &Process, what: Killed) {
    if what == Killed::Everything {
        daemon.kill().await;
    }
    match what {
        Killed::Host => host.signal("KILL"),
        Killed::Run | Killed::Everything => host.signal_group("KILL"),
    }
    if what == Killed::Everything {
        daemon.run().await;
    }
}

/// Starts a command in a process group of its own.
fn in_group(mut command: Command) -> Process {
    Process::start({
        command.process_group(0);
        command
    })
}

/// Waits until the Claude Code has stopped before the step that `hold` names.
async fn held(daemon: &Daemon, step: &str) {
    says(daemon, "held", &format!("{step}\n")).await;
    std::fs::remove_file(file(daemon, "held")).unwrap();
}

/// Waits until a file of the Claude Code has this content.
async fn says(daemon: &Daemon, name: &str, text: &str) {
    let since = std::time::Instant::now();
    while said(daemon, name) != text {
        let now = (said(daemon, name), said(daemon, "hook.err"));
        assert!(since.elapsed() < LONG, "`{name}` never says {text}: {now:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Resumes what can be resumed, until nothing is parked or that does not help.
async fn settles(daemon: &Daemon, id: &str) {
    for _ in 0..3 {
        let free = |all: &Value| all["parked"][0]["resuming"] != true;
        let since = std::time::Instant::now();
        while !free(&daemon.get("/v1/parked", APPROVER).await.1) {
            assert!(since.elapsed() < LONG * 3, "it is held for ever");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        if listed(daemon).await.is_empty() {
            return;
        }
        run(daemon, &["parked", "resume", id]).await;
    }
}

/// A run that is parked and approved, and whose host is gone.
async fn approved(daemon: &Daemon) -> String {
    let host = host(daemon, &[("toolu_1", "make deploy")]);
    let id = id_of(&parked(daemon).await);
    host.signal("KILL");
    run(daemon, &["approve", &id]).await;
    id
}

#[tokio::test]
async fn a_run_that_is_killed_after_it_put_its_call_off_is_resumed_once() {
    for what in KILLED {
        let mut daemon = Daemon::start("").await;
        std::fs::write(file(&daemon, "calls"), "toolu_1 make deploy\n").unwrap();
        let host = in_group(command(&daemon, &["--park", "--after", "1s"]));
        let id = id_of(&parked(&daemon).await);
        kill(&mut daemon, &host, what).await;
        run(&daemon, &["approve", &id]).await;
        settles(&daemon, &id).await;
        assert_eq!(said(&daemon, "ran"), "toolu_1\n", "{what:?}");
        assert_eq!(listed(&daemon).await, Vec::<Value>::new(), "{what:?}");
    }
}

#[tokio::test]
async fn a_run_that_is_killed_between_parking_and_putting_off_runs_nothing() {
    for what in KILLED {
        let mut daemon = Daemon::start("").await;
        std::fs::write(file(&daemon, "calls"), "toolu_1 make deploy\n").unwrap();
        std::fs::write(file(&daemon, "hold"), "decided").unwrap();
        let host = in_group(command(&daemon, &["--park", "--after", "1s"]));
        held(&daemon, "decided").await;
        kill(&mut daemon, &host, what).await;
        let id = id_of(&listed(&daemon).await[0]);
        run(&daemon, &["approve", &id]).await;
        let resumed = run(&daemon, &["parked", "resume", &id]).await;
        assert!(resumed.stderr.contains("the run is still parked"), "{what:?}: {resumed:?}");
        assert_eq!(said(&daemon, "ran"), "", "{what:?}");
        assert_eq!(id_of(&listed(&daemon).await[0]), id, "{what:?}");
    }
}

// Each waits until the right of the one that was killed has ended.

#[tokio::test]
async fn a_run_whose_host_is_killed_before_it_took_its_answer_is_resumed_once() {
    before_it_took_its_answer(Killed::Host).await;
}

#[tokio::test]
async fn a_run_that_is_killed_before_it_took_its_answer_is_resumed_once() {
    before_it_took_its_answer(Killed::Run).await;
}

#[tokio::test]
async fn a_run_that_is_killed_with_its_daemon_before_it_took_its_answer_is_resumed_once() {
    before_it_took_its_answer(Killed::Everything).await;
}

async fn before_it_took_its_answer(what: Killed) {
    let mut daemon = Daemon::start("").await;
    let id = approved(&daemon).await;
    std::fs::write(file(&daemon, "hold"), "hook").unwrap();
    let resuming = in_group(daemon.command(&["parked", "resume", &id]));
    held(&daemon, "hook").await;
    kill(&mut daemon, &resuming, what).await;
    assert_eq!(said(&daemon, "ran"), "");
    settles(&daemon, &id).await;
    assert_eq!(said(&daemon, "ran"), "toolu_1\n");
    assert_eq!(listed(&daemon).await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_run_that_is_killed_after_it_took_its_answer_is_never_resumed_again() {
    for step in ["decided", "run"] {
        for what in KILLED {
            let mut daemon = Daemon::start("").await;
            let id = approved(&daemon).await;
            std::fs::write(file(&daemon, "hold"), step).unwrap();
            let resuming = in_group(daemon.command(&["parked", "resume", &id]));
            held(&daemon, step).await;
            kill(&mut daemon, &resuming, what).await;
            settles(&daemon, &id).await;
            assert_eq!(listed(&daemon).await, Vec::<Value>::new(), "{step}, {what:?}");
            let again = run(&daemon, &["parked", "resume", &id]).await;
            assert!(again.stderr.contains("no parked run waits for"), "{again:?}");
            assert_eq!(said(&daemon, "ran"), "", "{step}, {what:?}: it may not have run");
        }
    }
}

/// The daemon is killed at some moment while a run is resumed, and starts again: it ran once.
#[tokio::test]
async fn a_daemon_that_is_killed_while_a_run_is_resumed_lets_its_call_run_once() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let rounds = number("COUNTERSIGN_CRASHES").unwrap_or(4);
    let seed = number("COUNTERSIGN_SEED").unwrap_or_else(rand::random);
    println!("COUNTERSIGN_CRASHES={rounds} COUNTERSIGN_SEED={seed}");
    for round in 0..rounds {
        let mut daemon = Daemon::start("").await;
        let id = approved(&daemon).await;
        let resuming = Process::start(daemon.command(&["parked", "resume", &id]));
        // A moment of the test's own choice, and no event: it is to be any.
        let moment = (seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(round * 97)) >> 33;
        tokio::time::sleep(Duration::from_millis(moment % 600)).await;
        daemon.kill().await;
        daemon.run().await;
        resuming.ends().await;
        settles(&daemon, &id).await;
        assert_eq!(said(&daemon, "ran"), "toolu_1\n", "round {round}");
        assert_eq!(listed(&daemon).await, Vec::<Value>::new(), "round {round}");
    }
}

#[tokio::test]
async fn a_restored_backup_resumes_nothing_that_was_resumed_since() {
    let mut daemon = Daemon::start("").await;
    let id = approved(&daemon).await;
    let copy = file(&daemon, "copy.db").display().to_string();
    assert_eq!(run(&daemon, &["backup", &copy]).await.code, Some(0));
    assert_eq!(run(&daemon, &["parked", "resume", &id]).await.code, Some(0));
    assert!(daemon.stop().await);
    let restored = run(&daemon, &["restore", &copy]).await;
    assert_eq!(restored.code, Some(0), "{restored:?}");
    daemon.run().await;
    assert_eq!(listed(&daemon).await, Vec::<Value>::new());
    assert_eq!(said(&daemon, "ran"), "toolu_1\n");
}
