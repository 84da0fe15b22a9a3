//! The real agents with our hooks, against a scripted model. They are not shipped with this
//! repository: set `COUNTERSIGN_TEST_OPENCODE`, `…_COPILOT` and `…_CLINE` to their binaries,
//! `COUNTERSIGN_TEST_GEMINI`, `…_QWEN` and `…_PI` to their scripts for node (all from npm), and
//! `COUNTERSIGN_TEST_OMP` to oh-my-pi's script with `bun` on the path.

use crate::{
    chat_model::ChatModel,
    daemon::{Daemon, LONG},
    process::run,
    terminal::Terminal,
};
use serde_json::{Value, json};
use std::{fs, path::PathBuf, process::Stdio, time::Duration};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
    time::{sleep, timeout},
};

/// An agent that is tried.
#[derive(Clone, Copy, PartialEq)]
pub enum Real {
    Opencode,
    Copilot,
    Gemini,
    Qwen,
    Pi,
    OhMyPi,
    Cline,
}

pub const ALL: [Real; 7] =
    [Real::Opencode, Real::Copilot, Real::Gemini, Real::Qwen, Real::Pi, Real::OhMyPi, Real::Cline];

/// A run of an agent in a folder of its own.
pub struct Run {
    pub model: ChatModel,
    pub work: PathBuf,
    pub child: Child,
    /// The address of its own server, where it has one.
    pub url: Option<String>,
}

/// An agent that is connected and not started yet.
struct Prepared {
    model: ChatModel,
    work: PathBuf,
    command: Command,
    how: How,
}

/// How an agent is started.
#[derive(Clone, Copy, PartialEq)]
enum How {
    /// On one prompt, or with its own server.
    Alone,
    /// In a terminal, where a person could answer too.
    InTerminal,
    /// On one prompt of which it asks nothing by itself; every call is decided here.
    Gated,
}

impl Real {
    pub fn name(self) -> &'static str {
        match self {
            Self::Opencode => "opencode",
            Self::Copilot => "copilot",
            Self::Gemini => "gemini",
            Self::Qwen => "qwen",
            Self::Pi => "pi",
            Self::OhMyPi => "oh-my-pi",
            Self::Cline => "cline",
        }
    }

    /// Its tool for commands, and the input that creates a file.
    pub fn call(self) -> (&'static str, Value) {
        let command = "touch made-by-agent.txt";
        match self {
            Self::Gemini | Self::Qwen => {
                ("run_shell_command", json!({"command": command, "description": "Create a file"}))
            }
            Self::Cline => ("run_commands", json!({"commands": [command]})),
            _ => ("bash", json!({"command": command, "description": "Create a file"})),
        }
    }

    /// Starts it on one prompt, connected as a person connects it; `None`, and a word about it, where
    /// it is not here.
    pub async fn start(self, daemon: &Daemon) -> Option<Run> {
        self.calling(daemon, self.call()).await
    }

    /// The same with a model that makes this call.
    pub async fn calling(self, daemon: &Daemon, call: (&'static str, Value)) -> Option<Run> {
        let model = ChatModel::calling(call.0, call.1).await;
        let prepared = self.prepared(daemon, model, Self::own_folder(daemon), How::Alone).await?;
        Some(self.run(daemon, prepared).await)
    }

    /// opencode where it approves everything by itself, and each call is decided here first.
    pub async fn gated(self, daemon: &Daemon, call: (&'static str, Value)) -> Option<Run> {
        let model = ChatModel::calling(call.0, call.1).await;
        let prepared = self.prepared(daemon, model, Vec::new(), How::Gated).await?;
        Some(self.run(daemon, prepared).await)
    }

    /// The same in a terminal, where a person could answer too.
    pub async fn in_terminal(
        self,
        daemon: &Daemon,
        call: (&'static str, Value),
    ) -> Option<(ChatModel, PathBuf, Terminal)> {
        self.in_terminal_with(daemon, ChatModel::calling(call.0, call.1).await, &[]).await
    }

    /// The same with this model and these options.
    pub async fn in_terminal_with(
        self,
        daemon: &Daemon,
        model: ChatModel,
        options: &[&str],
    ) -> Option<(ChatModel, PathBuf, Terminal)> {
        let Prepared { model, work, mut command, .. } =
            self.prepared(daemon, model, Self::own_folder(daemon), How::InTerminal).await?;
        command.args(options);
        command.env("TERM", "xterm-256color").kill_on_drop(true);
        let mut terminal = Terminal::of(command, 120);
        terminal.patience = LONG * 6;
        Some((model, work, terminal))
    }

    /// Cline as most people start it: its first run leaves a server behind, which runs the turns of
    /// the next ones.
    pub async fn serving(self, daemon: &Daemon) -> Option<Run> {
        let (tool, input) = self.call();
        let model = ChatModel::calling(tool, input).await;
        let prepared = self.prepared(daemon, model, Vec::new(), How::Alone).await?;
        Some(self.run(daemon, prepared).await)
    }

    /// Connects it, and points it at this model.
    async fn prepared(
        self,
        daemon: &Daemon,
        model: ChatModel,
        cline_folder: Vec<String>,
        how: How,
    ) -> Option<Prepared> {
        let short = if self == Self::OhMyPi { "omp" } else { self.name() };
        let variable = format!("COUNTERSIGN_TEST_{}", short.to_uppercase());
        let Some(program) = std::env::var_os(&variable) else {
            eprintln!("SKIPPED: set {variable} to try the real {}", self.name());
            return None;
        };
        let work = daemon.dir.path().join(format!("work-{}", self.name()));
        fs::create_dir_all(&work).unwrap();
        assert!(Command::new("git").args(["init", "-q"]).current_dir(&work).status().await.is_ok());
        let mut command = match self {
            Self::Opencode | Self::Copilot | Self::Cline => Command::new(&program),
            Self::Gemini | Self::Qwen | Self::Pi => Command::new("node"),
            Self::OhMyPi => Command::new("bun"),
        };
        if matches!(self, Self::Gemini | Self::Qwen | Self::Pi | Self::OhMyPi) {
            command.arg(&program);
        }
        command.current_dir(&work).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        command.env("HOME", daemon.dir.path()).env("NO_PROXY", "127.0.0.1,localhost");
        // opencode and its like install packages at their first start.
        for name in ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"] {
            command.envs(std::env::var_os(name).map(|file| (name, file)));
        }
        if self == Self::Cline {
            command.args(&cline_folder);
        }
        self.set_up(daemon, &model.url, &mut command);
        command.args(self.prompt(how));
        let mut words = vec!["connect", self.name(), "--yes"];
        // Without a terminal it asks for nothing.
        let asks_nothing = self == Self::Qwen && how == How::Alone;
        words.extend(Some("--gate").filter(|_| asks_nothing || how == How::Gated));
        let connected = run(daemon, &words).await;
        assert_eq!(connected.code, Some(0), "{connected:?}");
        if self == Self::Cline {
            let url = format!("{}/v1", model.url);
            let options = ["-p", "openai-compatible", "-k", "none", "-m", "fake-model", "-b", &url];
            let mut known = Command::new(&program);
            known.arg("auth").args(&cline_folder).args(options);
            known.env("HOME", daemon.dir.path()).stdin(Stdio::null());
            assert!(known.output().await.unwrap().status.success());
        }
        Some(Prepared { model, work, command, how })
    }

    /// Its options for one prompt, alone or with a person in front of it.
    fn prompt(self, how: How) -> &'static [&'static str] {
        match (self, how) {
            (Self::Opencode, How::Gated) => &["run", "--auto", "do it"],
            (Self::Opencode, _) => &["serve", "--port", "0"],
            (Self::Pi | Self::OhMyPi, How::InTerminal) => &["do it"],
            (_, How::InTerminal) => &["-i", "do it"],
            (Self::Cline, _) => &["do it"],
            (Self::Qwen, _) => &["--yolo", "-p", "do it"],
            _ => &["-p", "do it"],
        }
    }

    async fn run(self, daemon: &Daemon, prepared: Prepared) -> Run {
        let Prepared { model, work, mut command, how } = prepared;
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        command.process_group(0);
        let mut child = command.kill_on_drop(true).spawn().unwrap();
        let url = match self {
            Self::Opencode if how == How::Alone => Some(listening(&mut child).await),
            _ => None,
        };
        if let Some(url) = &url {
            prompt(daemon, url).await;
        }
        Run { model, work, child, url }
    }

    /// Cline's own folder, without which it leaves a server running.
    fn own_folder(daemon: &Daemon) -> Vec<String> {
        vec!["--data-dir".to_owned(), daemon.dir.path().join(".cline-data").display().to_string()]
    }

    /// Points it at the model.
    fn set_up(self, daemon: &Daemon, model: &str, command: &mut Command) {
        let write = |file: &str, value: &Value| {
            let file = daemon.dir.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, value.to_string()).unwrap();
        };
        match self {
            Self::Opencode => {
                let limit = json!({"context": 100_000, "output": 8000});
                let models = json!({"fake-model": {"tool_call": true, "limit": limit}});
                let provider = json!({"npm": "@ai-sdk/openai-compatible", "models": models,
                    "options": {"baseURL": format!("{model}/v1"), "apiKey": "none"}});
                let config = json!({"autoupdate": false, "share": "disabled",
                    "model": "fake/fake-model", "small_model": "fake/fake-model",
                    "enabled_providers": ["fake"], "permission": {"bash": "ask"},
                    "provider": {"fake": provider}});
                write(".config/opencode/opencode.json", &config);
                command.env("OPENCODE_DISABLE_AUTOUPDATE", "1");
                command.env("OPENCODE_DISABLE_MODELS_FETCH", "1");
            }
            Self::Copilot => {
                write(".copilot/config.json", &json!({"trusted_folders": [daemon.dir.path()]}));
                command.arg("--no-auto-update").env("COPILOT_OFFLINE", "true");
                command.env("COPILOT_PROVIDER_BASE_URL", format!("{model}/v1"));
                command.env("COPILOT_PROVIDER_API_KEY", "none").env("COPILOT_MODEL", "gpt-4.1");
            }
            Self::Gemini => {
                let settings = json!({"security": {"auth": {"selectedType": "gemini-api-key"},
                    "folderTrust": {"enabled": false}},
                    "privacy": {"usageStatisticsEnabled": false}});
                write(".gemini/settings.json", &settings);
                command.args(["-m", "gemini-2.5-pro", "--approval-mode=yolo"]);
                command.env("GEMINI_API_KEY", "none").env("GOOGLE_GEMINI_BASE_URL", model);
            }
            Self::Qwen => {
                let settings = json!({"security": {"auth": {"selectedType": "openai"},
                    "folderTrust": {"enabled": false}}, "general": {"enableAutoUpdate": false},
                    "privacy": {"usageStatisticsEnabled": false}});
                write(".qwen/settings.json", &settings);
                command.env("OPENAI_BASE_URL", format!("{model}/v1")).env("OPENAI_API_KEY", "none");
                command.env("OPENAI_MODEL", "fake-model");
            }
            Self::Pi => {
                let provider = json!({"baseUrl": format!("{model}/v1"), "apiKey": "none",
                    "api": "openai-completions", "models": [{"id": "fake-model"}]});
                write(".pi/agent/models.json", &json!({"providers": {"fake": provider}}));
                command.args(["--provider", "fake", "--model", "fake-model"]);
                command.env("PI_OFFLINE", "1");
            }
            Self::OhMyPi => {
                let provider = json!({"baseUrl": format!("{model}/v1"), "apiKey": "none",
                    "api": "openai-completions",
                    "models": [{"id": "fake-model", "name": "fake"}]});
                // YAML reads JSON too.
                write(".omp/agent/models.yml", &json!({"providers": {"fake": provider}}));
                command.args(["--model", "fake/fake-model"]);
            }
            Self::Cline => {
                command.args(["-P", "openai-compatible", "-m", "fake-model"]);
            }
        }
    }
}

/// The address of opencode's server.
async fn listening(child: &mut Child) -> String {
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let url = loop {
        let line = lines.next_line().await.unwrap().expect("opencode does not listen");
        if let Some((_, url)) = line.split_once("listening on ") {
            break url.trim().to_owned();
        }
    };
    // Read on: a closed pipe could end it.
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    url
}

/// Gives opencode's server a prompt, in a session of its own.
pub async fn prompt(daemon: &Daemon, base: &str) {
    let post = |path: String, body: Value| daemon.http.post(format!("{base}{path}")).json(&body);
    let session = post("/session".into(), json!({"title": "t"})).send().await.unwrap();
    let session: Value = session.json().await.unwrap();
    let path = format!("/session/{}/prompt_async", session["id"].as_str().unwrap());
    let parts = json!({"parts": [{"type": "text", "text": "do it"}]});
    assert!(post(path, parts).send().await.unwrap().status().is_success());
}

/// The ask of the agent's call.
pub async fn asked(daemon: &Daemon, agent: Real) -> String {
    // A first start may install packages.
    let opened = timeout(LONG * 6, async {
        loop {
            if let Some(ask) = daemon.open().await.pop() {
                return ask;
            }
            sleep(Duration::from_millis(100)).await;
        }
    });
    let ask = opened.await.unwrap_or_else(|_| panic!("{} asks nothing", agent.name()));
    let call = &ask["call"];
    assert_eq!(
        (&call["agent"], &call["args"]["command"]),
        (&json!(agent.name()), &json!("touch made-by-agent.txt"))
    );
    ask["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn an_approved_call_of_a_real_agent_runs() {
    let daemon = Daemon::start("").await;
    for agent in ALL {
        let Some(mut started) = agent.start(&daemon).await else { continue };
        let id = asked(&daemon, agent).await;
        assert_eq!(run(&daemon, &["approve", &id]).await.code, Some(0));
        started.model.is_told().await;
        assert!(started.work.join("made-by-agent.txt").exists(), "{}", agent.name());
    }
}

#[tokio::test]
async fn a_denied_call_of_a_real_agent_does_not_run_and_its_model_reads_why() {
    let daemon = Daemon::start("").await;
    for agent in ALL {
        let Some(mut started) = agent.start(&daemon).await else { continue };
        let id = asked(&daemon, agent).await;
        assert_eq!(run(&daemon, &["deny", &id, "--reason", "make no files"]).await.code, Some(0));
        if agent == Real::Cline {
            // A denial ends the turn, and its model is told nothing.
            let ended = timeout(LONG * 2, started.child.wait()).await;
            assert!(ended.unwrap().is_ok());
        } else {
            let told = started.model.is_told().await;
            assert!(told.contains("make no files"), "{}: {told}", agent.name());
        }
        assert!(!started.work.join("made-by-agent.txt").exists(), "{}", agent.name());
    }
}

#[tokio::test]
async fn a_real_agent_outlives_a_killed_daemon_and_its_own_death_closes_its_card() {
    for agent in ALL {
        let mut daemon = Daemon::start("").await;
        let Some(mut started) = agent.start(&daemon).await else { continue };
        let id = asked(&daemon, agent).await;
        daemon.kill().await;
        daemon.run().await;
        assert_eq!(run(&daemon, &["approve", &id]).await.code, Some(0));
        let told = started.model.is_told().await;
        assert!(started.work.join("made-by-agent.txt").exists(), "{}: {told}", agent.name());
        let daemon = Daemon::start("").await;
        let started = agent.start(&daemon).await.unwrap();
        let id = asked(&daemon, agent).await;
        // Gemini and Qwen work in a child of their own.
        let process = format!("-{}", started.child.id().unwrap());
        let kill = [
            "-KILL",
            "--",
            if matches!(agent, Real::Gemini | Real::Qwen) { &process } else { &process[1..] },
        ];
        assert!(Command::new("kill").args(kill).status().await.unwrap().success());
        daemon.ask_reaches(&id, "cancelled").await;
        assert!(!started.work.join("made-by-agent.txt").exists(), "{}", agent.name());
    }
}
