//! `log export`, `log verify` and `log key`: the log proves itself, and docs/verify_log.py agrees.

use crate::{
    daemon::{AGENT, APPROVER, Daemon, LONG, shell},
    process::{Ended, run},
};
use serde_json::{Value, json};
use std::{collections::BTreeSet, fs, os::unix::fs::PermissionsExt, time::Instant};
use tokio::process::Command;

/// Calls that are allowed, denied and answered by a person.
async fn everything(daemon: &Daemon) -> String {
    assert_eq!(daemon.call(&shell("ls -l")).await.1["verdict"], "allow");
    assert_eq!(daemon.call(&shell("countersign approve k8xd8s4n")).await.1["verdict"], "deny");
    let id = daemon.ask(&shell("git push origin main")).await;
    let approve = json!({"decision": "approve", "scope": "always"});
    assert_eq!(daemon.answer(&id, &approve).await.0, 200);
    id
}

/// Exports the log once it has rows of these kinds; the file's lines.
async fn export(daemon: &Daemon, name: &str, kinds: &[&str]) -> Vec<String> {
    let file = daemon.dir.path().join(name);
    let since = Instant::now();
    loop {
        let _ = fs::remove_file(&file);
        let ended = run(daemon, &["log", "export", file.to_str().unwrap()]).await;
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let text = fs::read_to_string(&file).unwrap();
        let found: BTreeSet<String> = rows(&text).iter().map(|row| kind(row).to_owned()).collect();
        if kinds.iter().all(|kind| found.contains(*kind)) {
            assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
            return text.lines().map(str::to_owned).collect();
        }
        assert!(since.elapsed() < LONG, "{kinds:?} are not all among {found:?}");
    }
}

fn rows(text: &str) -> Vec<Value> {
    let rows = text.lines().filter(|line| line.starts_with("{\"seq\":"));
    rows.map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn kind(row: &Value) -> &str {
    row["kind"].as_str().unwrap()
}

/// What countersign and the script say of these lines.
async fn verify(daemon: &Daemon, lines: &[String], more: &[&str]) -> (Ended, Option<bool>) {
    let file = daemon.dir.path().join("checked.jsonl");
    fs::write(&file, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    let file = file.to_str().unwrap();
    let ended = run(daemon, &[&["log", "verify", file], more].concat()).await;
    let mut script = Command::new("python3");
    script
        .args([&[concat!(env!("CARGO_MANIFEST_DIR"), "/docs/verify_log.py"), file], more].concat());
    let agrees = match script.output().await {
        Ok(said) => Some(said.status.success()),
        Err(_) => None,
    };
    (ended, agrees.filter(|_| more.is_empty()))
}

#[tokio::test]
async fn what_happened_is_proven_by_an_export_and_a_second_implementation_agrees() {
    let daemon = Daemon::start("").await;
    let id = everything(&daemon).await;
    let kinds = ["config", "rules", "allowed", "ruled", "asked", "answered", "shown"];
    let lines = export(&daemon, "one.jsonl", &kinds[..6]).await;
    let text = lines.join("\n");
    assert!(rows(&text).iter().any(|row| kind(row) == "asked" && row["ask"] == *id));
    for secret in [AGENT, APPROVER] {
        assert!(!text.contains(secret), "the log has {secret}");
    }
    let key = run(&daemon, &["log", "key"]).await.stdout.trim().to_owned();
    let (proven, script) = verify(&daemon, &lines, &[]).await;
    assert_eq!(proven.code, Some(0), "{proven:?}");
    assert!(proven.stdout.contains(&format!("key   {key}\n")), "{proven:?}");
    assert_ne!(script, Some(false), "the script disagrees");
    let head = proven.stdout.lines().find_map(|line| line.strip_prefix("head  ")).unwrap();
    let signed = run(&daemon, &["log", "head"]).await.stdout;
    let file = daemon.dir.path().join("witness").display().to_string();
    fs::write(&file, format!("{head}\n{signed}\n{}\n", lines[2])).unwrap();
    let pinned = ["--key", &key, "--witness", head];
    assert_eq!(verify(&daemon, &lines, &pinned).await.0.code, Some(0));
    let other = ["--key", &"0".repeat(64)];
    let refused = verify(&daemon, &lines, &other).await.0;
    assert_eq!(refused.code, Some(6), "{refused:?}");
    assert!(refused.stdout.contains("was signed by another key"), "{refused:?}");
    for witness in [head, signed.trim(), &file] {
        let live = run(&daemon, &["log", "verify", "--witness", witness]).await;
        assert_eq!(live.code, Some(0), "{witness}: {live:?}");
    }
    let other = head.replace(head.split_once(':').unwrap().1, &"0".repeat(64));
    let cut = run(&daemon, &["log", "verify", "--witness", &other]).await;
    assert_eq!(cut.code, Some(6), "{cut:?}");
    fs::write(&file, "nothing\n").unwrap();
    assert_eq!(run(&daemon, &["log", "verify", "--witness", &file]).await.code, Some(1));
}

#[tokio::test]
async fn what_is_changed_removed_moved_or_cut_off_is_named_and_the_script_finds_it_too() {
    let daemon = Daemon::start("").await;
    everything(&daemon).await;
    let lines = export(&daemon, "one.jsonl", &["allowed", "ruled", "answered"]).await;
    let rows: Vec<usize> =
        (0..lines.len()).filter(|at| lines[*at].starts_with("{\"seq\":")).collect();
    let (second, third) = (rows[1], rows[2]);
    let edit = |change: &dyn Fn(&mut Vec<String>)| {
        let mut lines = lines.clone();
        change(&mut lines);
        lines
    };
    let cases = [
        (
            edit(&|all| all[second] = all[second].replace("\"at\":1", "\"at\":2")),
            "row 2 was changed",
        ),
        (edit(&|all| drop(all.remove(second))), "row 2 is missing"),
        (edit(&|all| all.swap(second, third)), "row 2 stands behind a later row"),
        (edit(&|all| all.insert(third + 1, all[third].clone())), "row 3 stands behind a later row"),
        (edit(&|all| all.truncate(third)), "are missing"),
        (edit(&|all| drop(all.remove(0))), "this is not a log export"),
        (edit(&|all| all[second] = all[second].replace("{\"seq", "{ \"seq")), "is not as"),
        // Two exports in one file; the last line cut in its middle; rows numbered anew; an older
        // checkpoint in the place of the last one.
        (edit(&|all| all.extend(all.clone())), "is not as"),
        (edit(&|all| all[third] = all[third].chars().take(40).collect()), "is not as"),
        (edit(&|all| all[second] = all[second].replace("\"seq\":2,", "\"seq\":20,")), "missing"),
        (
            edit(&|all| {
                let is = |line: &&String| line.starts_with("{\"checkpoint\":");
                let first = all.iter().find(is).unwrap().clone();
                *all.last_mut().unwrap() = first.replace("\"checkpoint\":", "\"checkpoint\":1");
            }),
            "checkpoint",
        ),
    ];
    for (tampered, wanted) in cases {
        let (found, script) = verify(&daemon, &tampered, &[]).await;
        assert_eq!(found.code, Some(6), "{wanted}: {found:?}");
        assert!(found.stdout.contains(wanted), "{wanted}: {found:?}");
        assert_ne!(script, Some(true), "the script finds nothing: {wanted}");
    }
}

#[tokio::test]
async fn answers_are_in_the_log_of_a_killed_daemon_and_allowed_calls_in_that_of_a_stopped_one() {
    let mut daemon = Daemon::start("").await;
    let id = daemon.ask(&shell("git push origin main")).await;
    assert_eq!(daemon.answer(&id, &json!({"decision": "deny"})).await.0, 200);
    daemon.kill().await;
    daemon.run().await;
    let lines = export(&daemon, "killed.jsonl", &["asked", "answered"]).await;
    assert_eq!(verify(&daemon, &lines, &[]).await.0.code, Some(0));
    assert_eq!(daemon.call(&shell("ls -l")).await.1["verdict"], "allow");
    assert!(daemon.stop().await);
    daemon.run().await;
    let lines = export(&daemon, "stopped.jsonl", &["allowed"]).await;
    assert_eq!(verify(&daemon, &lines, &[]).await.0.code, Some(0));
}

#[tokio::test]
async fn a_store_that_was_put_back_is_noted_and_an_agent_gets_no_log() {
    let mut daemon = Daemon::start("").await;
    everything(&daemon).await;
    export(&daemon, "one.jsonl", &["answered"]).await;
    assert_eq!(daemon.get("/v1/log", AGENT).await.0, 403);
    let over = run(&daemon, &["log", "export", daemon.config().to_str().unwrap()]).await;
    assert_eq!(over.code, Some(1), "it writes over another file: {over:?}");
    assert!(daemon.stop().await);
    // The daemon does not go by what it did not sign.
    let head = daemon.dir.path().join("state/log.head");
    fs::write(&head, format!("999:{}\n", "0".repeat(64))).unwrap();
    daemon.run().await;
    let lines = export(&daemon, "back.jsonl", &["log_broken"]).await;
    let (found, script) = verify(&daemon, &lines, &[]).await;
    assert_eq!(found.code, Some(6), "{found:?}");
    assert!(found.stdout.contains("log.head in the state folder is not as"), "{found:?}");
    assert_ne!(script, Some(true), "the script finds nothing");
}

/// The rows about the key: how, and which.
fn keys(lines: &[String]) -> Vec<(String, String)> {
    let rows = rows(&lines.join("\n")).into_iter().filter(|row| kind(row) == "log_key");
    let data = |row: Value| serde_json::from_str(row["data"].as_str().unwrap()).unwrap();
    let told = rows.map(data).map(|data: Value| {
        let text = |name: &str| data[name].as_str().unwrap().to_owned();
        (text("how"), text("key"))
    });
    told.collect()
}

#[tokio::test]
async fn a_key_that_is_gone_is_told_by_the_daemon_by_doctor_and_in_the_log_until_it_is_accepted() {
    let mut daemon = Daemon::start("").await;
    everything(&daemon).await;
    let key = |ended: Ended| {
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended.stdout.trim().to_owned()
    };
    let first = key(run(&daemon, &["log", "key"]).await);
    assert!(!run(&daemon, &["doctor"]).await.stdout.contains("log key"));
    assert!(daemon.stop().await);
    fs::remove_file(daemon.dir.path().join("state/log.key")).unwrap();
    // Without the daemon doctor reads the files.
    let told = run(&daemon, &["doctor"]).await;
    assert!(told.stdout.contains("log key") && told.stdout.contains("is missing"), "{told:?}");
    daemon.run().await;
    let second = key(run(&daemon, &["log", "key"]).await);
    assert_ne!(first, second);
    daemon.says("the key of the log changed, and nobody rotated it").await;
    let told = run(&daemon, &["doctor"]).await;
    assert_eq!(told.code, Some(1), "{told:?}");
    assert!(told.stdout.contains("countersign log key --accept"), "{told:?}");
    let told = run(&daemon, &["status"]).await;
    assert!(told.stdout.contains("log key: the key of the log changed"), "{told:?}");
    // Another start changes nothing, and no agent ends it.
    assert!(daemon.stop().await);
    daemon.run().await;
    let accept = json!({"change": "accept"});
    assert_eq!(daemon.post("/v1/log/key", AGENT, &accept).await.0, 403);
    assert!(daemon.get("/readyz", AGENT).await.1["log_key"].is_object());
    assert_eq!(key(run(&daemon, &["log", "key", "--accept"]).await), second);
    assert_eq!(daemon.get("/readyz", AGENT).await.1["log_key"], Value::Null);
    let lines = export(&daemon, "one.jsonl", &["log_key"]).await;
    let how = |how: &str| (how.to_owned(), second.clone());
    assert_eq!(keys(&lines), [how("unexplained"), how("accepted")]);
    let pinned = verify(&daemon, &lines, &["--key", &first, "--key", &second]).await.0;
    assert_eq!(pinned.code, Some(0), "{pinned:?}");
    let only = verify(&daemon, &lines, &["--key", &first]).await.0;
    assert_eq!(only.code, Some(6), "who pinned the first key hears of it: {only:?}");
}

#[tokio::test]
async fn a_rotation_is_vouched_for_by_the_old_key_and_a_reload_finds_a_file_that_is_gone() {
    let mut daemon = Daemon::start("").await;
    everything(&daemon).await;
    let old = run(&daemon, &["log", "key"]).await.stdout.trim().to_owned();
    let rotated = run(&daemon, &["log", "key", "--rotate"]).await;
    assert_eq!(rotated.code, Some(0), "{rotated:?}");
    let new = rotated.stdout.trim().to_owned();
    assert_ne!(old, new);
    assert!(daemon.stop().await);
    daemon.run().await;
    assert_eq!(daemon.get("/readyz", AGENT).await.1["log_key"], Value::Null);
    assert_eq!(run(&daemon, &["log", "key"]).await.stdout.trim(), new);
    let lines = export(&daemon, "one.jsonl", &["log_key"]).await;
    assert_eq!(keys(&lines), [("rotated".to_owned(), new.clone())]);
    // The checkpoint after that row is the old key's.
    let row = lines.iter().position(|line| line.contains("\"log_key\"")).unwrap();
    let next = lines[row..].iter().find(|line| line.starts_with("{\"checkpoint\"")).unwrap();
    assert!(next.contains(&old), "{next}");
    let (proven, script) = verify(&daemon, &lines, &[]).await;
    assert_eq!((proven.code, script == Some(false)), (Some(0), false), "{proven:?}");
    // The row is no reason to trust the new key: who writes to the database could have added it.
    let (by_old, _) = verify(&daemon, &lines, &["--key", &old]).await;
    assert_eq!(by_old.code, Some(6), "{by_old:?}");
    let hint = "If you rotated the key since, pin the new one too: --key OLD --key NEW";
    assert!(by_old.stderr.contains(hint), "{by_old:?}");
    assert_eq!(verify(&daemon, &lines, &["--key", &old, "--key", &new]).await.0.code, Some(0));
    // What is gone while the daemon runs is found at a reload.
    fs::remove_file(daemon.dir.path().join("state/log.key")).unwrap();
    let reloaded = run(&daemon, &["reload"]).await;
    assert!(reloaded.stdout.contains("log.key is gone"), "{reloaded:?}");
    let told = run(&daemon, &["doctor"]).await;
    assert!(told.stdout.contains("countersign log key --rotate"), "{told:?}");
    assert_eq!(run(&daemon, &["log", "key", "--rotate"]).await.code, Some(0));
    let reloaded = run(&daemon, &["reload"]).await;
    assert!(!reloaded.stdout.contains("log.key"), "{reloaded:?}");
}
