//! The store in trouble and in good hands: disks that fill up or fail, backups, what is forgotten.

use crate::{
    core::loop_for_open,
    daemon::{AGENT, Daemon, LONG, shell},
};
use serde_json::{Value, json};
use std::{
    process::Stdio,
    time::{Duration, Instant},
};

/// The limit of a process on the size of the files that it writes; `unlimited` lifts it.
fn limit(pid: u32, most: &str) {
    let fsize = format!("--fsize={most}:");
    let mut set = std::process::Command::new("prlimit");
    assert!(set.args(["--pid", &pid.to_string(), &fsize]).status().unwrap().success());
}

async fn ready(daemon: &Daemon) -> (u16, Value) {
    daemon.get("/readyz", AGENT).await
}

#[tokio::test]
async fn a_disk_that_takes_no_more_acknowledges_nothing_and_recovers_without_a_restart() {
    let mut daemon = Daemon::start("").await;
    let id = daemon.ask(&shell("git push")).await;
    limit(daemon.pid(), "4096");
    let (status, refused) = daemon.call(&shell("git push two")).await;
    assert_eq!(status, 503);
    assert!(refused["error"].as_str().unwrap().contains("nothing may run"), "{refused}");
    let (status, pressed) = daemon.answer(&id, &json!({"decision": "approve"})).await;
    assert_eq!(status, 503, "{pressed}");
    let sentence = "This could not be recorded; nothing changed. Try again.";
    assert_eq!(pressed["error"], sentence);
    assert_eq!(daemon.read(&id).await["state"], "open", "it is still asked");
    let (status, body) = ready(&daemon).await;
    assert_eq!(status, 503, "{body}");
    assert!(body["store"]["fix"].as_str().unwrap().contains("disk"), "{body}");
    daemon.says("the store does not work").await;
    let doctor = daemon.command(&["doctor"]).output().await.unwrap();
    let doctor = String::from_utf8(doctor.stdout).unwrap();
    assert!(doctor.contains("fail store"), "{doctor}");

    limit(daemon.pid(), "unlimited");
    let (status, reply) = daemon.answer(&id, &json!({"decision": "approve"})).await;
    assert_eq!((status, &reply["applied"]), (200, &json!(true)), "{reply}");
    assert_eq!(ready(&daemon).await.0, 200);
    daemon.says("the store works again").await;
    daemon.kill().await;
    daemon.run().await;
    assert_eq!(daemon.read(&id).await["verdict"], "allow", "and it was kept");
}

#[tokio::test]
async fn a_file_locked_by_another_program_is_named_and_passes() {
    let daemon = Daemon::start("").await;
    let id = daemon.ask(&shell("git push")).await;
    let file = daemon.dir.path().join("state/countersign.db");
    let url = format!("sqlite://{}", file.display());
    use sqlx::{Connection, Executor};
    let mut other = sqlx::SqliteConnection::connect(&url).await.unwrap();
    other.execute("BEGIN EXCLUSIVE").await.unwrap();
    let (status, _) = daemon.answer(&id, &json!({"decision": "approve"})).await;
    assert_eq!(status, 503);
    let (_, body) = ready(&daemon).await;
    assert!(body["store"]["problem"].as_str().unwrap().contains("is locked by"), "{body}");
    other.execute("ROLLBACK").await.unwrap();
    let (status, _) = daemon.answer(&id, &json!({"decision": "approve"})).await;
    assert_eq!(status, 200);
}

#[tokio::test]
async fn a_damaged_store_is_refused_at_the_start_with_what_to_do() {
    let mut daemon = Daemon::start("").await;
    daemon.stop().await;
    let file = daemon.dir.path().join("state/countersign.db");
    std::fs::write(&file, vec![b'x'; 8_192]).unwrap();
    let refused = daemon.command(&["serve"]).output().await.unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success());
    assert!(said.contains("put a backup in its place"), "{said}");
}

#[tokio::test]
async fn a_backup_taken_while_the_daemon_works_is_a_whole_store() {
    let daemon = Daemon::start("").await;
    let id = daemon.ask(&shell("git push origin main")).await;
    let other = daemon.ask(&shell("git push origin two")).await;
    daemon.answer(&other, &json!({"decision": "deny"})).await;
    let asking = async {
        for n in 0..50 {
            daemon.ask(&shell(&format!("git push {n}"))).await;
        }
    };
    let copy = daemon.dir.path().join("copy.db");
    let name = copy.display().to_string();
    let backup = async { daemon.command(&["backup", &name]).output().await.unwrap() };
    let ((), made) = tokio::join!(asking, backup);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let again = daemon.command(&["backup", &name]).output().await.unwrap();
    assert!(!again.status.success(), "nothing is overwritten");
    let mode = std::os::unix::fs::PermissionsExt::mode(&copy.metadata().unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);

    let restored = format!("[store]\nurl = \"sqlite:{name}\"\n");
    let second = Daemon::start(&restored).await;
    assert_eq!(second.read(&id).await["state"], "open");
    assert_eq!(second.read(&other).await["verdict"], "deny");
}

#[tokio::test]
async fn settled_asks_are_forgotten_after_their_time_and_open_ones_and_what_was_counted_are_not() {
    let mut daemon = Daemon::start("[store]\nurl = \"sqlite:asks.db\"\nkeep = \"1s\"\n").await;
    let open = daemon.ask(&shell("git push")).await;
    let settled = daemon.ask(&shell("git push two")).await;
    daemon.answer(&settled, &json!({"decision": "deny"})).await;
    let age = tokio::time::sleep(Duration::from_millis(1_100));
    age.await; // the age itself is the event
    daemon.stop().await;
    daemon.run().await;
    let since = Instant::now();
    while daemon.get(&format!("/v1/asks/{settled}"), AGENT).await.0 != 404 {
        assert!(since.elapsed() < LONG, "it is not forgotten");
    }
    assert_eq!(daemon.read(&open).await["state"], "open");
    let metrics = format!("{}/metrics", daemon.url);
    let metrics = daemon.http.get(metrics).send().await.unwrap().text().await.unwrap();
    assert!(metrics.contains("countersign_events_total{kind=\"answered\"} 1"), "{metrics}");
}

#[tokio::test]
async fn a_daemon_that_stops_takes_no_new_asks_and_says_when_to_come_back() {
    let mut daemon = Daemon::start("").await;
    let waiting = daemon.waiting(shell("git push"));
    loop_for_open(&daemon).await;
    let url = format!("{}/v1/calls", daemon.url);
    let stop = daemon.pid().to_string();
    std::process::Command::new("kill").args(["-TERM", &stop]).status().unwrap();
    daemon.says("stopping").await;
    assert_eq!(waiting.await.unwrap()["verdict"], "ask");
    // It may be gone already, which says the same.
    let call = daemon.http.post(url).bearer_auth(AGENT).json(&shell("git push two"));
    if let Ok(refused) = call.send().await {
        assert_eq!(refused.status(), 503);
        assert_eq!(refused.headers()["retry-after"], "2");
    }
}

#[tokio::test]
async fn a_script_that_waits_goes_on_over_a_restart_of_the_daemon() {
    let mut daemon = Daemon::start("").await;
    let mut ask = daemon.command(&["ask", "--", "git", "push"]);
    let waiting = ask.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let id = loop_for_open(&daemon).await;
    daemon.kill().await;
    daemon.run().await;
    daemon.answer(&id, &json!({"decision": "approve"})).await;
    let ended = tokio::time::timeout(LONG, waiting.wait_with_output()).await.unwrap().unwrap();
    assert_eq!(ended.status.code(), Some(0), "{}", String::from_utf8_lossy(&ended.stderr));
}
