//! `init`, `serve` on a fresh machine, `doctor`, `completions`.

use crate::{
    daemon::{AGENT, APPROVER, Daemon, private_file},
    process::{Process, run},
};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt, path::Path};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::Command,
};

/// A command in a home of its own, as on a fresh machine.
fn at_home(home: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
    command.args(args).env_clear().env("HOME", home).kill_on_drop(true);
    command
}

#[tokio::test]
async fn init_says_what_it_made_and_never_writes_over_it() {
    let home = tempfile::tempdir().unwrap();
    let made = Process::start(at_home(home.path(), &["init"])).ends().await;
    let folder = home.path().join(".config/countersign");
    let (config, token) = (folder.join("countersign.toml"), folder.join("approver.token"));
    let said = format!("Made {} and {}.", config.display(), token.display());
    assert_eq!((made.code, made.stdout.lines().next()), (Some(0), Some(said.as_str())));
    let before = fs::read_to_string(&config).unwrap();
    let again = Process::start(at_home(home.path(), &["init"])).ends().await;
    let refused = format!("error: {} is there already; --force writes over it\n", config.display());
    assert_eq!((again.code, again.stderr), (Some(1), refused));
    assert_eq!(fs::read_to_string(&config).unwrap(), before);
}

#[tokio::test]
async fn serve_on_a_fresh_machine_makes_a_config_and_everything_works_with_it() {
    let home = tempfile::tempdir().unwrap();
    let mut serve = at_home(home.path(), &["serve"]);
    serve.env("COUNTERSIGN__DAEMON__LISTEN", "127.0.0.1:0").stdout(std::process::Stdio::piped());
    let mut daemon = serve.spawn().unwrap();
    let mut lines = BufReader::new(daemon.stdout.take().unwrap()).lines();
    let ready = lines.next_line().await.unwrap().unwrap();
    assert!(ready.starts_with("ready http://127.0.0.1:"), "{ready}");
    let mut ask = Process::start(at_home(home.path(), &["ask", "--", "git", "push"]));
    let id = ask.waits_for().await;
    let approved = Process::start(at_home(home.path(), &["approve", &id])).ends().await;
    assert_eq!(approved.code, Some(0), "{approved:?}");
    assert_eq!(ask.ends().await.code, Some(0));
    let doctor = Process::start(at_home(home.path(), &["doctor"])).ends().await;
    assert_eq!(doctor.code, Some(0), "{doctor:?}");
    daemon.kill().await.unwrap();
}

#[tokio::test]
async fn a_config_with_mistakes_is_refused_with_their_places() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("c.toml");
    fs::write(&file, "[policy]\ntiemout = 5\n").unwrap();
    let mut serve = at_home(folder.path(), &["serve"]);
    serve.env("COUNTERSIGN_CONFIG", &file);
    let refused = Process::start(serve).ends().await;
    let mistake = "unknown key `tiemout` in [policy]; did you mean `timeout`?";
    let said = format!("error: {}:2:1: {mistake}\n", file.display());
    assert_eq!((refused.code, refused.stderr), (Some(1), said));
}

async fn doctor(daemon: &Daemon) -> (Option<i32>, Value) {
    let ended = run(daemon, &["doctor", "--json"]).await;
    (ended.code, serde_json::from_str(&ended.stdout).unwrap())
}

fn finding<'a>(report: &'a Value, check: &str) -> &'a Value {
    let checks = report["checks"].as_array().unwrap();
    checks.iter().find(|finding| finding["check"] == check).unwrap()
}

#[tokio::test]
async fn the_doctor_finds_everything_in_order() {
    let daemon = Daemon::start("").await;
    let settings = daemon.dir.path().join(".claude/settings.json");
    run(&daemon, &["connect", "claude-code", "--yes"]).await;
    assert!(settings.exists());
    let (code, report) = doctor(&daemon).await;
    let states: Vec<_> = report["checks"].as_array().unwrap().iter().map(|f| &f["state"]).collect();
    assert_eq!((code, &report["ok"]), (Some(0), &json!(true)), "{report:#}");
    assert!(states.iter().all(|state| *state == "ok"), "{report:#}");
    assert!(!report.to_string().contains(APPROVER), "no secret in the report");
}

#[tokio::test]
async fn the_doctor_names_the_command_that_closes_an_open_file() {
    let daemon = Daemon::start("").await;
    let config = daemon.config();
    fs::set_permissions(&config, fs::Permissions::from_mode(0o644)).unwrap();
    let (code, report) = doctor(&daemon).await;
    let expected = json!({"check": "files", "state": "fail",
        "says": format!("{} may be used by others (mode 644)", config.display()),
        "mend": format!("chmod 600 {}", config.display())});
    assert_eq!((code, finding(&report, "files")), (Some(1), &expected));
}

#[tokio::test]
async fn the_doctor_says_when_no_daemon_runs_and_when_nobody_may_answer() {
    let mut daemon = Daemon::start("[approvers]\ninbox = false").await;
    daemon.stop().await;
    let (code, report) = doctor(&daemon).await;
    assert_eq!(code, Some(1));
    assert_eq!(finding(&report, "daemon")["mend"], "countersign serve");
    let nobody = json!({"check": "approvers", "state": "fail", "says": "nobody may answer",
        "mend": "put ids into [approvers]"});
    assert_eq!(finding(&report, "approvers"), &nobody);
}

#[tokio::test]
async fn on_a_machine_with_agents_only_the_doctor_looks_at_each_daemon_and_for_none_of_its_files() {
    let (mut gone, there) = (Daemon::start("").await, Daemon::start("").await);
    gone.stop().await;
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("agents.toml");
    let urls = json!([gone.url, there.url]);
    private_file(&file, &format!("[client]\nurl = {urls}\ntoken = \"{AGENT}\"\n"));
    let mut doctor = at_home(home.path(), &["doctor", "--json"]);
    doctor.env("COUNTERSIGN_CONFIG", &file);
    let report: Value = serde_json::from_str(&Process::start(doctor).ends().await.stdout).unwrap();
    let checks = report["checks"].as_array().unwrap().iter();
    let checks: Vec<_> = checks
        .map(|check| (check["check"].as_str().unwrap(), check["state"].as_str().unwrap()))
        .filter(|(check, _)| *check != "claude-code")
        .collect();
    let expected =
        [("config", "ok"), ("files", "ok"), ("tokens", "ok"), ("daemon", "fail"), ("daemon", "ok")];
    assert_eq!(checks, expected, "{report:#}");
}

#[tokio::test]
async fn completions_are_a_script_that_bash_takes() {
    let home = tempfile::tempdir().unwrap();
    let script = Process::start(at_home(home.path(), &["completions", "bash"])).ends().await.stdout;
    let checked = std::process::Command::new("bash").args(["-n", "-c", &script]).status().unwrap();
    assert!(checked.success());
    assert!(script.contains("claude-code"));
}
