//! The real Claude Code with our hook, against a scripted model. It is not shipped with this
//! repository: set `COUNTERSIGN_TEST_CLAUDE` to its binary (`npm pack
//! @anthropic-ai/claude-code-linux-x64`).

use crate::{daemon::Daemon, model::Model, process::run};
use serde_json::{Value, json};
use std::{path::PathBuf, process::Stdio};
use tokio::{process::Command, time::timeout};

/// The way of Claude Code's prompts to us.
pub enum Route {
    Hooks,
    /// Every call comes here, in the mode that asks nobody.
    Gate,
    /// In auto mode, connected with these options.
    Auto(&'static [&'static str]),
    /// The same, where a flag of its vendor has the classifier judge what a hook allows.
    Flag(&'static [&'static str]),
    /// The tool of this MCP server.
    Mcp(Value),
    /// We are its host.
    Host,
}

/// The models that the runs name: one without auto mode, and one that has it.
pub const MANUAL_MODEL: &str = "claude-sonnet-4-5";
pub const AUTO_MODEL: &str = "claude-opus-4-6";

/// A run of Claude Code in a folder of its own.
pub struct Claude {
    pub model: Model,
    pub work: PathBuf,
    child: tokio::process::Child,
}

impl Claude {
    /// Starts it on one prompt, with our hooks connected the way a person connects them; `None`,
    /// and a word about it, where there is no Claude Code.
    async fn start(daemon: &Daemon, tool: &'static str, input: Value) -> Option<Self> {
        Self::run(daemon, Model::calling(tool, input).await, &Route::Hooks).await
    }

    /// The same with this model, its prompts on this way to us.
    pub async fn run(daemon: &Daemon, model: Model, route: &Route) -> Option<Self> {
        let Some(program) = std::env::var_os("COUNTERSIGN_TEST_CLAUDE") else {
            eprintln!("SKIPPED: set COUNTERSIGN_TEST_CLAUDE to the binary of Claude Code");
            return None;
        };
        match route {
            Route::Hooks => connect(daemon, &[]).await,
            Route::Gate => connect(daemon, &["--gate"]).await,
            Route::Auto(options) | Route::Flag(options) => connect(daemon, options).await,
            Route::Mcp(_) | Route::Host => {}
        }
        let work = daemon.dir.path().join("work");
        std::fs::create_dir_all(&work).unwrap();
        let mut claude = match route {
            Route::Host => {
                let mut host = daemon.command(&["host", "claude-code", "--prompt", "do it", "--"]);
                host.arg(program).arg("-p");
                host
            }
            _ => {
                let mut claude = Command::new(program);
                claude.args(["-p", "do it", "--output-format", "json"]);
                claude
            }
        };
        if let Route::Mcp(server) = route {
            let servers = json!({"mcpServers": {"countersign": server}}).to_string();
            let tool = "mcp__countersign__approve";
            claude.args(["--mcp-config", &servers, "--permission-prompt-tool", tool]);
        }
        let mut of_model = MANUAL_MODEL;
        match route {
            Route::Gate => _ = claude.args(["--permission-mode", "bypassPermissions"]),
            Route::Auto(_) | Route::Flag(_) => {
                claude.args(["--permission-mode", "auto"]);
                of_model = AUTO_MODEL;
            }
            Route::Hooks | Route::Mcp(_) | Route::Host => {}
        }
        claude
            .args(["--model", of_model])
            .current_dir(&work)
            .env_clear()
            .env("IS_SANDBOX", "1")
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
        if let Route::Flag(_) = route {
            let flags = json!({"cachedFeatureFlags": {"tengu_virtual_knuth": true}});
            std::fs::write(daemon.dir.path().join(".claude.json"), flags.to_string()).unwrap();
            claude
                .env_remove("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC")
                .env_remove("DISABLE_TELEMETRY");
            out_of_reach(&mut claude);
        }
        Some(Self { model, work, child: claude.spawn().unwrap() })
    }

    /// Waits for the ask that its call became, as the event stream tells it.
    pub async fn asks(&self, daemon: &Daemon) -> String {
        let mut events = daemon
            .http
            .get(format!("{}/v1/events", daemon.url))
            .bearer_auth(crate::daemon::APPROVER)
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
    pub async fn ends(mut self) -> (bool, String) {
        timeout(crate::daemon::LONG * 2, self.child.wait()).await.unwrap().unwrap();
        let told = self.model.results().iter().map(Value::to_string).collect();
        (self.work.join("made-by-agent.txt").exists(), told)
    }
}

/// Puts its vendor out of reach: without telemetry it reads no flags.
pub fn out_of_reach(claude: &mut Command) {
    let proxy = "http://127.0.0.1:9";
    claude.env("HTTPS_PROXY", proxy).env("HTTP_PROXY", proxy).env("NO_PROXY", "127.0.0.1");
}

/// Connects it as a person does.
pub async fn connect(daemon: &Daemon, options: &[&str]) {
    let words: Vec<&str> =
        ["connect", "claude-code", "--yes"].iter().chain(options).copied().collect();
    let connected = run(daemon, &words).await;
    assert_eq!(connected.code, Some(0), "{connected:?}");
}

/// The input of a call that creates a file.
pub fn bash() -> Value {
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
    let daemon = Daemon::start("[policy]\ntimeout = \"10s\"").await;
    let Some(claude) = Claude::start(&daemon, "Bash", bash()).await else { return };
    let id = claude.asks(&daemon).await;
    let (ran, _) = claude.ends().await;
    assert!(!ran, "nobody answering runs nothing");
    assert_eq!(daemon.read(&id).await["state"], "expired");
}

#[tokio::test]
async fn claude_hook_edit() {
    let daemon = Daemon::start("").await;
    let Some(claude) = Claude::start(&daemon, "Bash", bash()).await else { return };
    edit(&daemon, &claude.asks(&daemon).await).await;
    let work = claude.work.clone();
    let (ran, _) = claude.ends().await;
    assert!(!ran && work.join("edited.txt").exists(), "only the approved change runs");
}

async fn edit(daemon: &Daemon, ask: &str) {
    let (_, edit) =
        daemon.answer(ask, &json!({"decision": "edit", "edit": "touch edited.txt"})).await;
    let digest = &edit["edit"]["digest"];
    let (status, _) = daemon.answer(ask, &json!({"decision": "edit", "digest": digest})).await;
    assert_eq!(status, 200, "{edit}");
}

#[tokio::test]
async fn claude_hook_stop() {
    let daemon = Daemon::start("").await;
    let Some(mut claude) = Claude::start(&daemon, "Bash", bash()).await else { return };
    let id = claude.asks(&daemon).await;
    assert_eq!(run(&daemon, &["deny", &id, "--stop"]).await.code, Some(0));
    let ended = timeout(crate::daemon::LONG * 2, claude.child.wait()).await.unwrap().unwrap();
    assert_eq!(ended.code(), Some(1), "its turn is interrupted");
    assert_eq!(claude.model.results(), Vec::<Value>::new(), "the model is not asked again");
}

#[tokio::test]
async fn claude_hook_always_is_kept_here_alone_and_revoking_it_works_at_once() {
    let daemon = Daemon::start("").await;
    let Some(claude) = Claude::start(&daemon, "Bash", bash()).await else { return };
    let id = claude.asks(&daemon).await;
    run(&daemon, &["approve", &id, "--scope", "always"]).await;
    let work = claude.work.clone();
    assert!(claude.ends().await.0);
    for name in ["settings.json", "settings.local.json"] {
        assert!(!work.join(".claude").join(name).exists(), "Claude Code stored a rule of its own");
    }
    std::fs::remove_file(work.join("made-by-agent.txt")).unwrap();
    let claude = Claude::start(&daemon, "Bash", bash()).await.unwrap();
    assert!(claude.ends().await.0, "the grant covers it");
    let (_, grants) = daemon.get("/v1/grants", crate::daemon::APPROVER).await;
    for grant in grants["grants"].as_array().unwrap() {
        run(&daemon, &["grants", "revoke", grant["id"].as_str().unwrap()]).await;
    }
    let claude = Claude::start(&daemon, "Bash", bash()).await.unwrap();
    claude.asks(&daemon).await;
}

#[tokio::test]
async fn claude_hook_of_a_claude_that_is_killed_closes_its_card() {
    let daemon = Daemon::start("").await;
    let Some(mut claude) = Claude::start(&daemon, "Bash", bash()).await else { return };
    let id = claude.asks(&daemon).await;
    claude.child.kill().await.unwrap();
    daemon.ask_reaches(&id, "cancelled").await;
}

#[tokio::test]
async fn claude_hook_outlives_a_killed_daemon() {
    let mut daemon = Daemon::start("").await;
    let Some(claude) = Claude::start(&daemon, "Bash", bash()).await else { return };
    let id = claude.asks(&daemon).await;
    daemon.kill().await;
    daemon.run().await;
    assert_eq!(run(&daemon, &["approve", &id]).await.code, Some(0));
    assert!(claude.ends().await.0, "the approval of the next daemon counts");
}

#[tokio::test]
async fn claude_gate_allow_deny_and_nobody() {
    let mut daemon = Daemon::start("").await;
    if std::env::var_os("COUNTERSIGN_TEST_CLAUDE").is_some() {
        allow_and_deny(&daemon, &Route::Gate).await;
    }
    assert!(daemon.stop().await);
    let model = Model::calling("Bash", bash()).await;
    let Some(claude) = Claude::run(&daemon, model, &Route::Gate).await else { return };
    let (ran, told) = claude.ends().await;
    assert!(!ran && told.contains("so it is blocked"), "{told}");
}

#[tokio::test]
async fn claude_hook_parallel() {
    let daemon = Daemon::start("").await;
    let touch = |name: &str| json!({"command": format!("touch {name} && git diff --stat")});
    let model = Model::calling_at_once("Bash", vec![touch("a.txt"), touch("b.txt")]).await;
    let Some(claude) = Claude::run(&daemon, model, &Route::Hooks).await else { return };
    for _ in 0..2 {
        let asks = daemon.until("/v1/asks", |asks| asks["asks"][0]["id"].is_string()).await;
        let ask = &asks["asks"][0];
        let answer = if ask["call"]["args"] == touch("a.txt") { "approve" } else { "deny" };
        run(&daemon, &[answer, ask["id"].as_str().unwrap()]).await;
    }
    let work = claude.work.clone();
    claude.ends().await;
    assert!(work.join("a.txt").exists() && !work.join("b.txt").exists());
}

#[tokio::test]
async fn claude_mcp_tool_allow_and_deny() {
    let daemon = Daemon::start("").await;
    let config = daemon.config();
    let program = env!("CARGO_BIN_EXE_countersign");
    let stdio = json!({"command": program, "args": ["mcp", "--config", config]});
    let http = json!({"type": "http", "url": format!("{}/mcp", daemon.url),
        "headers": {"Authorization": format!("Bearer {}", crate::daemon::AGENT)}});
    for server in [stdio, http] {
        allow_and_deny(&daemon, &Route::Mcp(server)).await;
    }
}

#[tokio::test]
async fn claude_mcp_tool_of_a_claude_that_is_killed_closes_its_card() {
    let daemon = Daemon::start("").await;
    let config = daemon.config();
    let program = env!("CARGO_BIN_EXE_countersign");
    let server = json!({"command": program, "args": ["mcp", "--config", config]});
    let model = Model::calling("Bash", bash()).await;
    let Some(mut claude) = Claude::run(&daemon, model, &Route::Mcp(server)).await else { return };
    let id = claude.asks(&daemon).await;
    claude.child.kill().await.unwrap();
    daemon.ask_reaches(&id, "cancelled").await;
}

#[tokio::test]
async fn claude_host_allow_and_deny() {
    allow_and_deny(&Daemon::start("").await, &Route::Host).await;
}

async fn allow_and_deny(daemon: &Daemon, route: &Route) {
    let model = Model::calling("Bash", bash()).await;
    let Some(claude) = Claude::run(daemon, model, route).await else { return };
    run(daemon, &["approve", &claude.asks(daemon).await]).await;
    let work = claude.work.clone();
    let (ran, told) = claude.ends().await;
    assert!(ran, "an approved call runs; the model was told {told}");
    std::fs::remove_file(work.join("made-by-agent.txt")).unwrap();
    let model = Model::calling("Bash", bash()).await;
    let claude = Claude::run(daemon, model, route).await.unwrap();
    run(daemon, &["deny", &claude.asks(daemon).await, "--reason", "make no files"]).await;
    let (ran, told) = claude.ends().await;
    assert!(!ran && told.contains("make no files"), "{told}");
}

#[tokio::test]
async fn claude_host_edit_and_stop() {
    let daemon = Daemon::start("").await;
    let model = Model::calling("Bash", bash()).await;
    let Some(claude) = Claude::run(&daemon, model, &Route::Host).await else { return };
    edit(&daemon, &claude.asks(&daemon).await).await;
    let work = claude.work.clone();
    let (ran, _) = claude.ends().await;
    assert!(!ran && work.join("edited.txt").exists(), "only the approved change runs");
    let model = Model::calling("Bash", bash()).await;
    let claude = Claude::run(&daemon, model, &Route::Host).await.unwrap();
    run(&daemon, &["deny", &claude.asks(&daemon).await, "--stop"]).await;
    assert!(!claude.ends().await.0);
}
