//! A command of ours that runs beside the test.

use crate::daemon::{Daemon, LONG, started_by};
use std::process::Stdio;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStderr, ChildStdin, Command},
    time::timeout,
};

/// A running command.
pub struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
    stderr: BufReader<ChildStderr>,
    said: String,
}

/// How a command ended.
#[derive(Debug, PartialEq)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Process {
    /// Starts a command with pipes.
    pub fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        Self { child, stdin, stderr, said: String::new() }
    }

    /// Gives it all of its input; a program may end without reading it.
    pub async fn input(mut self, text: &str) -> Self {
        let mut stdin = self.stdin.take().unwrap();
        match stdin.write_all(text.as_bytes()).await {
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
            written => written.unwrap(),
        }
        self
    }

    /// Gives it one line and leaves its input open.
    pub async fn tell(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    /// The id of the ask that it waits for, once it says so.
    pub async fn waits_for(&mut self) -> String {
        let mut line = String::new();
        timeout(LONG, self.stderr.read_line(&mut line)).await.unwrap().unwrap();
        self.said.push_str(&line);
        let rest = line.strip_prefix("waiting for an answer to ");
        let rest = rest.unwrap_or_else(|| panic!("it does not wait: {line}"));
        rest.split([';', '\n']).next().unwrap().to_owned()
    }

    /// The next line of its stdout.
    pub async fn line(&mut self) -> String {
        let (stdout, mut line) = (self.child.stdout.as_mut().unwrap(), Vec::new());
        timeout(LONG, async {
            // Byte by byte, so that nothing is read that a later line needs.
            while line.last() != Some(&b'\n') {
                line.push(stdout.read_u8().await.unwrap());
            }
        })
        .await
        .unwrap();
        String::from_utf8(line).unwrap()
    }

    /// Its process.
    #[allow(dead_code, reason = "few tests look at the process")]
    pub fn id(&self) -> u32 {
        self.child.id().unwrap()
    }

    /// Sends it a signal, such as `TERM`.
    pub fn signal(&self, name: &str) {
        let pid = self.child.id().unwrap().to_string();
        let sent = std::process::Command::new("kill").args([&format!("-{name}"), &pid]).status();
        assert!(sent.unwrap().success());
    }

    /// Sends it and all that it started a signal, where it began a group of its own.
    pub fn signal_group(&self, name: &str) {
        let group = format!("-{}", self.child.id().unwrap());
        let kill = [&format!("-{name}"), "--", &group];
        assert!(std::process::Command::new("kill").args(kill).status().unwrap().success());
    }

    /// How it ended.
    pub async fn ends(mut self) -> Ended {
        drop(self.stdin.take());
        let mut stdout = String::new();
        let mut pipe = self.child.stdout.take().unwrap();
        timeout(LONG, async {
            pipe.read_to_string(&mut stdout).await.unwrap();
            self.stderr.read_to_string(&mut self.said).await.unwrap();
            let code = self.child.wait().await.unwrap().code();
            Ended { code, stdout, stderr: self.said }
        })
        .await
        .unwrap()
    }
}

/// This command, which hears signals also where these tests run under `nohup` or in the background.
pub fn hearing(command: &Command) -> Command {
    started_by(&["env", "--default-signal=HUP,INT"], command)
}

/// Runs a command of the daemon's config to its end.
pub async fn run(daemon: &Daemon, args: &[&str]) -> Ended {
    Process::start(daemon.command(args)).ends().await
}

/// Starts a command of the daemon's config.
pub fn start(daemon: &Daemon, args: &[&str]) -> Process {
    Process::start(daemon.command(args))
}

impl Ended {
    /// Code and stdout, for the common case.
    pub fn short(&self) -> (Option<i32>, &str) {
        (self.code, &self.stdout)
    }
}
