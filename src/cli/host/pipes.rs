//! Lines between an engine and our own host. Each direction has a queue of its own: a host that
//! does not read holds up no answer.

use anyhow::{Context as _, Result};
use std::{
    io::{self, BufRead},
    thread,
    time::Duration,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncWrite, AsyncWriteExt, BufReader},
    process::{Child, ChildStdout},
    sync::mpsc::{self, UnboundedReceiver, UnboundedSender, unbounded_channel},
    task::JoinHandle,
    time::timeout,
};

/// How long our own host may take to read the last lines.
const LAST_LINES: Duration = Duration::from_secs(2);

/// A line with its end, or the end of them.
pub(super) enum HostInput {
    /// From the engine.
    Engine(Vec<u8>),
    /// From our own host.
    Host(Vec<u8>),
    /// Our own host closed its end.
    HostEnded,
}

/// All four ends.
pub(super) struct Pipes {
    engine: UnboundedReceiver<Vec<u8>>,
    host: mpsc::Receiver<Vec<u8>>,
    host_ended: bool,
    to_engine: Option<UnboundedSender<Vec<u8>>>,
    to_host: UnboundedSender<Vec<u8>>,
    writing: JoinHandle<()>,
}

impl Pipes {
    pub(super) fn new(engine: &mut Child) -> Result<Self> {
        let stdin = engine.stdin.take().context("the engine has no stdin")?;
        let stdout = engine.stdout.take().context("the engine has no stdout")?;
        let (to_engine, _) = writer(stdin);
        let (to_host, writing) = writer(tokio::io::stdout());
        Ok(Self {
            engine: engine_lines(stdout),
            host: host_lines(),
            host_ended: false,
            to_engine: Some(to_engine),
            to_host,
            writing,
        })
    }

    /// The next line of either side; `None` when the engine says nothing more.
    pub(super) async fn next(&mut self) -> Option<HostInput> {
        tokio::select! {
            line = self.engine.recv() => line.map(HostInput::Engine),
            line = self.host.recv(), if !self.host_ended => Some(match line {
                Some(line) => HostInput::Host(line),
                None => {
                    self.host_ended = true;
                    HostInput::HostEnded
                }
            }),
        }
    }

    pub(super) fn to_engine(&self, line: Vec<u8>) {
        if let Some(engine) = &self.to_engine {
            // An engine that is gone hears nothing; its end is noticed elsewhere.
            let _ = engine.send(line);
        }
    }

    pub(super) fn to_host(&self, line: Vec<u8>) {
        let _ = self.to_host.send(line);
    }

    /// The engine's input ends once what was said to it is written.
    pub(super) fn close_engine(&mut self) {
        self.to_engine = None;
    }

    /// Writes the last lines.
    pub(super) async fn finish(self) {
        drop(self.to_host);
        let _ = timeout(LAST_LINES, self.writing).await;
    }
}

fn writer(
    mut pipe: impl AsyncWrite + Unpin + Send + 'static,
) -> (UnboundedSender<Vec<u8>>, JoinHandle<()>) {
    let (send, mut lines) = unbounded_channel::<Vec<u8>>();
    let writing = tokio::spawn(async move {
        while let Some(line) = lines.recv().await {
            if pipe.write_all(&line).await.is_err() || pipe.flush().await.is_err() {
                return;
            }
        }
    });
    (send, writing)
}

fn engine_lines(stdout: ChildStdout) -> UnboundedReceiver<Vec<u8>> {
    let (send, lines) = unbounded_channel();
    let mut pipe = BufReader::new(stdout);
    tokio::spawn(async move {
        let mut line = Vec::new();
        while pipe.read_until(b'\n', &mut line).await.is_ok_and(|length| length > 0) {
            if send.send(std::mem::take(&mut line)).is_err() {
                return;
            }
        }
    });
    lines
}

/// In a thread that nobody waits for: a read of stdin cannot be given up.
fn host_lines() -> mpsc::Receiver<Vec<u8>> {
    let (send, lines) = mpsc::channel(16);
    thread::spawn(move || {
        let mut stdin = io::stdin().lock();
        let mut line = Vec::new();
        while stdin.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
            if send.blocking_send(std::mem::take(&mut line)).is_err() {
                return;
            }
        }
    });
    lines
}
