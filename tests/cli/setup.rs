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
pub fn at_home(home: &Path, args: &[&str]) -> Command {
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
    let refused = format!("error: {} already exists; --force replaces it\n", config.display());
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
    let checks = report["checks"].as_array().unwrap().iter();
    let not_ok: Vec<_> = checks.filter(|finding| finding["state"] != "ok").collect();
    assert_eq!((code, &report["ok"]), (Some(0), &json!(true)), "{report:#}");
    let phone = json!({"check": "phone", "state": "warn",
        "says": "no phone is connected, so only this machine answers",
        "fix": "countersign connect telegram"});
    assert_eq!(not_ok, [&phone], "{report:#}");
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
        "fix": format!("chmod 600 {}", config.display())});
    assert_eq!((code, finding(&report, "files")), (Some(1), &expected));
}

#[tokio::test]
async fn the_doctor_says_when_no_daemon_runs_and_when_nobody_may_answer() {
    let mut daemon = Daemon::start("[approvers]\ninbox = false").await;
    daemon.stop().await;
    let (code, report) = doctor(&daemon).await;
    assert_eq!(code, Some(1));
    assert_eq!(finding(&report, "daemon")["fix"], "countersign serve");
    let nobody = json!({"check": "approvers", "state": "fail", "says": "nobody may answer",
        "fix": "put ids into [approvers]"});
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
        .filter(|(check, _)| *check != "agents")
        .collect();
    let expected =
        [("config", "ok"), ("files", "ok"), ("tokens", "ok"), ("daemon", "fail"), ("daemon", "ok")];
    assert_eq!(checks, expected, "{report:#}");
}

/// What the script of `completions bash` offers for a command line whose last word is being typed.
async fn completed(daemon: &Daemon, words: &[&str]) -> Vec<String> {
    let mut command = daemon.command(&["--", "countersign"]);
    command.args(words).env("COUNTERSIGN_COMPLETE", "bash");
    command.env("_CLAP_COMPLETE_INDEX", words.len().to_string());
    command.env("_CLAP_IFS", "\n").env("_CLAP_COMPLETE_SPACE", "true");
    command.env("COUNTERSIGN_CONFIG", daemon.config());
    let ended = Process::start(command).ends().await;
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    ended.stdout.lines().map(|word| word.trim().to_owned()).collect()
}

#[tokio::test]
async fn completions_are_a_script_that_bash_takes_and_know_ids_and_sessions() {
    let home = tempfile::tempdir().unwrap();
    let script = Process::start(at_home(home.path(), &["completions", "bash"])).ends().await.stdout;
    let checked = std::process::Command::new("bash").args(["-n", "-c", &script]).status().unwrap();
    assert!(checked.success());
    let daemon = Daemon::start("").await;
    let id = daemon.ask(&crate::daemon::shell("git push")).await;
    assert_eq!(completed(&daemon, &["pend"]).await, ["pending"]);
    assert_eq!(completed(&daemon, &["approve", &id[..2]]).await, [id.as_str()]);
    assert_eq!(completed(&daemon, &["history", &id[..2]]).await, [id.as_str()]);
    assert_eq!(completed(&daemon, &["ask", "--session", "o"]).await, ["one"]);
    for name in ["deploy-bot", "old-bot"] {
        assert_eq!(run(&daemon, &["token", "add", name]).await.code, Some(0));
    }
    assert_eq!(run(&daemon, &["token", "revoke", "old-bot"]).await.code, Some(0));
    assert_eq!(completed(&daemon, &["token", "revoke", "d"]).await, ["deploy-bot"]);
}

#[tokio::test]
async fn the_version_names_the_commit_and_its_date() {
    let home = tempfile::tempdir().unwrap();
    let version = Process::start(at_home(home.path(), &["--version"])).ends().await.stdout;
    let git = |args: &[&str]| {
        let out = std::process::Command::new("git").args(args).output().ok()?;
        out.status.success().then(|| String::from_utf8(out.stdout).unwrap().trim().to_owned())
    };
    let top = git(&["rev-parse", "--show-toplevel"]);
    let commit = if top.is_some_and(|top| top == env!("CARGO_MANIFEST_DIR")) {
        format!(" ({})", git(&["show", "--no-patch", "--format=%h %cs", "HEAD"]).unwrap())
    } else {
        String::new()
    };
    assert_eq!(version, format!("countersign {}{commit}\n", env!("CARGO_PKG_VERSION")));
}

#[tokio::test]
async fn every_command_gets_a_manual_page() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("man1");
    let args = ["man", folder.to_str().unwrap()];
    let made = Process::start(at_home(home.path(), &args)).ends().await;
    let said = format!("Made the manual pages in {}.\n", folder.display());
    assert_eq!(made.short(), (Some(0), said.as_str()));
    for page in ["countersign.1", "countersign-ask.1", "countersign-policy-explain.1"] {
        let page = fs::read_to_string(folder.join(page)).unwrap();
        assert!(page.contains(".SH SYNOPSIS"), "{page}");
    }
    let first = Process::start(at_home(home.path(), &["man"])).ends().await.stdout;
    assert_eq!(
        first.trim_end(),
        fs::read_to_string(folder.join("countersign.1")).unwrap().trim_end()
    );
}

#[tokio::test]
async fn open_gives_the_browser_a_private_page_and_never_the_link_itself() {
    let daemon = Daemon::start("").await;
    let link = run(&daemon, &["inbox"]).await.stdout;
    assert_eq!(run(&daemon, &["open"]).await.short(), (Some(0), link.as_str()), "no display");
    let opener = daemon.dir.path().join("bin/xdg-open");
    fs::create_dir(opener.parent().unwrap()).unwrap();
    fs::write(&opener, "#!/bin/sh\necho \"$@\" > \"$0.args\"\ncp \"$1\" \"$0.page\"\n").unwrap();
    fs::set_permissions(&opener, fs::Permissions::from_mode(0o755)).unwrap();
    let opened = |args: &'static [&'static str]| {
        let mut command = daemon.command(args);
        let path = format!("{}:/usr/bin:/bin", opener.parent().unwrap().display());
        command.env("DISPLAY", ":7").env("PATH", path);
        Process::start(command).ends()
    };
    assert_eq!(opened(&["open", "--print"]).await.short(), (Some(0), link.as_str()));
    if cfg!(target_os = "macos") {
        return;
    }
    let said = opened(&["open"]).await;
    assert_eq!(said.short(), (Some(0), "The inbox is open in your browser.\n"), "{said:?}");
    let page = fs::read_to_string(opener.with_extension("args")).unwrap();
    let mode = fs::metadata(page.trim()).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode, page.contains("token=")), (0o600, false), "{page}");
    let text = fs::read_to_string(opener.with_extension("page")).unwrap();
    assert!(text.contains(&format!("url={}\"", link.trim())), "{text}");
}

#[tokio::test]
async fn doctor_fix_closes_files_and_puts_missing_hooks_back_and_says_so() {
    let daemon = Daemon::start("").await;
    run(&daemon, &["connect", "claude-code", "--yes"]).await;
    let settings = daemon.dir.path().join(".claude/settings.json");
    let connected = fs::read_to_string(&settings).unwrap();
    fs::write(&settings, connected.replace("\"Stop\"", "\"Else\"")).unwrap();
    fs::set_permissions(daemon.config(), fs::Permissions::from_mode(0o664)).unwrap();
    let (code, report) = doctor(&daemon).await;
    assert_eq!((code, &finding(&report, "claude-code")["state"]), (Some(1), &json!("fail")));
    let fixed = run(&daemon, &["doctor", "--fix", "--json"]).await;
    let report: Value = serde_json::from_str(&fixed.stdout).unwrap();
    let said = json!([
        format!("Fixed: {} is private now.", daemon.config().display()),
        "Fixed: Claude Code has all of its hooks.",
    ]);
    assert_eq!((fixed.code, &report["fixed"]), (Some(0), &said), "{report:#}");
    let mode = fs::metadata(daemon.config()).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    assert_eq!(finding(&report, "claude-code")["state"], "ok");
    let again = run(&daemon, &["doctor", "--fix", "--json"]).await;
    let report: Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!(report["fixed"], json!([]));
}

#[tokio::test]
async fn doctor_fix_connects_no_agent_that_was_not_connected() {
    let daemon = Daemon::start("").await;
    run(&daemon, &["doctor", "--fix"]).await;
    assert!(!daemon.dir.path().join(".claude/settings.json").exists());
}
