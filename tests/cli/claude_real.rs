//! The real Claude Code with our hook, against a scripted model. It is not shipped with this
//! repository: set `COUNTERSIGN_TEST_CLAUDE` to its binary (`npm pack
//! @anthropic-ai/claude-code-linux-x64`).

use crate::{daemon::Daemon, model::Model, process::run};
use serde_json::{Value, json};
use std::{path::PathBuf, process::Stdio};
use tokio::{process::Command, time::timeout};

/// A run of Claude Code in a folder of its own.
struct Claude {
    model: Model,
    work: PathBuf,
    child: tokio::process::Child,
}

impl Claude {
    /// Starts it on one prompt, with our hooks connected the way a person connects them; `None`,
    /// and a word about it, where there is no Claude Code.
    async fn start(daemon: &Daemon, tool: &'static str, input: Value) -> Option<Self> {
        let Some(program) = std::env::var_os("COUNTERSIGN_TEST_CLAUDE") else {
            eprintln!("SKIPPED: set COUNTERSIGN_TEST_CLAUDE to the binary of Claude Code");
            return None;
        };
        let connected = run(daemon, &["connect", "claude-code", "--yes"]).await;
        assert_eq!(connected.code, Some(0), "{connected:?}");
        let model = Model::calling(tool, input).await;
        let work = daemon.dir.path().join("work");
        std::fs::create_dir(&work).unwrap();
        let mut claude = Command::new(program);
        claude
            .args(["-p", "do it", "--model", "claude-sonnet-4-5", "--output-format", "json"])
            .current_dir(&work)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", daemon.dir.path())
            .env("ANTHROPIC_BASE_URL", &model.url)
            .env("ANTHROPIC_API_KEY", "sk-ant-none")
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            .env("DISABLE_TELEMETRY", "1")
            .env("DISABLE_AUTOUPDATER", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        Some(Self { model, work, child: claude.spawn().unwrap() })
    }

    /// Waits for the ask that its call became, as the event stream tells it.
    async fn asks(&self, daemon: &Daemon) -> String {
        let mut events = daemon
            .http
            .get(format!("{}/v1/events", daemon.url))
            .bearer_auth(crate::daemon::AGENT)
            .send()
            .await
            .unwrap();
        let waited = timeout(crate::daemon::LONG * 2, async {
            while let Some(_event) = events.chunk().await.unwrap() {
                if let Some(ask) = daemon.open().await.first() {
                    return ask["id"].as_str().unwrap().to_owned();
                }
            }
            panic!("the daemon ended its events");
        });
        waited.await.expect("Claude Code did not ask")
    }

    /// Waits for its end; tells whether the call ran and what the model was told.
    async fn ends(mut self) -> (bool, String) {
        timeout(crate::daemon::LONG * 2, self.child.wait()).await.unwrap().unwrap();
        let told = self.model.results().iter().map(Value::to_string).collect();
        (self.work.join("made-by-agent.txt").exists(), told)
    }
}

fn bash() -> Value {
    json!({"command": "touch made-by-agent.txt && git diff --stat",
        "description": "Create a marker file"})
}

#[tokio::test]
async fn claude_hook_allow() {
    let daemon = Daemon::start("").await;
    let Some(claude) = Claude::start(&daemon, "Bash", bash()).await else { return };
    let id = claude.asks(&daemon).await;
    let call = daemon.read(&id).await["call"].clone();
    assert_eq!((&call["agent"], &call["tool"]), (&json!("claude-code"), &json!("Bash")));
    assert_eq!(call["args"], bash());
    assert_eq!(run(&daemon, &["approve", &id]).await.code, Some(0));
    let (ran, _) = claude.ends().await;
    assert!(ran, "an approved call runs");
}

#[tokio::test]
async fn claude_hook_deny() {
    let daemon = Daemon::start("").await;
    let Some(claude) = Claude::start(&daemon, "Bash", bash()).await else { return };
    let id = claude.asks(&daemon).await;
    assert_eq!(run(&daemon, &["deny", &id, "--reason", "make no files"]).await.code, Some(0));
    let (ran, told) = claude.ends().await;
    assert!(!ran, "a denied call does not run");
    assert!(told.contains("Denied by the approver's token: make no files"), "{told}");
}

#[tokio::test]
async fn claude_hook_silent() {
    let mut daemon = Daemon::start("").await;
    assert!(daemon.stop().await);
    let Some(claude) = Claude::start(&daemon, "Bash", bash()).await else { return };
    let (ran, told) = claude.ends().await;
    assert!(!ran, "without a decision nothing runs in print mode");
    assert!(told.contains("approval"), "{told}");
}

#[tokio::test]
async fn claude_hook_expired() {
    let daemon = Daemon::start("[policy]\ntimeout = \"2s\"").await;
    let Some(claude) = Claude::start(&daemon, "Bash", bash()).await else { return };
    let id = claude.asks(&daemon).await;
    let (ran, _) = claude.ends().await;
    assert!(!ran, "nobody answering runs nothing");
    assert_eq!(daemon.read(&id).await["state"], "expired");
}
