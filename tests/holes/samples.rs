//! Row 13a: every sample of the documentation that gates something, as it stands there, against the
//! real daemon and against everything that can go wrong. What it gates runs on an explicit allow
//! and else never.

#[path = "samples/bridge.rs"]
mod bridge;
#[path = "samples/embedded.rs"]
mod embedded;
#[path = "samples/markdown.rs"]
mod markdown;

use crate::daemon::LONG;
use bridge::{Bridge, Ending, each};
use markdown::{block, line};
use std::{
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};
use tempfile::TempDir;
use tokio::process::Command;

/// How long a sample has before it counts as one that waits; it waits for ever where nobody
/// answers.
fn patience(ending: Ending) -> Duration {
    if ending == Ending::Allowed { LONG } else { Duration::from_secs(6) }
}

/// A folder with programs in the place of what a sample gates: each of them leaves a mark.
struct Gated {
    folder: TempDir,
}

impl Gated {
    fn new(programs: &[&str]) -> Self {
        let gated = Self { folder: tempfile::tempdir().unwrap() };
        std::fs::create_dir(gated.bin()).unwrap();
        let ours = env!("CARGO_BIN_EXE_countersign");
        std::os::unix::fs::symlink(ours, gated.bin().join("countersign")).unwrap();
        for program in programs {
            gated.program(
                program,
                &format!("#!/bin/sh\necho \"$0 $*\" >> {}\n", gated.mark().display()),
            );
        }
        gated
    }

    fn program(&self, name: &str, text: &str) {
        let file = self.bin().join(name);
        std::fs::write(&file, text).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&file, mode).unwrap();
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn bin(&self) -> PathBuf {
        self.path().join("bin")
    }

    fn mark(&self) -> PathBuf {
        self.path().join("ran")
    }

    fn command(&self, program: &str, bridge: &Bridge) -> Command {
        let mut command = Command::new(program);
        let path = format!("{}:{}", self.bin().display(), std::env::var("PATH").unwrap());
        command.env_clear().env("PATH", path).env("HOME", self.path()).current_dir(self.path());
        command.env("COUNTERSIGN__CLIENT__URL", &bridge.url);
        command.env("COUNTERSIGN__CLIENT__TOKEN", &bridge.token);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.kill_on_drop(true);
        command
    }

    async fn has_run(&self) {
        while !self.mark().exists() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Runs a sample, answers as the bridge is to answer, and tells whether what it gates has run.
    async fn try_out(&self, mut command: Command, bridge: &Bridge) -> (Ran, String) {
        let child = command.spawn().unwrap();
        let ended = async {
            tokio::select! {
                output = child.wait_with_output() => {
                    String::from_utf8_lossy(&output.unwrap().stderr).into_owned()
                }
                () = self.has_run() => "it has run".to_owned(),
            }
        };
        let ended = tokio::time::timeout(patience(bridge.ending), ended);
        let (ended, ()) = tokio::join!(ended, bridge.answer());
        let said = ended.unwrap_or_else(|_| "it still waits".to_owned());
        (if self.mark().exists() { Ran::Yes } else { Ran::No }, said)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ran {
    Yes,
    No,
}

/// What has to come of an ending.
fn wanted(ending: Ending) -> Ran {
    if ending == Ending::Allowed { Ran::Yes } else { Ran::No }
}

fn is_here(program: &str) -> bool {
    let here = std::process::Command::new(program).arg("--version").output().is_ok();
    if !here {
        eprintln!("SKIPPED: there is no {program} here");
    }
    here
}

/// A line for a shell, with stand-ins for what it runs.
async fn shell_line(line: String, programs: &'static [&'static str], config: &'static str) {
    each(config, async |bridge, ending| {
        let gated = Gated::new(programs);
        let mut command = gated.command("sh", bridge);
        command.args(["-c", &line]);
        let (ran, said) = gated.try_out(command, bridge).await;
        assert_eq!(ran, wanted(ending), "{ending:?}: {line}: {said}");
    })
    .await;
}

#[tokio::test]
async fn row_13a_the_readmes_line_with_ask_runs_on_an_explicit_allow_only() {
    let line = line("README.md", "countersign ask -- git push");
    assert!(line.contains("&&"), "{line}");
    shell_line(line, &["git"], "").await;
}

#[tokio::test]
async fn row_13a_the_readmes_line_with_run_runs_on_an_explicit_allow_only() {
    shell_line(line("README.md", "countersign run -- terraform"), &["terraform"], "").await;
}

#[tokio::test]
async fn row_13a_the_help_of_ask_shows_a_line_that_runs_on_an_explicit_allow_only() {
    let help = std::process::Command::new(env!("CARGO_BIN_EXE_countersign"))
        .args(["ask", "--help"])
        .output()
        .unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let line = help.lines().find(|line| line.contains("&&")).unwrap().trim().to_owned();
    shell_line(line, &["rm"], "").await;
}

#[tokio::test]
async fn row_13a_the_engine_behind_the_host_runs_on_an_explicit_allow_only() {
    let line = line("docs/profiles/wcore.md", "countersign host wcore -- wayland-core");
    each("[policy]\nprofile = \"wcore\"\ntimeout = \"2s\"", async |bridge, ending| {
        let gated = Gated::new(&[]);
        let request = r#"{"type":"tool_request","msg_id":"m1","call_id":"c1","tool":{"name":"Bash","category":"exec","args":{"command":"make deploy"},"description":""}}"#;
        gated.program(
            "wayland-core",
            &format!(
                "#!/bin/sh\necho '{request}'\nread -r answer\ncase $answer in\n\
                 *'\"type\":\"tool_approve\"'*) echo ran >> {}\nesac\n",
                gated.mark().display()
            ),
        );
        let mut command = gated.command("sh", bridge);
        // Its input stays open: a host that has gone denies everything.
        command.args(["-c", &format!("sleep 20 | {line}")]);
        let (ran, said) = gated.try_out(command, bridge).await;
        assert_eq!(ran, wanted(ending), "{ending:?}: {said}");
    })
    .await;
}

#[tokio::test]
async fn row_13a_molfs_sample_runs_the_tool_on_an_explicit_allow_only() {
    if !is_here("node") {
        return;
    }
    let sample = block("docs/profiles/molf.md", "ts", "async function refused");
    each("", async |bridge, ending| {
        let gated = Gated::new(&["tool"]);
        let driver = format!(
            "import {{ execFileSync }} from 'node:child_process';
             const url = process.env.COUNTERSIGN__CLIENT__URL, agentToken = process.env.COUNTERSIGN__CLIENT__TOKEN;
             const toolCallId = 'c1', sessionId = 's', workerId = undefined, agentPermission = undefined;
             const workerFolder = '/home/ana/shop';
             const toolName = 'shell_exec', args = {{ command: 'make deploy' }};
             async function evaluate() {{
               {sample}
               execFileSync('tool', ['deploy']);
               return 'done';
             }}
             console.error(await evaluate());"
        );
        let mut command = gated.command("node", bridge);
        command.args(["--input-type=module", "-e", &driver]);
        let (ran, said) = gated.try_out(command, bridge).await;
        assert_eq!(ran, wanted(ending), "{ending:?}: {said}");
    })
    .await;
}

#[tokio::test]
async fn row_13a_connectonions_sample_runs_the_tool_on_an_explicit_allow_only() {
    if !is_here("python3") {
        return;
    }
    let sample = block("docs/profiles/connectonion.md", "python", "class Countersign(IO)");
    each("[policy]\nprofile = \"connectonion\"\ntimeout = \"2s\"", async |bridge, ending| {
        let gated = Gated::new(&["tool"]);
        let write = |name: &str, text: &str| {
            let file = gated.path().join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        };
        write("countersign_io.py", &sample);
        write("websocket.py", include_str!("../support/websocket.py"));
        write("connectonion/network/io/base.py", "class IO:\n    pass\n");
        // What the plugin does about an answer, in its own words.
        write(
            "driver.py",
            "import os, subprocess, countersign_io\n\
             at = os.environ['COUNTERSIGN__CLIENT__URL'].replace('http', 'ws', 1)\n\
             countersign_io.URL = at + '/v1/connectonion?agent=shop-bot&session=%s'\n\
             countersign_io.TRIES = 2\n\
             io = countersign_io.Countersign(os.environ['COUNTERSIGN__CLIENT__TOKEN'], 'one')\n\
             io.send({'type': 'approval_needed', 'tool_call_id': 'c1', 'tool': 'bash',\n\
             \x20        'arguments': {'command': 'make deploy'}, 'description': ''})\n\
             answer = io.receive()\n\
             print(answer, file=__import__('sys').stderr)\n\
             if answer.get('type') != 'io_closed' and answer.get('approved'):\n\
             \x20   subprocess.run(['tool', 'deploy'])\n",
        );
        let mut command = gated.command("python3", bridge);
        command.arg("driver.py");
        let (ran, said) = gated.try_out(command, bridge).await;
        assert_eq!(ran, wanted(ending), "{ending:?}: {said}");
    })
    .await;
}

#[tokio::test]
async fn row_13a_oh_my_pis_extension_lets_the_tool_run_on_an_explicit_allow_only() {
    if !is_here("node") {
        return;
    }
    each("", async |bridge, ending| {
        let gated = Gated::new(&["tool"]);
        let module = gated.path().join("countersign.mjs");
        let mut connect = gated.command("countersign", bridge);
        connect.args(["connect", "oh-my-pi", "--yes", "--settings"]).arg(&module);
        let connected = connect.output().await.unwrap();
        assert!(connected.status.success(), "{connected:?}");
        let driver = format!(
            "import extension from {module:?};
             import {{ execFileSync }} from 'node:child_process';
             let handler;
             extension({{ on: (name, on) => {{ if (name === 'tool_call') handler = on; }} }});
             const event = {{ toolName: 'bash', toolCallId: 'c1', input: {{ command: 'make deploy' }} }};
             const answer = await handler(event, {{ cwd: '/home/ana/shop' }});
             console.error(JSON.stringify(answer ?? null));
             if (!answer?.block) execFileSync('tool', ['deploy']);"
        );
        let mut command = gated.command("node", bridge);
        command.args(["--input-type=module", "-e", &driver]);
        let (ran, said) = gated.try_out(command, bridge).await;
        assert_eq!(ran, wanted(ending), "{ending:?}: {said}");
    })
    .await;
}

#[test]
fn row_13a_no_sample_that_gates_something_goes_untried() {
    let tried = [
        "countersign ask",
        "countersign run",
        "countersign host",
        "/v1/calls",
        "handler()",
        "class Countersign",
    ];
    let mut found = Vec::new();
    for (file, language, text) in markdown::blocks() {
        let gates = [
            "/v1/calls",
            "countersign ask",
            "countersign run",
            "countersign host",
            "/v1/connectonion",
            "Approvals {",
            "approve(",
            "verdict",
        ];
        if gates.iter().any(|word| text.contains(word)) {
            let known = tried.iter().any(|word| text.contains(word));
            found.push((file, language, known));
        }
    }
    let untried: Vec<_> = found.iter().filter(|(.., known)| !known).collect();
    assert!(found.len() >= 6 && untried.is_empty(), "{found:?}");
}
