//! The lines between a program that we run and the one that runs us. Each direction has its own
//! queue, so that one that does not read delays no answer to the other.

use crate::cli::lines::{of_pipe, writer};
use anyhow::{Context as _, Result};
use std::time::Duration;
use tokio::{
    process::Child,
    sync::mpsc::{self, UnboundedReceiver, UnboundedSender},
    task::JoinHandle,
    time::timeout,
};

/// The time for the outer program to read the last lines.
const LAST_LINES: Duration = Duration::from_secs(2);

/// A line with its line ending, or the end of our own input.
pub(super) enum PipeInput {
    /// From the program that we run.
    Inner(Vec<u8>),
    /// From the program that runs us.
    Outer(Vec<u8>),
    /// The program that runs us closed its output.
    OuterEnded,
}

/// The lines in both directions, and the tasks that write them.
pub(super) struct Pipes {
    inner: UnboundedReceiver<Vec<u8>>,
    outer: mpsc::Receiver<Vec<u8>>,
    outer_ended: bool,
    to_inner: Option<UnboundedSender<Vec<u8>>>,
    to_outer: UnboundedSender<Vec<u8>>,
    writing: JoinHandle<()>,
}

impl Pipes {
    /// Between a program that we run, and these lines and our own stdout.
    pub(super) fn with_lines(inner: &mut Child, outer: mpsc::Receiver<Vec<u8>>) -> Result<Self> {
        let stdin = inner.stdin.take().context("the program has no stdin")?;
        let stdout = inner.stdout.take().context("the program has no stdout")?;
        let (to_inner, _) = writer(stdin);
        let (to_outer, writing) = writer(tokio::io::stdout());
        Ok(Self {
            inner: of_pipe(stdout),
            outer,
            outer_ended: false,
            to_inner: Some(to_inner),
            to_outer,
            writing,
        })
    }

    /// The next line of either side; `None` after the end of the inner program's output.
    pub(super) async fn next(&mut self) -> Option<PipeInput> {
        tokio::select! {
            line = self.inner.recv() => line.map(PipeInput::Inner),
            line = self.outer.recv(), if !self.outer_ended => Some(match line {
                Some(line) => PipeInput::Outer(line),
                None => {
                    self.outer_ended = true;
                    PipeInput::OuterEnded
                }
            }),
        }
    }

    pub(super) fn to_inner(&self, line: Vec<u8>) {
        if let Some(inner) = &self.to_inner {
            // It may have exited; that is noticed where its process is awaited.
            let _ = inner.send(line);
        }
    }

    pub(super) fn to_outer(&self, line: Vec<u8>) {
        let _ = self.to_outer.send(line);
    }

    /// Closes the inner program's input once everything queued is written.
    pub(super) fn close_inner(&mut self) {
        self.to_inner = None;
    }

    /// Writes the last lines.
    pub(super) async fn finish(self) {
        drop(self.to_outer);
        let _ = timeout(LAST_LINES, self.writing).await;
    }
}
