//! The guides of the documentation, from nothing to done: each command as it stands there, by a
//! shell, with the real binary.

use crate::{
    daemon::{Daemon, LONG, private_file},
    process::{Ended, Process},
    telegram_server::{GROUP, Person, TOKEN, Telegram},
};
use serde_json::json;
use std::{fs, path::Path, time::Instant};

fn page(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(name)).unwrap()
}

/// The blocks of a language between a heading and the next of its rank.
fn blocks(page: &str, heading: &str, language: &str) -> Vec<String> {
    let (_, section) = page.split_once(&format!("\n{heading}\n")).expect("the heading");
    let rank = heading.split(' ').next().unwrap();
    let section = section.split(&format!("\n{rank} ")).next().unwrap();
    let fence = format!("```{language}\n");
    let parts = section.split(&fence).skip(1);
    let block = |part: &str| -> String {
        let lines = part.lines().take_while(|line| line.trim() != "```");
        lines.map(|line| format!("{}\n", line.trim_start())).collect()
    };
    parts.map(block).collect()
}

/// Starts a script in the daemon's folder, as its user would in a terminal.
fn script(daemon: &Daemon, text: &str, more: &[(&str, &str)]) -> Process {
    let bin = daemon.dir.path().join("bin");
    if !bin.exists() {
        fs::create_dir(&bin).unwrap();
        let ours = env!("CARGO_BIN_EXE_countersign");
        std::os::unix::fs::symlink(ours, bin.join("countersign")).unwrap();
    }
    let mut command = tokio::process::Command::new("sh");
    command.args(["-e", "-c", text]).env_clear().current_dir(daemon.dir.path());
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    command.env("PATH", path).env("HOME", daemon.dir.path()).kill_on_drop(true);
    command.env("COUNTERSIGN_CONFIG", daemon.config());
    for (name, value) in more {
        command.env(name, value);
    }
    Process::start(command)
}

async fn good(daemon: &Daemon, text: &str) -> String {
    let ended = script(daemon, text, &[]).ends().await;
    assert_eq!(ended.code, Some(0), "{text}: {ended:?}");
    ended.stdout
}

/// A program in the place of one of the reader's own, that leaves a mark.
fn program(daemon: &Daemon, name: &str) {
    let file = daemon.dir.path().join("bin").join(name);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let ours = env!("CARGO_BIN_EXE_countersign");
    let _ = std::os::unix::fs::symlink(ours, file.with_file_name("countersign"));
    fs::write(&file, format!("#!/bin/sh\necho {name} \"$@\" >> \"$HOME/ran\"\n")).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&file, mode).unwrap();
}

fn ran(daemon: &Daemon) -> String {
    fs::read_to_string(daemon.dir.path().join("ran")).unwrap_or_default()
}

#[tokio::test]
async fn prove_what_happened_from_nothing_to_done() {
    let daemon = Daemon::start("").await;
    let page = page("log.md");
    let id = daemon.ask(&crate::daemon::shell("git push origin main")).await;
    assert_eq!(daemon.answer(&id, &json!({"decision": "deny"})).await.0, 200);
    let steps = blocks(&page, "## From nothing to done", "sh");
    let [key, export, verify] = steps.as_slice() else { panic!("{steps:?}") };
    let key = good(&daemon, key).await.trim().to_owned();
    // Rows are sealed within a second.
    let since = Instant::now();
    while {
        good(&daemon, &format!("rm -f october.jsonl; {export}")).await;
        let text = fs::read_to_string(daemon.dir.path().join("october.jsonl")).unwrap();
        !text.contains("\"answered\"")
    } {
        assert!(since.elapsed() < LONG, "the answer is not sealed");
    }
    let verify = verify.replace("KEY", &key);
    let proven = good(&daemon, &verify).await;
    let head = proven.lines().find_map(|line| line.strip_prefix("head  ")).unwrap();
    good(&daemon, &format!("{} --expect {head}", verify.trim())).await;
    good(&daemon, "countersign log verify").await;
    let here = env!("CARGO_MANIFEST_DIR");
    good(&daemon, &format!("python3 {here}/docs/verify_log.py october.jsonl {key}")).await;
    // What is changed is found, with the exit code that the page names.
    let changed = format!("sed -i s/answered/approved/ october.jsonl; {verify}");
    assert_eq!(script(&daemon, &changed, &[]).ends().await.code, Some(6));
    // Run only what was approved.
    program(&daemon, "make");
    let deploy = blocks(&page, "## Run only what was approved", "sh").remove(0);
    let mut running = script(&daemon, &deploy, &[]);
    let id = running.waits_for().await;
    assert_eq!(daemon.answer(&id, &json!({"decision": "approve"})).await.0, 200);
    let ended = running.ends().await;
    assert_eq!((ended.code, ran(&daemon)), (Some(0), "make deploy\n".to_owned()), "{ended:?}");
}

#[tokio::test]
async fn approve_as_a_team_from_nothing_to_done() {
    let (telegram, page) = (Telegram::start().await, page("team.md"));
    let people = blocks(&page, "## Approve as a team", "toml").remove(0);
    let rules = blocks(&page, "## More than one approval", "toml").remove(0);
    let chat = format!(
        "[telegram]\ntoken = \"{TOKEN}\"\napi_url = \"{}\"\ntargets = [{{ chat = {GROUP} }}]\n",
        telegram.url()
    );
    let daemon = Daemon::start(&format!("{chat}[approvers]\ninbox = true\n")).await;
    let digest = format!("sha256:{}", "ab".repeat(32));
    daemon.write_config(&format!("{chat}{}{rules}", people.replace("sha256:…", &digest)));
    let reloaded = good(&daemon, "countersign reload").await;
    assert!(reloaded.contains("runs with this config now"), "{reloaded}");
    let doctor = script(&daemon, "countersign doctor", &[]).ends().await.stdout;
    assert!(doctor.contains("Ana") && doctor.contains("Ben"), "{doctor}");
    let waiting = daemon.waiting(crate::daemon::shell("git push origin main"));
    let card = telegram.card(GROUP).await;
    assert!(card.text.contains("0 of 2 approved (ops)."), "{}", card.text);
    let [ana, ben] = [(12_345, "Ana"), (67_890, "Ben")].map(|(id, name)| Person { id, name });
    let told = telegram.press(GROUP, card.id, "Approve", ana).await.text;
    assert_eq!(told, "Your vote counts: 1 of 2 approvals of ops.");
    assert_eq!(telegram.press(GROUP, card.id, "Approve", ben).await.text, "Approved once.");
    assert_eq!(waiting.await.unwrap()["verdict"], "allow");
}

#[tokio::test]
async fn oversee_headless_workers_from_nothing_to_done() {
    let mut daemon = Daemon::start("").await;
    program(&daemon, "make");
    let page = page("workers.md");
    let mut steps = blocks(&page, "## From nothing to done", "sh").into_iter();
    let mut next = || steps.next().expect("a further step");
    let token = good(&daemon, &next()).await.trim().to_owned();
    // The worker knows the daemon's address and its token, and nothing else of the config.
    let worker = next().replace("https://approvals.example.org", &daemon.url).replace('…', &token);
    let file = daemon.dir.path().join("none.toml");
    private_file(&file, "");
    let nothing = [("COUNTERSIGN_CONFIG", file.to_str().unwrap())];
    let mut running = script(&daemon, &worker, &nothing);
    let id = running.waits_for().await;
    let look = next();
    let seen = good(&daemon, &look).await;
    assert!(seen.contains("worker-1") && seen.contains(&id), "{seen}");
    let (pause, resume) = (next(), next());
    good(&daemon, &pause).await;
    let (status, refused) = daemon.answer(&id, &json!({"decision": "approve"})).await;
    assert_eq!(status, 422, "{refused}");
    good(&daemon, &resume).await;
    assert_eq!(daemon.answer(&id, &json!({"decision": "approve"})).await.0, 200);
    let ended: Ended = running.ends().await;
    assert_eq!((ended.code, ran(&daemon)), (Some(0), "make deploy\n".to_owned()), "{ended:?}");
    // What it still asks when its token is revoked is cancelled, and it asks nothing more.
    let mut running = script(&daemon, &worker, &nothing);
    running.waits_for().await;
    good(&daemon, &next()).await;
    let ended = running.ends().await;
    assert!(ended.code != Some(0) && ran(&daemon).lines().count() == 1, "{ended:?}");
    let ended = script(&daemon, &worker, &nothing).ends().await;
    assert_ne!(ended.code, Some(0), "{ended:?}");
    let log = good(&daemon, &next()).await;
    for kind in ["token_added", "asked", "answered", "started", "finished", "token_revoked"] {
        assert!(log.contains(kind), "{kind}: {log}");
    }
    assert!(daemon.stop().await);
}
