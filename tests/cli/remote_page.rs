//! The CI job of docs/remote.md, run as GitHub's runner runs it, in every outcome.

use crate::{
    daemon::{AGENT, Daemon, LONG},
    process::{Ended, Process, run},
};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};
use tokio::process::Command;

/// The job's folder, with a `terraform` that notes what it is told.
struct Job {
    folder: PathBuf,
    /// The text of the step, and its variables.
    step: String,
    url: String,
}

/// The step of the page that asks; its texts in `${{ }}` are what GitHub puts there.
fn step() -> (String, Value) {
    let page = include_str!("../../docs/remote.md");
    let (_, rest) = page.split_once("```yaml\n").unwrap();
    let job: Value = serde_saphyr::from_str(rest.split_once("```").unwrap().0).unwrap();
    let deploy = &job["jobs"]["deploy"];
    assert_eq!(deploy["timeout-minutes"], 60, "longer than the ask waits");
    let steps = deploy["steps"].as_array().unwrap();
    let asks = |step: &&Value| step["run"].as_str().is_some_and(|it| it.contains("terraform"));
    let step = steps.iter().find(asks).unwrap();
    let mut text = step["run"].as_str().unwrap().to_owned();
    for (name, value) in [("workflow", "Deploy"), ("sha", "2ab2b21"), ("run_id", "99")] {
        let named = format!("${{{{ github.{name} }}}}");
        assert!(text.contains(&named), "{named}");
        text = text.replace(&named, value);
    }
    assert!(!text.contains("${{"), "{text}");
    (text, step["env"].clone())
}

impl Job {
    fn of(daemon: &Daemon) -> Self {
        let folder = daemon.dir.path().join("job");
        fs::create_dir(&folder).unwrap();
        let program = folder.join("countersign");
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_countersign"), program).unwrap();
        let terraform = folder.join("terraform");
        fs::write(&terraform, "#!/bin/sh\necho \"$*\" > applied\n").unwrap();
        fs::set_permissions(&terraform, fs::Permissions::from_mode(0o700)).unwrap();
        Self { folder, step: step().0, url: daemon.url.clone() }
    }

    fn start(&self, token: &str) -> Process {
        let (_, env) = step();
        let names: Vec<&String> = env.as_object().unwrap().keys().collect();
        assert_eq!(names, ["COUNTERSIGN__CLIENT__URL", "COUNTERSIGN__CLIENT__TOKEN"]);
        fs::write(self.folder.join("step.sh"), &self.step).unwrap();
        let path = format!("{}:{}", self.folder.display(), std::env::var("PATH").unwrap());
        let mut bash = Command::new("bash");
        bash.args(["-e", "step.sh"]).current_dir(&self.folder).env_clear();
        bash.env("PATH", path).env("HOME", &self.folder).process_group(0).kill_on_drop(true);
        bash.env("COUNTERSIGN__CLIENT__URL", &self.url).env("COUNTERSIGN__CLIENT__TOKEN", token);
        Process::start(bash)
    }

    /// What terraform was told.
    fn applied(&self) -> Option<String> {
        fs::read_to_string(self.folder.join("applied")).ok()
    }

    async fn ends(&self, process: Process) -> (Option<i32>, Option<String>, String) {
        let Ended { code, stderr, .. } = process.ends().await;
        (code, self.applied(), stderr)
    }
}

#[tokio::test]
async fn the_ci_job_of_the_page_runs_exactly_what_was_approved() {
    let daemon = Daemon::start("").await;
    let job = Job::of(&daemon);
    let mut running = job.start(AGENT);
    let ask = running.waits_for().await;
    let call = daemon.read(&ask).await["call"].clone();
    assert_eq!(
        json!([call["agent"], call["session"], call["args"]["command"], call["reason"]]),
        json!(["github", "99", "terraform apply plan.bin", "Deploy of 2ab2b21"])
    );
    run(&daemon, &["approve", &ask]).await;
    let (code, applied, _) = job.ends(running).await;
    assert_eq!((code, applied.as_deref()), (Some(0), Some("apply plan.bin\n")));
}

#[tokio::test]
async fn the_ci_job_of_the_page_fails_when_it_is_denied_or_nobody_answers_or_it_may_not_ask() {
    let daemon = Daemon::start("").await;
    let mut job = Job::of(&daemon);
    let mut running = job.start(AGENT);
    let ask = running.waits_for().await;
    run(&daemon, &["deny", &ask, "--reason", "not on Fridays"]).await;
    let (code, applied, stderr) = job.ends(running).await;
    assert_eq!((code, applied), (Some(3), None), "{stderr}");
    assert!(stderr.contains("not on Fridays"), "{stderr}");

    let (code, applied, stderr) = job.ends(job.start("wrong")).await;
    assert_eq!((code, applied), (Some(4), None), "{stderr}");

    assert!(job.step.contains("--expires 45m"), "{}", job.step);
    job.step = job.step.replace("--expires 45m", "--expires 1s").replace("plan.bin", "other.bin");
    let (code, applied, stderr) = job.ends(job.start(AGENT)).await;
    assert_eq!((code, applied), (Some(5), None), "{stderr}");
}

#[tokio::test]
async fn the_ci_job_of_the_page_that_is_cancelled_takes_its_ask_back() {
    let daemon = Daemon::start("").await;
    let job = Job::of(&daemon);
    let mut running = job.start(AGENT);
    let ask = running.waits_for().await;
    // The runner interrupts the whole group.
    running.signal_group("INT");
    daemon.ask_reaches(&ask, "cancelled").await;
    let (code, applied, stderr) = job.ends(running).await;
    assert!(code != Some(0) && applied.is_none(), "{code:?} {stderr}");
}

#[tokio::test]
async fn the_ci_job_of_the_page_runs_nothing_while_the_daemon_is_away() {
    let mut daemon = Daemon::start("").await;
    let job = Job::of(&daemon);
    let mut running = job.start(AGENT);
    let ask = running.waits_for().await;
    daemon.kill().await;
    let listen = daemon.url.strip_prefix("http://").unwrap().to_owned();
    let config = fs::read_to_string(daemon.config()).unwrap();
    fs::write(daemon.config(), config.replace("127.0.0.1:0", &listen)).unwrap();
    daemon.run().await;
    run(&daemon, &["deny", &ask]).await;
    let (code, applied, stderr) = job.ends(running).await;
    assert_eq!((code, applied), (Some(3), None), "it finds its ask again: {stderr}");

    daemon.stop().await;
    let ended = tokio::time::timeout(LONG, job.ends(job.start(AGENT))).await.unwrap();
    assert_eq!((ended.0, ended.1), (Some(1), None), "{}", ended.2);
}
