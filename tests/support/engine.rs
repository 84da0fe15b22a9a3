//! `countersign host wcore` with a scripted engine.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests fail by panicking, and each uses only a part"
)]

use crate::daemon::{APPROVER, Daemon, LONG};
use serde_json::{Value, json};
use std::{path::PathBuf, process::Stdio};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout},
    time::timeout,
};

/// The host of one engine.
pub struct Host {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
    heard: PathBuf,
    _dir: TempDir,
}

/// The engine's first line.
pub fn ready(session: &str) -> Value {
    json!({
        "type": "ready", "version": "0.13.4", "session_id": session,
        "capabilities": { "tool_approval": true, "modes": ["default", "auto_edit", "force"] },
    })
}

/// A tool request.
pub fn request(call_id: &str, tool: &str, category: &str, args: &Value) -> Value {
    json!({
        "type": "tool_request", "msg_id": "m1", "call_id": call_id,
        "tool": { "name": tool, "category": category, "args": args, "description": "" },
    })
}

/// A request of the shell tool.
pub fn command(call_id: &str, command: &str) -> Value {
    request(call_id, "Bash", "exec", &json!({ "command": command }))
}

/// A script: lines that the engine prints, and commands for it.
pub fn script(steps: &[&dyn ToStep]) -> String {
    steps.iter().map(|step| step.step() + "\n").collect()
}

/// One step of a script.
pub trait ToStep {
    fn step(&self) -> String;
}

impl ToStep for Value {
    fn step(&self) -> String {
        format!("say {self}")
    }
}

impl ToStep for &str {
    fn step(&self) -> String {
        (*self).to_owned()
    }
}

impl Host {
    /// Starts an engine with this script behind a host with these options.
    pub fn start(daemon: &Daemon, options: &[&str], script: &str) -> Self {
        let dir = TempDir::new().unwrap();
        let (file, heard) = (dir.path().join("script"), dir.path().join("heard"));
        std::fs::write(&file, script).unwrap();
        std::fs::write(&heard, "").unwrap();
        let mut command = daemon.command(&["host", "wcore"]);
        command.args(options).args(["--", "sh"]);
        command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/engine.sh"));
        command.arg(file).arg(&heard).current_dir(daemon.dir.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // The host must keep this from the engine.
        command.env("COUNTERSIGN_APPROVER_TOKEN", APPROVER);
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, stdin, lines, heard, _dir: dir }
    }

    /// The next line that the host passes on; `None` at the end.
    pub async fn next(&mut self) -> Option<Value> {
        let line = timeout(LONG, self.lines.next_line()).await.unwrap().unwrap()?;
        // The host passes on lines that are no JSON, too.
        Some(serde_json::from_str(&line).unwrap_or(Value::String(line)))
    }

    /// The next line of this type that the host passes on; lines before it are skipped.
    pub async fn says(&mut self, kind: &str) -> Value {
        loop {
            let Some(line) = self.next().await else { panic!("no {kind} before the end") };
            if line["type"] == kind {
                return line;
            }
        }
    }

    /// Sends a line to the host.
    pub async fn tell(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    /// Closes the host's input.
    pub fn close(&mut self) {
        self.stdin = None;
    }

    /// The lines that the engine has received so far.
    pub fn heard(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(&self.heard).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Sends the host a signal, such as `TERM`.
    pub fn signal(&self, name: &str) {
        let pid = self.child.id().unwrap().to_string();
        let sent = std::process::Command::new("kill").args([&format!("-{name}"), &pid]).status();
        assert!(sent.unwrap().success());
    }

    /// Waits for the exit; returns the code and the output on stderr.
    pub async fn ends(mut self) -> (Option<i32>, String) {
        self.close();
        let mut said = String::new();
        let mut stderr = self.child.stderr.take().unwrap();
        timeout(LONG, async {
            while self.lines.next_line().await.unwrap().is_some() {}
            stderr.read_to_string(&mut said).await.unwrap();
            (self.child.wait().await.unwrap().code(), said)
        })
        .await
        .unwrap()
    }
}
