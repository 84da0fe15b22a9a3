//! The disk under the store is really full, or read-only.

use crate::{
    daemon::{AGENT, Daemon, LONG, shell},
    disk_of_our_own::{Disk, FaultyDisk},
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tokio::time::timeout;

/// A daemon whose state lies on a small disk.
async fn on_a_small_disk() -> Option<(Daemon, Disk)> {
    let mut daemon = Daemon::start("").await;
    daemon.stop().await;
    let disk = Disk::at(&daemon.dir.path().join("state"))?;
    daemon.run().await;
    Some((daemon, disk))
}

async fn answer(daemon: &Daemon, id: &str) -> (u16, Value) {
    daemon.answer(id, &json!({"decision": "approve"})).await
}

/// Answers one ask after the other until the disk takes no more; which of them were acknowledged.
/// What failed before may have left room for a smaller piece of work.
async fn answer_until_refused(daemon: &Daemon, asks: &[String]) -> BTreeMap<String, bool> {
    let mut told = BTreeMap::new();
    for id in asks {
        let (status, body) = answer(daemon, id).await;
        told.insert(id.clone(), status == 200);
        if status != 200 {
            assert_eq!(status, 503, "{body}");
            let sentence = "This could not be recorded; nothing changed. Try again.";
            assert_eq!(body, json!({ "error": sentence }));
            return told;
        }
    }
    panic!("the disk is never full: {told:?}")
}

/// What was acknowledged stands, and nothing else.
async fn stands(daemon: &Daemon, told: &BTreeMap<String, bool>) {
    for (id, acknowledged) in told {
        let ask = daemon.read(id).await;
        assert_eq!(ask["state"] == "answered", *acknowledged, "{ask}");
    }
}

async fn twenty_asks(daemon: &Daemon) -> Vec<String> {
    let mut asks = Vec::new();
    for n in 0..20 {
        asks.push(daemon.ask(&shell(&format!("git push {n}"))).await);
    }
    asks
}

#[tokio::test]
async fn a_full_disk_takes_nothing_says_so_and_works_again_when_there_is_room() {
    let Some((mut daemon, disk)) = on_a_small_disk().await else { return };
    let asks = twenty_asks(&daemon).await;
    disk.fill();
    let mut refused = (202, Value::Null);
    for n in 0..100 {
        refused = daemon.call(&shell(&format!("git push more {n}"))).await;
        if refused.0 != 202 {
            break;
        }
    }
    assert_eq!(refused.0, 503, "{}", refused.1);
    assert!(refused.1["error"].as_str().unwrap().contains("nothing may run"), "{}", refused.1);
    let told = answer_until_refused(&daemon, &asks).await;
    let mut ready = (200, Value::Null);
    for _ in 0..100 {
        ready = daemon.get("/readyz", AGENT).await;
        if ready.0 != 200 {
            break;
        }
    }
    let store = &ready.1["store"];
    assert_eq!(ready.0, 503, "{}", ready.1);
    assert!(store["problem"].as_str().unwrap().contains("has no room left"), "{store}");
    assert!(store["fix"].as_str().unwrap().starts_with("free space on the disk"), "{store}");
    daemon.says("has no room left").await;
    stands(&daemon, &told).await;

    disk.free();
    let (open, _) = told.iter().find(|(_, acknowledged)| !**acknowledged).unwrap();
    assert_eq!(answer(&daemon, open).await.0, 200);
    assert_eq!(daemon.get("/readyz", AGENT).await.0, 200);
    daemon.ask(&shell("git push after")).await;
    daemon.says("the store works again").await;
}

#[tokio::test]
async fn a_daemon_killed_on_a_full_disk_loses_nothing() {
    let Some((mut daemon, disk)) = on_a_small_disk().await else { return };
    let asks = twenty_asks(&daemon).await;
    disk.fill();
    let told = answer_until_refused(&daemon, &asks).await;
    daemon.kill().await;
    disk.fill();
    let ended = timeout(LONG, daemon.command(&["serve"]).output()).await;
    let ended = ended.expect("it does not start without a disk to write to").unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(!ended.status.success(), "{said}");
    assert!(said.contains("has no room left") && said.contains("free space on the disk"), "{said}");

    disk.free();
    daemon.run().await;
    stands(&daemon, &told).await;
    let (open, _) = told.iter().find(|(_, acknowledged)| !**acknowledged).unwrap();
    assert_eq!(answer(&daemon, open).await.0, 200);
}

#[tokio::test]
async fn a_read_only_disk_is_refused_at_the_start_and_nothing_is_lost() {
    let Some((mut daemon, disk)) = on_a_small_disk().await else { return };
    let id = daemon.ask(&shell("git push")).await;
    daemon.kill().await;
    disk.read_only(true);
    let ended = timeout(LONG, daemon.command(&["serve"]).output()).await;
    let ended = ended.expect("it does not start without a disk to write to").unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(!ended.status.success(), "{said}");
    assert!(said.contains("Read-only file system") && said.contains("look at the disk"), "{said}");
    disk.read_only(false);
    daemon.run().await;
    assert_eq!(daemon.read(&id).await["state"], "open");
}

#[tokio::test]
async fn a_disk_that_turns_read_only_acknowledges_nothing_says_so_and_the_press_counts_when_it_is_back()
 {
    let mut daemon = Daemon::start("").await;
    daemon.stop().await;
    let (state, image) = (daemon.dir.path().join("state"), daemon.dir.path().join("disk"));
    let Some(disk) = FaultyDisk::at(&state, image) else { return };
    daemon.run().await;
    let id = daemon.ask(&shell("git push")).await;
    disk.fails();
    for _ in 0..3 {
        let sentence = "This could not be recorded; nothing changed. Try again.";
        assert_eq!(answer(&daemon, &id).await, (503, json!({ "error": sentence })));
    }
    assert_eq!(daemon.read(&id).await["state"], "open");
    let (status, body) = daemon.call(&shell("git push more")).await;
    assert_eq!(status, 503, "{body}");
    assert!(body["error"].as_str().unwrap().contains("nothing may run"), "{body}");
    let (status, ready) = daemon.get("/readyz", AGENT).await;
    let store = &ready["store"];
    assert_eq!(status, 503, "{ready}");
    // SQLite meets it in several places.
    let problem = store["problem"].as_str().unwrap();
    let shows = ["cannot be written", "cannot be read or written"];
    assert!(shows.iter().any(|words| problem.contains(words)), "{store}");
    let fix = store["fix"].as_str().unwrap();
    assert!(fix.contains("the system's log"), "{store}");
    let doctor = daemon.command(&["doctor"]).output().await.unwrap();
    let doctor = String::from_utf8(doctor.stdout).unwrap();
    assert!(doctor.contains("the system's log"), "{doctor}");

    // No such disk comes back under those who have it open.
    daemon.kill().await;
    disk.mend();
    daemon.run().await;
    assert_eq!(daemon.read(&id).await["state"], "open");
    assert_eq!(answer(&daemon, &id).await.0, 200);
    assert_eq!(daemon.read(&id).await["state"], "answered");
    assert_eq!(daemon.get("/readyz", AGENT).await.0, 200);
    daemon.kill().await;
}
