//! The lines between an engine and our own host. Each direction has its own queue, so that a host
//! that does not read delays no answer to the engine.

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

/// The time for our own host to read the last lines.
const LAST_LINES: Duration = Duration::from_secs(2);

/// A line with its line ending, or the end of our host's input.
pub(super) enum HostInput {
    /// From the engine.
    Engine(Vec<u8>),
    /// From our own host.
    Host(Vec<u8>),
    /// Our own host closed its output.
    HostEnded,
}

/// The lines in both directions, and the tasks that write them.
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

    /// The next line of either side; `None` after the end of the engine's output.
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
            // The engine may have exited; that is noticed where its process is awaited.
            let _ = engine.send(line);
        }
    }

    pub(super) fn to_host(&self, line: Vec<u8>) {
        let _ = self.to_host.send(line);
    }

    /// Closes the engine's input once everything queued is written.
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
        // Bytes and not text: a line that is no UTF-8 is passed on unchanged too.
        while pipe.read_until(b'\n', &mut line).await.is_ok_and(|length| length > 0) {
            if send.send(std::mem::take(&mut line)).is_err() {
                return;
            }
        }
    });
    lines
}

/// Reads our host's lines in a thread of its own, because a blocking read of stdin cannot be
/// cancelled. tokio's stdin would keep the runtime from shutting down.
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
