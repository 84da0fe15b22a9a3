//! Runs that can wait, with the real Claude Code: see [`claude_real`](crate::claude_real).

use crate::{
    claude_real::{AUTO_MODEL, MANUAL_MODEL, connect},
    daemon::{Daemon, LONG},
    model::Model,
    process::{Ended, Process, run},
};
use serde_json::{Value, json};
use tokio::{process::Command, time::timeout};

/// A call that tells how often it ran.
fn bash() -> Value {
    json!({"command": "echo ran >> made-by-agent.txt && git diff --stat", "description": "Say so"})
}

/// A command of ours beside a real Claude Code; `None`, and a word about it, where there is none.
fn command(daemon: &Daemon, model: &Model, words: &[&str]) -> Option<Command> {
    if std::env::var_os("COUNTERSIGN_TEST_CLAUDE").is_none() {
        eprintln!("SKIPPED: set COUNTERSIGN_TEST_CLAUDE to the binary of Claude Code");
        return None;
    }
    std::fs::create_dir_all(daemon.dir.path().join("work")).unwrap();
    let mut command = daemon.command(words);
    command
        .current_dir(daemon.dir.path().join("work"))
        .env("IS_SANDBOX", "1")
        .env("ANTHROPIC_BASE_URL", &model.url)
        .env("ANTHROPIC_API_KEY", "sk-ant-none")
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("DISABLE_TELEMETRY", "1")
        .env("DISABLE_AUTOUPDATER", "1")
        .process_group(0);
    Some(command)
}

fn host(daemon: &Daemon, model: &Model, options: &[&str]) -> Option<Process> {
    let claude = std::env::var("COUNTERSIGN_TEST_CLAUDE").unwrap_or_default();
    let words = ["host", "claude-code", "--park", "--after", "1s", "--prompt", "do it", "--"];
    let words: Vec<&str> = words.iter().chain(&[&*claude]).chain(options).copied().collect();
    command(daemon, model, &words).map(Process::start)
}

/// The ask of the only parked run, once its process has ended.
async fn parked(daemon: &Daemon) -> String {
    let ready = |all: &Value| all["parked"][0]["cost_usd"].is_number();
    let all = timeout(LONG * 2, async {
        loop {
            let (_, all) = daemon.get("/v1/parked", crate::daemon::APPROVER).await;
            if ready(&all) {
                return all;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    });
    all.await.unwrap()["parked"][0]["ask"]["id"].as_str().unwrap().to_owned()
}

fn ran(daemon: &Daemon) -> String {
    std::fs::read_to_string(daemon.dir.path().join("work/made-by-agent.txt")).unwrap_or_default()
}

fn told(model: &Model) -> String {
    model.results().iter().map(Value::to_string).collect()
}

async fn ends(process: Process) -> Ended {
    timeout(LONG * 2, process.ends()).await.unwrap()
}

#[tokio::test]
async fn claude_parks_and_goes_on_with_a_yes_and_a_no_in_both_modes() {
    for (mode, of_model) in [("default", MANUAL_MODEL), ("auto", AUTO_MODEL)] {
        for (answer, times) in [("approve", "ran\n"), ("deny", "")] {
            let daemon = Daemon::start("").await;
            let model = Model::calling("Bash", bash()).await;
            // Its hooks report the end of the session each time.
            connect(&daemon, &[]).await;
            let options = ["--permission-mode", mode, "--model", of_model];
            let Some(host) = host(&daemon, &model, &options) else { return };
            let id = parked(&daemon).await;
            assert_eq!(ran(&daemon), "", "nothing runs while it waits");
            run(&daemon, &[answer, &id]).await;
            let ended = ends(host).await;
            assert_eq!((ended.code, &*ran(&daemon)), (Some(0), times), "{mode}: {ended:?}");
            let told = told(&model);
            assert_eq!(told.contains("Denied by"), answer == "deny", "{mode}: {told}");
        }
    }
}

#[tokio::test]
async fn claude_goes_on_once_after_everything_was_killed() {
    let mut daemon = Daemon::start("").await;
    let model = Model::calling("Bash", bash()).await;
    let Some(host) = host(&daemon, &model, &["--model", MANUAL_MODEL]) else { return };
    let id = parked(&daemon).await;
    host.signal_group("KILL");
    daemon.kill().await;
    daemon.run().await;
    run(&daemon, &["approve", &id]).await;
    for _ in 0..2 {
        let resume = command(&daemon, &model, &["parked", "resume"]).unwrap();
        let ended = ends(Process::start(resume)).await;
        assert_eq!((ended.code, &*ran(&daemon)), (Some(0), "ran\n"), "{ended:?}");
    }
}

#[tokio::test]
async fn claude_parks_one_call_of_a_reply_and_is_told_of_the_other() {
    let daemon = Daemon::start("").await;
    let touch = |name: &str| json!({"command": format!("touch {name} && git diff --stat")});
    let model = Model::calling_at_once("Bash", vec![touch("a.txt"), touch("b.txt")]).await;
    let Some(host) = host(&daemon, &model, &["--model", MANUAL_MODEL]) else { return };
    let id = parked(&daemon).await;
    assert_eq!(daemon.open().await.len(), 1, "the other is not asked about");
    run(&daemon, &["approve", &id]).await;
    let ended = ends(host).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let work = daemon.dir.path().join("work");
    assert_eq!([work.join("a.txt").exists(), work.join("b.txt").exists()], [true, false]);
    assert!(told(&model).contains("parked: one at a time"), "{}", told(&model));
}
