//! The real opencode under `--auto`, where it approves all of its own prompts: with `connect opencode
//! --gate` every call is decided here before it runs.

use crate::{
    agents_real::{Real, Run, asked},
    agents_table::kill_hook,
    daemon::{APPROVER, Daemon},
    process::run,
};
use serde_json::json;

async fn started(daemon: &Daemon) -> Option<Run> {
    Real::Opencode.gated(daemon, Real::Opencode.call()).await
}

fn ran(started: &Run) -> bool {
    started.work.join("made-by-agent.txt").exists()
}

#[tokio::test]
async fn a_call_of_opencode_under_auto_waits_for_a_person() {
    for (answer, runs) in
        [(vec!["approve"], true), (vec!["deny", "--reason", "make no files"], false)]
    {
        let daemon = Daemon::start("").await;
        let Some(mut started) = started(&daemon).await else { return };
        let id = asked(&daemon, Real::Opencode).await;
        assert!(!ran(&started));
        let words: Vec<&str> = [&answer[..1], &[id.as_str()], &answer[1..]].concat();
        assert_eq!(run(&daemon, &words).await.code, Some(0));
        let told = started.model.is_told().await;
        assert_eq!((ran(&started), told.contains("make no files")), (runs, !runs), "{told}");
        let (_, asks) = daemon.get("/v1/asks?state=answered", APPROVER).await;
        assert_eq!(asks["asks"].as_array().unwrap().len(), 1, "it is asked once");
    }
}

#[tokio::test]
async fn without_a_daemon_or_an_answer_no_call_of_opencode_runs_under_auto() {
    for is_away in [true, false] {
        let mut daemon = Daemon::start("[policy]\ntimeout = \"5s\"\n").await;
        if is_away {
            assert!(daemon.stop().await);
        }
        let Some(mut started) = started(&daemon).await else { return };
        let told = started.model.is_told().await;
        assert!(told.contains("so it is blocked: "), "{told}");
        assert!(!ran(&started));
    }
}

#[tokio::test]
async fn a_call_of_opencode_whose_hook_is_killed_does_not_run_under_auto() {
    let daemon = Daemon::start("").await;
    let Some(mut started) = started(&daemon).await else { return };
    asked(&daemon, Real::Opencode).await;
    kill_hook(&daemon, "hook opencode");
    let told = started.model.is_told().await;
    assert!(told.contains("so it is blocked"), "{told}");
    assert!(!ran(&started));
}

#[tokio::test]
async fn a_gated_opencode_outlives_a_killed_daemon_and_its_death_closes_its_card() {
    let mut daemon = Daemon::start("").await;
    let Some(mut first) = started(&daemon).await else { return };
    let id = asked(&daemon, Real::Opencode).await;
    daemon.kill().await;
    daemon.run().await;
    assert_eq!(run(&daemon, &["approve", &id]).await.code, Some(0));
    first.model.is_told().await;
    assert!(ran(&first));
    let daemon = Daemon::start("").await;
    let mut second = started(&daemon).await.unwrap();
    let id = asked(&daemon, Real::Opencode).await;
    second.child.kill().await.unwrap();
    daemon.ask_reaches(&id, "cancelled").await;
    assert!(!ran(&second));
}

#[tokio::test]
async fn a_rule_decides_on_a_call_of_opencode_under_auto() {
    let rules = r#"{"shell_exec": {"touch *": "deny"}}"#;
    let config = "[policy]\nrules = \"rules.jsonc\"\n";
    let daemon = Daemon::start_with(config, &[("rules.jsonc", rules)]).await;
    let Some(mut started) = started(&daemon).await else { return };
    let told = started.model.is_told().await;
    assert!(told.contains("Denied by policy"), "{told}");
    assert!(!ran(&started));
    let (_, asks) = daemon.get("/v1/asks", APPROVER).await;
    assert_eq!(asks["asks"], json!([]));
}
