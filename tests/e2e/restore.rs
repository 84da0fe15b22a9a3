//! A backup put back, under the real daemon.

use crate::daemon::{AGENT, APPROVER, Daemon, shell};
use serde_json::{Value, json};
use std::{fs, path::PathBuf};

fn store(daemon: &Daemon) -> PathBuf {
    daemon.dir.path().join("state/countersign.db")
}

/// What a command of this program prints, and whether it succeeded.
async fn run(daemon: &Daemon, args: &[&str]) -> (bool, String) {
    let output = daemon.command(args).output().await.unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(said).unwrap())
}

#[tokio::test]
async fn a_restored_backup_keeps_what_waits_and_gives_back_nothing_that_was_taken_back() {
    let mut daemon = Daemon::start("").await;
    let granting = daemon.ask(&shell("cargo fetch")).await;
    daemon.answer(&granting, &json!({"decision": "approve", "scope": "session"})).await;
    let (waits, denied) =
        (daemon.ask(&shell("git push one")).await, daemon.ask(&shell("git push two")).await);
    let late = daemon.ask(&shell("git push late")).await;
    let copy = daemon.dir.path().join("copy.db").display().to_string();
    assert!(run(&daemon, &["backup", &copy]).await.0);

    // What happens after the backup.
    daemon.answer(&denied, &json!({"decision": "deny"})).await;
    let (_, grants) = daemon.get("/v1/grants", APPROVER).await;
    let grant = grants["grants"][0]["id"].as_str().unwrap().to_owned();
    let (revoked, said) = run(&daemon, &["grants", "revoke", &grant]).await;
    assert!(revoked, "{said}");
    let newer = daemon.ask(&shell("git push three")).await;
    daemon.deadline_passes(&late).await;
    daemon.ask_reaches(&late, "expired").await;

    let (done, said) = run(&daemon, &["restore", &copy]).await;
    assert!(!done && said.contains("another countersign has"), "{said}");
    assert_eq!(daemon.read(&newer).await["state"], "open", "nothing was changed");

    assert!(run(&daemon, &["pause"]).await.0);
    assert!(daemon.stop().await);
    let (done, said) = run(&daemon, &["restore", &copy]).await;
    assert!(done, "{said}");
    assert!(said.contains("; 1 ask waits in it."), "{said}");
    assert!(
        said.contains("Taken over from it: 1 revoked grant, 2 closed asks, the pause."),
        "{said}"
    );
    let lines: Vec<_> = said.lines().collect();
    let kept = lines[1].split(" is kept as ").nth(1).unwrap().trim_end_matches('.');

    daemon.run().await;
    assert_eq!(daemon.read(&waits).await["state"], "open");
    assert_eq!(daemon.read(&denied).await["verdict"], "deny");
    assert_eq!(daemon.read(&late).await["state"], "expired");
    assert_eq!(daemon.get(&format!("/v1/asks/{newer}"), AGENT).await.0, 404);
    assert_eq!(daemon.get("/v1/grants", APPROVER).await.1["grants"], json!([]));
    assert!(daemon.get("/readyz", AGENT).await.1["paused"].is_object(), "the pause is still on");
    assert!(daemon.stop().await);

    // The store that was there can be put back in the same way.
    let (done, said) = run(&daemon, &["restore", kept]).await;
    assert!(done, "{said}");
    daemon.run().await;
    assert_eq!(daemon.read(&newer).await["state"], "open");
    let left: Vec<_> = fs::read_dir(store(&daemon).parent().unwrap()).unwrap().collect();
    let part = |entry: &Result<fs::DirEntry, _>| {
        entry.as_ref().unwrap().file_name().to_string_lossy().contains(".restoring")
    };
    assert!(!left.iter().any(part), "nothing is left over");
}

#[tokio::test]
async fn what_was_spent_after_the_backup_is_not_spent_once_more() {
    let mut daemon = Daemon::start("").await;
    let call = |command: &str| json!({"tool": "shell_exec", "args": {"command": command}});
    let mut budget = shell("");
    budget["tool"] = json!("budget");
    budget["args"] = json!(null);
    budget["budget"] = json!({"for_s": 1800, "calls": [call("make one"), call("make two")]});
    let yes = json!({"decision": "approve"});
    let asked = daemon.ask(&budget).await;
    assert_eq!(daemon.answer(&asked, &yes).await.1["applied"], true);
    let approved = daemon.ask(&shell("make three")).await;
    assert_eq!(daemon.answer(&approved, &yes).await.1["applied"], true);
    let (status, made) = daemon.get(&format!("/v1/asks/{approved}/token"), AGENT).await;
    assert_eq!(status, 200, "{made}");
    let copy = daemon.dir.path().join("copy.db").display().to_string();
    assert!(run(&daemon, &["backup", &copy]).await.0);

    // After the backup one of both calls of the budget runs, and the approved one starts.
    assert_eq!(daemon.call(&shell("make one")).await.1["verdict"], "allow");
    let started = json!({"token": made["token"]});
    assert_eq!(daemon.post("/v1/executions", AGENT, &started).await.0, 200);
    assert!(daemon.stop().await);
    let (done, said) = run(&daemon, &["restore", &copy]).await;
    assert!(done, "{said}");
    daemon.run().await;
    let (status, refused) = daemon.post("/v1/executions", AGENT, &started).await;
    assert_eq!(status, 409, "the token was used: {refused}");
    assert_eq!(daemon.call(&shell("make two")).await.1["verdict"], "allow", "not spent yet");
    for spent in ["make one", "make two"] {
        daemon.ask(&shell(spent)).await;
    }
}

#[tokio::test]
async fn what_a_review_said_after_the_backup_asks_on_in_the_restored_store() {
    let rules = r#"{"*": "ask", "shell_exec": {"make *": "allow"}}"#;
    let config = "[[reviews]]\none_in = 1\n";
    let mut daemon = Daemon::start_with(config, &[("permissions.jsonc", rules)]).await;
    assert_eq!(daemon.call(&shell("make all")).await.1["verdict"], "allow");
    let one = |page: &Value| page["asks"].as_array().unwrap().len() == 1;
    let page = daemon.until("/v1/asks", one).await;
    let id = page["asks"][0]["id"].as_str().unwrap().to_owned();
    let copy = daemon.dir.path().join("copy.db").display().to_string();
    assert!(run(&daemon, &["backup", &copy]).await.0);
    daemon.answer(&id, &json!({"decision": "deny"})).await;
    daemon.ask(&shell("make all")).await;

    assert!(daemon.stop().await);
    let (done, said) = run(&daemon, &["restore", &copy]).await;
    assert!(done, "{said}");
    daemon.run().await;
    assert_eq!(daemon.read(&id).await["reason"], "should have asked, says the approver's token");
    daemon.ask(&shell("make all")).await;
}

#[tokio::test]
async fn what_is_no_intact_backup_of_this_store_is_refused_and_the_store_stays() {
    let mut daemon = Daemon::start("").await;
    let ask = daemon.ask(&shell("git push")).await;
    let other = Daemon::start("").await;
    let folder = daemon.dir.path().to_owned();
    let path = |name: &str| folder.join(name).display().to_string();
    let (foreign, text, cut) = (path("foreign.db"), path("text.db"), path("cut.db"));
    assert!(run(&other, &["backup", &foreign]).await.0);
    assert!(run(&daemon, &["backup", &cut]).await.0);
    let whole = fs::read(&cut).unwrap();
    fs::write(&cut, &whole[..whole.len() / 2]).unwrap();
    fs::write(&text, "no store").unwrap();
    assert!(daemon.stop().await);
    let before = fs::read(store(&daemon)).unwrap();
    for (file, words) in [
        (&foreign, "says that"),
        (&text, "is not an intact backup of a store"),
        (&cut, "is not an intact backup of a store"),
        (&path("missing.db"), "there is no backup"),
        (&store(&daemon).display().to_string(), "is the store itself"),
    ] {
        let (done, said) = run(&daemon, &["restore", file]).await;
        assert!(!done && said.contains(words), "{file}: {said}");
        assert_eq!(fs::read(store(&daemon)).unwrap(), before, "{file}");
    }
    daemon.run().await;
    assert_eq!(daemon.read(&ask).await["state"], "open");
}
