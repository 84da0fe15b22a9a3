//! `connect` and `disconnect codex`: its hooks, and the watch of its app-server.

use crate::process::{Ended, Process};
use std::{fs, path::Path};
use tokio::process::Command;

const THEIRS: &str =
    "{\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"beep\"}]}]}}\n";

async fn countersign(home: &Path, args: &[&str]) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
    command.args(args).env_clear().env("HOME", home);
    Process::start(command).ends().await
}

#[tokio::test]
async fn connect_is_all_there_is_to_do_and_disconnect_gives_the_hooks_back_to_the_byte() {
    let home = tempfile::tempdir().unwrap();
    let codex = home.path().join(".codex");
    let (hooks, config) =
        (codex.join("hooks.json"), home.path().join(".config/countersign/countersign.toml"));
    fs::create_dir(&codex).unwrap();
    fs::write(&hooks, THEIRS).unwrap();
    let made = countersign(home.path(), &["init"]).await;
    assert_eq!(made.code, Some(0), "{made:?}");

    let fresh = fs::read_to_string(&config).unwrap();
    let connected = countersign(home.path(), &["connect", "codex", "--yes"]).await;
    assert_eq!(connected.code, Some(0), "{connected:?}");
    assert!(connected.stdout.contains("Hooks need review"), "{connected:?}");
    assert!(fs::read_to_string(&hooks).unwrap().contains("PermissionRequest"));
    let key = format!("codex = \"{}\"", codex.display());
    assert!(fs::read_to_string(&config).unwrap().contains(&key), "{connected:?}");
    let again = countersign(home.path(), &["connect", "codex"]).await;
    assert!(again.stdout.starts_with("Codex is connected already."), "{again:?}");

    let doctor = countersign(home.path(), &["doctor"]).await;
    assert!(doctor.stdout.contains("Codex runs a hook only once you trust it"), "{doctor:?}");
    let state = format!(
        "[hooks.state.\"{}:permission_request:0:0\"]\ntrusted_hash = \"sha256:1\"\n",
        hooks.display()
    );
    fs::write(codex.join("config.toml"), state).unwrap();
    let doctor = countersign(home.path(), &["doctor"]).await;
    assert!(!doctor.stdout.contains("trust"), "{doctor:?}");

    let gone = countersign(home.path(), &["disconnect", "codex", "--yes"]).await;
    assert_eq!(gone.code, Some(0), "{gone:?}");
    assert_eq!(fs::read_to_string(&hooks).unwrap(), THEIRS);
    assert_eq!(fs::read_to_string(&config).unwrap(), fresh, "{gone:?}");
    assert!(!config.with_file_name("countersign.toml.1.bak").exists(), "{gone:?}");
}

#[tokio::test]
async fn disconnect_keeps_what_else_has_changed_in_the_config_since() {
    let home = tempfile::tempdir().unwrap();
    let config = home.path().join(".config/countersign/countersign.toml");
    fs::create_dir(home.path().join(".codex")).unwrap();
    assert_eq!(countersign(home.path(), &["init"]).await.code, Some(0));
    let connected = countersign(home.path(), &["connect", "codex", "--yes"]).await;
    assert_eq!(connected.code, Some(0), "{connected:?}");
    let text = fs::read_to_string(&config).unwrap();
    let changed = text.replace("# timeout = \"5m\"", "timeout = \"9m\"");
    assert_ne!(changed, text);
    fs::write(&config, &changed).unwrap();
    let gone = countersign(home.path(), &["disconnect", "codex", "--yes"]).await;
    assert_eq!(gone.code, Some(0), "{gone:?}");
    let kept: String =
        changed.split_inclusive('\n').filter(|line| !line.starts_with("codex =")).collect();
    assert_eq!(fs::read_to_string(&config).unwrap(), kept);
}

#[tokio::test]
async fn a_hook_without_a_daemon_leaves_the_prompt_to_codex_and_a_gate_blocks() {
    let home = tempfile::tempdir().unwrap();
    let event = |name: &str| {
        format!(
            "{{\"hook_event_name\":\"{name}\",\"session_id\":\"s\",\"tool_name\":\"Bash\",\
            \"tool_input\":{{\"command\":\"ls\"}}}}"
        )
    };
    let run = |args: &'static [&'static str], stdin: String| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
        command.args(args).env_clear().env("HOME", home.path());
        async move { Process::start(command).input(&stdin).await.ends().await }
    };
    let prompt = run(&["hook", "codex"], event("PermissionRequest")).await;
    assert_eq!((prompt.code, prompt.stdout.as_str()), (Some(0), ""), "{prompt:?}");
    let gate = run(&["hook", "codex", "--gate"], event("PreToolUse")).await;
    assert_eq!((gate.code, gate.stdout.as_str()), (Some(2), ""), "{gate:?}");
    assert!(gate.stderr.contains("blocked"), "{gate:?}");
}
